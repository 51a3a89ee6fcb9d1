"""`bench`: the four modes against other engines on one fixed list, and the engine against its memory floor."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lab.cli.options import DEFAULT_MODEL, check_repeats
from lab.cli.output import print_json
from lab.cli.progress import ProgressLine
from lab.experiments.bench import BATCH_SIZES, BenchResult, Timing, bench
from lab.experiments.bench_list import BATCH_SIZE
from lab.experiments.loop_speed import PREVIEW, time_lane, time_previews
from lab.run.measuring import measuring

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

FEWEST_REPEATS = 3
LOOP_REQUESTS = (10_000, 100_000)


def add_to(commands: Any) -> None:
    command = commands.add_parser("bench", help="time the engine and its peers on a fixed list of requests")
    command.add_argument("--model", default=DEFAULT_MODEL)
    command.add_argument("--device", default="auto")
    command.add_argument("--dtype", default="auto")
    command.add_argument("--repeats", type=int, default=FEWEST_REPEATS, metavar="N", help="at least 3 (default: 3)")
    command.add_argument("--no-peers", action="store_true", help="the lab's own figures only")
    command.add_argument("--loop", action="store_true", help="time the loop with predicted steps alone; no model")
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")
    command.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    if options.loop:
        _check_loop(options)
        return _loop(options)
    check_repeats(options.repeats, FEWEST_REPEATS)
    from lab.engine.loaded import load_engine

    with ProgressLine() as progress:
        progress.hold(measuring())
        engine = load_engine(options.model, options.device, options.dtype, on_progress=progress.phase)
        peers, settings, skipped = ({}, {}, {}) if options.no_peers else _transformers(engine)
        steps = {} if options.no_peers else _llama_cpp(engine, settings, skipped)
        result = bench(engine, peers, steps, settings, skipped, options.repeats, progress.phase)
    if options.json:
        print_json(bench_json(result))
    else:
        print(bench_text(result))
    return 0


def _check_loop(options: argparse.Namespace) -> None:
    """The loop is timed with predicted steps, so what concerns a model and its repeats would go unheard."""
    usual = {"model": DEFAULT_MODEL, "device": "auto", "dtype": "auto", "repeats": FEWEST_REPEATS}
    for name, value in (*usual.items(), ("no_peers", False)):
        if getattr(options, name) != value:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} does not go with --loop, which runs no model and no peers")


def _loop(options: argparse.Namespace) -> int:
    """Wall clock and seconds of this process: the two differ by what else keeps the machine busy."""
    lanes, previews = [time_lane(requests) for requests in LOOP_REQUESTS], time_previews()
    if options.json:
        print_json({"lanes": [lane._asdict() for lane in lanes], "preview": previews._asdict()})
        return 0
    for lane in lanes:
        print(
            f"{lane.requests:7,} requests, {lane.steps:9,} steps: {lane.wall_s:6.2f} s ({lane.cpu_s:.2f} s of CPU)"
        )
    p50, p95, p50_cpu, p95_cpu = (seconds * 1000 for seconds in previews)
    print(
        f"a preview of {PREVIEW} requests in four modes: p50 {p50:.0f} ms, p95 {p95:.0f} ms "
        f"({p50_cpu:.0f} and {p95_cpu:.0f} ms of CPU)"
    )
    return 0


def _transformers(engine: Engine) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """Peers by name, their settings, and what is left out with the reason."""
    if engine.folder is None:
        return {}, {}, {"transformers": "random weights lie in no folder that it could load"}
    from lab.engine import peers

    made = peers.transformers_peers(engine.folder, engine.dtype, engine.executor.device, BATCH_SIZE)
    return {name: _on_requests(peer) for name, peer in made.items()}, dict(peers.SETTINGS), {}


def _on_requests(peer: Callable[..., None]) -> Callable[[Any], None]:
    return lambda workload: peer(workload.requests)


def _llama_cpp(
    engine: Engine, settings: dict[str, str], skipped: dict[str, str]
) -> dict[str, Callable[[], Mapping[int, Timing]]]:
    from lab.engine import peer_llama_cpp

    reason = peer_llama_cpp.missing(engine)
    if reason:
        skipped["llama_cpp"] = reason
        return {}
    settings["llama_cpp"] = peer_llama_cpp.SETTINGS

    def run() -> dict[int, Timing]:
        return {
            size: Timing(middle, spread) for size, (middle, spread) in peer_llama_cpp.time_steps(engine).items()
        }

    return {"llama_cpp": run}


def bench_json(result: BenchResult) -> dict[str, Any]:
    """Milliseconds and tokens per second; see the names."""
    peers: dict[str, Any] = {name: {"tok_s": t._asdict()} for name, t in result.peers.items()}
    for name, steps in result.peer_step_s.items():
        peers[name] = {"step_ms": {str(b): _ms(t) for b, t in steps.items()}}
    return {
        "provenance": asdict(result.provenance) | {"versions": dict(result.provenance.versions)},
        "modes": {name: {"tok_s": t._asdict()} for name, t in result.modes.items()},
        "peers": peers,
        "ratios": ratios(result),
        "step_ms": {str(b): _ms(t) for b, t in result.step_s.items()},
        "floor_share": {str(b): share for b, share in result.floor_share.items()},
        "prefill_tok_s": result.prefill_tokens_per_s,
        "bound": result.bound,
        "loop_overhead": dict(result.loop_overhead),
        "loop_steps_per_s": result.loop_steps_per_s,
        "read_gb_s": (result.provenance.read_bytes_per_s or 0) / 1e9,
        "settings": dict(result.settings),
        "skipped": dict(result.skipped),
    }


def ratios(result: BenchResult) -> dict[str, float]:
    """Each of the comparisons that matter, as a ratio of medians."""
    m = {name: t.median for name, t in result.modes.items()}
    p = {name: t.median for name, t in result.peers.items()}
    found = {
        "continuous/static": m["continuous"] / m["static"],
        "continuous/static/bound": m["continuous"] / m["static"] / result.bound,
        "step4/step1": result.step_s[4].median / result.step_s[1].median,
    }
    pairs = (
        ("continuous", "hf_generate_batch"),
        ("continuous", "hf_padded"),
        ("static", "hf_padded"),
        ("none", "hf_one_by_one"),
    )
    found.update({f"{a}/{b}": m[a] / p[b] for a, b in pairs if b in p})
    for size, t in result.peer_step_s.get("llama_cpp", {}).items():
        found[f"step{size}/llama_cpp"] = result.step_s[size].median / t.median
    return found


def _ms(t: Timing) -> dict[str, float]:
    return {"median": t.median * 1000, "spread": t.spread * 1000}


def bench_text(result: BenchResult) -> str:
    p = result.provenance
    lines = [f"{p.model} · {p.dtype} · {p.device} · {p.threads} threads · {p.created} · {p.commit}", ""]
    lines.append("useful tokens per second, median (largest - smallest):")
    rows = [*result.modes.items(), *result.peers.items()]
    lines += [f"  {name:18} {t.median:8.1f} ({t.spread:.1f})" for name, t in rows]
    lines += ["", "ratios:", *(f"  {name:32} {value:5.2f}" for name, value in ratios(result).items())]
    lines += [
        f"  {'bound':32} {result.bound:5.2f}",
        "",
        "decode step at context 128, ms; share of the memory floor:",
    ]
    for size in BATCH_SIZES:
        line = f"  B = {size:2}  {result.step_s[size].median * 1000:7.1f}  {result.floor_share[size]:5.0%}"
        for name, steps in result.peer_step_s.items():
            line += f"   {name} {steps[size].median * 1000:7.1f}" if size in steps else ""
        lines.append(line)
    lines.append(
        f"prefill {result.prefill_tokens_per_s:.0f} tok/s; memory reads {(p.read_bytes_per_s or 0) / 1e9:.1f} GB/s"
    )
    shares = ", ".join(f"{name} {share:.1%}" for name, share in result.loop_overhead.items())
    lines.append(
        f"loop overhead: {shares}; {result.loop_steps_per_s:,.0f} steps/s of 8 rows on a device without cost"
    )
    lines += [f"{name}: {words}" for name, words in result.settings.items()]
    lines += [f"{name}: left out, {why}" for name, why in result.skipped.items()]
    return "\n".join(lines)
