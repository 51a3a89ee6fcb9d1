"""`buckets`: each mode with and without length buckets, and what is often quoted of them."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from lab.analysis.acceptance import FEWEST_REPEATS, Comparison
from lab.cli.options import add_run_options, check_repeats, engine_of, spec_of
from lab.cli.output import print_json
from lab.cli.progress import ProgressLine
from lab.experiments.buckets import BOUND, CLAIMS, Effect, Reading, measure_buckets, on_engine
from lab.run.prepare import prepare
from lab.run.provenance import provenance_of
from lab.run.record import Provenance
from lab.scheduling.order import PRESETS

SCENARIOS = ("mixed", "conversation", "code")
_SAID = {"agrees": "holds", "differs": "does not hold", "inconclusive": "inconclusive"}


def add_to(commands: Any) -> None:
    command = commands.add_parser(
        "buckets",
        help="measure what length buckets do, mode by mode",
        description=f"Defaults here: the scenarios {', '.join(SCENARIOS)}; static, dynamic and continuous; "
        f"buckets {','.join(map(str, PRESETS['small']))}.",
    )
    add_run_options(command)
    command.add_argument("--repeats", type=int, default=FEWEST_REPEATS, metavar="N", help="at least 5 (default: 5)")
    command.set_defaults(command=measure, modes="static,dynamic,continuous", buckets=PRESETS["small"])


def measure(options: argparse.Namespace) -> int:
    """Exit code 1 where noise leaves an answer open."""
    check_repeats(options.repeats, FEWEST_REPEATS)
    if not options.buckets:
        raise ValueError("--buckets is empty; give boundaries such as 48,96")
    brings_its_own = options.scenario or options.prompts or options.trace
    specs = [spec_of(_with(options, name)) for name in ((None,) if brings_its_own else SCENARIOS)]
    found: dict[str, tuple[Effect, ...]] = {}
    with ProgressLine() as progress:
        engine = engine_of(options, progress)
        provenance = provenance_of(engine, ())
        for spec in specs:
            workload = prepare(spec.workload, engine, spec.free_eos, progress.phase)
            run = on_engine(spec, workload, engine)
            found[workload.name] = measure_buckets(
                spec.policies, workload, run, provenance, options.repeats, progress.phase
            )
    if options.json:
        print_json(_json(found, provenance, options))
    else:
        print(_text(found, provenance, options))
    return 1 if any(_open(e) for effects in found.values() for e in effects) else 0


def _with(options: argparse.Namespace, scenario: str | None) -> argparse.Namespace:
    return argparse.Namespace(**vars(options) | ({} if scenario is None else {"scenario": scenario}))


def _open(effect: Effect) -> bool:
    verdicts = [*effect.claims.values(), *(c.verdict for c in effect.changed.values())]
    return "inconclusive" in verdicts


def _json(
    found: dict[str, tuple[Effect, ...]], provenance: Provenance, options: argparse.Namespace
) -> dict[str, Any]:
    return {
        "provenance": asdict(provenance) | {"versions": dict(provenance.versions)},
        "buckets": list(options.buckets),
        "repeats": options.repeats,
        "bound": BOUND,
        "quoted": {quantity: {"least": a, "most": b} for quantity, (a, b) in CLAIMS.items()},
        "scenarios": {name: {e.mode: _effect_json(e) for e in effects} for name, effects in found.items()},
    }


def _effect_json(e: Effect) -> dict[str, Any]:
    return {
        "one_queue": _reading_json(e.one_queue),
        "buckets": _reading_json(e.buckets),
        "changed": {quantity: c._asdict() for quantity, c in e.changed.items()},
        "quoted": dict(e.claims),
    }


def _reading_json(r: Reading) -> dict[str, Any]:
    return {
        "throughput_tok_s": r.throughput,
        "padding_waste": r.padding_waste,
        "e2e_p50_s": r.e2e_p50,
        "e2e_p99_s": r.e2e_p99,
        "e2e_by_bucket_s": {name: {"p50": half, "p99": tail} for name, (half, tail) in r.buckets.items()},
        "batches": r.batches,
        "merged": r.merged,
    }


def _text(found: dict[str, tuple[Effect, ...]], p: Provenance, options: argparse.Namespace) -> str:
    edges = ", ".join(map(str, options.buckets))
    lines = [
        f"{p.model} · {p.dtype} · {p.device} · {p.created}",
        f"buckets at {edges} prompt tokens, medians of {options.repeats}; p99 of so few requests is their longest",
    ]
    for name, effects in found.items():
        lines += [
            "",
            f"{name:32}{'tok/s':>8}{'padding':>9}{'p50':>9}{'p99':>9}{'batches':>9}{'merged':>8}  by bucket",
        ]
        for e in effects:
            lines += [_row(f"{e.mode}, one queue", e.one_queue), _row(f"{e.mode}, buckets", e.buckets)]
        for e in effects:
            lines.append(f"  {e.mode}: {', '.join(_said(quantity, e) for quantity in CLAIMS)}")
    return "\n".join(lines)


def _row(name: str, r: Reading) -> str:
    parts = ", ".join(f"{bucket}: {half:.1f}/{tail:.1f} s" for bucket, (half, tail) in r.buckets.items())
    return (
        f"  {name:30}{r.throughput:8.1f}{r.padding_waste:9.0%}{r.e2e_p50:7.2f} s{r.e2e_p99:7.2f} s"
        f"{r.batches:9}{r.merged:8}  {parts}"
    )


def _said(quantity: str, e: Effect) -> str:
    c: Comparison = e.changed[quantity]
    label, quoted = {"throughput": ("throughput", "+30 to +50 %"), "e2e_p99": ("p99", "-60 %")}[quantity]
    same = "" if c.verdict == "differs" else " (no difference)" if c.verdict == "agrees" else " (inconclusive)"
    return f"{label} {c.difference:+.0%} ± {c.spread:.0%}{same}, quoted {quoted}: {_SAID[e.claims[quantity]]}"
