"""`sweep`: one list of requests at batch sizes 1, 2, 4 … 64, all measured, beside what is often said of it."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from typing import Any

from lab.cli.options import add_run_options, check_repeats, check_seats, engine_of, spec_of
from lab.cli.order_options import with_priorities
from lab.cli.output import print_json, share
from lab.cli.progress import ProgressLine
from lab.experiments.sweep import REQUESTS, Doubling, Size, Sweeper, factors, saturating, sweep
from lab.experiments.tuner import doublings
from lab.run.lanes import RunSpec
from lab.run.prepare import prepare
from lab.run.provenance import provenance_of
from lab.run.record import Provenance

LARGEST = 64
REPEATS = 3


def add_to(commands: Any) -> None:
    command = commands.add_parser(
        "sweep",
        help="measure one list of requests at batch sizes 1, 2, 4 … 64",
        description="Defaults here: 64 equal requests of 16 tokens, all at once; continuous; up to 64 rows.",
    )
    add_run_options(command)
    add = command.add_argument
    add("--batch-sizes", type=sizes, metavar="A,B", help="these, in place of 1, 2, 4 … --max-batch-size")
    add("--repeats", type=int, default=REPEATS, metavar="N", help=f"of each size (default: {REPEATS})")
    command.set_defaults(command=run, modes="continuous", max_batch_size=LARGEST)


def run(options: argparse.Namespace) -> int:
    check_repeats(options.repeats, 1)
    spec = one_policy(options)
    if options.batch_sizes and options.max_batch_size != LARGEST:
        raise ValueError(f"--max-batch-size {options.max_batch_size} ends doublings; --batch-sizes names all sizes")
    for size in options.batch_sizes or ():
        check_seats("--batch-sizes", size)
    batch_sizes = options.batch_sizes or doublings(options.max_batch_size)
    with ProgressLine() as progress:
        sweeper = sweeper_of(options, spec, progress)
        found = sweep(sweeper, batch_sizes, options.repeats, progress.phase)
    if options.json:
        print_json(_json(found, sweeper, options.repeats))
    else:
        print(_text(found, sweeper.provenance, options.repeats))
    return 0


def one_policy(options: argparse.Namespace) -> RunSpec:
    """The spec of a sweep or a climb: one mode, and the default list where no other is named."""
    spec = spec_of(options)
    if len(spec.policies) != 1:
        raise ValueError(f"--modes is {options.modes!r}; a sweep takes one of them at a time")
    if options.scenario or options.prompts or options.trace:
        return spec
    if options.request_rate is not None:
        raise ValueError(
            f"--request-rate {options.request_rate:g} is of a scenario; name one, or all requests come at once"
        )
    made = saturating(REQUESTS if options.requests is None else options.requests)
    return replace(spec, workload=with_priorities(made, options))


def sweeper_of(options: argparse.Namespace, spec: RunSpec, progress: ProgressLine) -> Sweeper:
    engine = engine_of(options, progress)
    workload = prepare(spec.workload, engine, spec.free_eos, progress.phase)
    return Sweeper(replace(spec, workload=workload), engine, provenance_of(engine, ()))


def sizes(text: str) -> list[int]:
    """Of --batch-sizes."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"batch sizes are {text!r}; give whole numbers above 0 such as 1,2,4")
    return [int(part) for part in parts]


def _json(found: tuple[Size, ...], sweeper: Sweeper, repeats: int) -> dict[str, Any]:
    p = sweeper.provenance
    return {
        "provenance": asdict(p) | {"versions": dict(p.versions)},
        "read_bytes_per_s": sweeper.peaks.bytes_per_s,
        "flops_per_s": sweeper.peaks.flops_per_s,
        "repeats": repeats,
        "sizes": [size_json(size) for size in found],
        "doublings": [d._asdict() for d in factors(found)],
    }


def size_json(size: Size) -> dict[str, Any]:
    """Medians of the repeats; seconds, tokens per second, bytes, shares. `spread` is of the throughput."""
    return {
        "batch_size": size.batch_size,
        "refused": size.refused or None,
        "spread": size.spread(lambda r: r.metrics.throughput),
        **{name: size.middle(of) for name, of in _VALUES.items()},
    }


_VALUES = {
    "throughput_tok_s": lambda r: r.metrics.throughput,
    "step_s": lambda r: r.step_s,
    "ttft_p50_s": lambda r: r.metrics.ttft.p50,
    "ttft_p99_s": lambda r: r.metrics.ttft.p99,
    "tpot_p50_s": lambda r: r.metrics.tpot.p50,
    "tpot_p99_s": lambda r: r.metrics.tpot.p99,
    "e2e_p50_s": lambda r: r.metrics.e2e.p50,
    "e2e_p99_s": lambda r: r.metrics.e2e.p99,
    "kv_reserved_bytes": lambda r: r.metrics.kv_peak_reserved_bytes,
    "kv_used_bytes": lambda r: r.metrics.kv_peak_used_bytes,
    "busy_fraction": lambda r: r.metrics.busy_fraction,
    "device_counter": lambda r: r.counter,
    "mbu": lambda r: r.metrics.mbu,
    "flop_share": lambda r: r.flop_share,
}


def _text(found: tuple[Size, ...], p: Provenance, repeats: int) -> str:
    lines = [
        f"{p.model} · {p.dtype} · {p.device} · {p.threads} threads · {p.created} · {p.commit}",
        f"medians of {repeats}; spread = (largest - smallest) / median of the throughput",
        "",
        f"{'rows':>5}{'tok/s':>9}{'spread':>8}{'step ms':>9}{'TPOT p50/p99 ms':>17}{'E2E p50/p99 ms':>17}"
        f"{'KV MB':>8}{'busy':>7}{'counter':>9}{'MBU':>6}{'FLOPs':>7}",
        *map(_row, found),
        "",
        "each doubling, measured; what is often said of it:",
        *map(_doubling, factors(found)),
    ]
    return "\n".join(lines)


def _row(size: Size) -> str:
    if size.refused:
        return f"{size.batch_size:5}  refused: {size.refused}"
    v = size_json(size)
    tpot = f"{_ms(v['tpot_p50_s'])} / {_ms(v['tpot_p99_s'])}"
    e2e = f"{_ms(v['e2e_p50_s'])} / {_ms(v['e2e_p99_s'])}"
    return (
        f"{size.batch_size:5}{v['throughput_tok_s']:9.1f}{share(v['spread']):>8}{_ms(v['step_s']):>9}{tpot:>17}"
        f"{e2e:>17}{v['kv_reserved_bytes'] / 1e6:8.1f}{share(v['busy_fraction']):>7}"
        f"{share(v['device_counter']):>9}{share(v['mbu']):>6}{share(v['flop_share']):>7}"
    )


def _doubling(d: Doubling) -> str:
    tpot = "–" if d.tpot is None else f"{d.tpot - 1:+.0%}"
    return f"{d.smaller:4} → {d.larger:<4} throughput × {d.throughput:.2f}, time per token {tpot:>6}   ({d.said})"


def _ms(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1000:.1f}" if seconds < 1 else f"{seconds * 1000:.0f}"
