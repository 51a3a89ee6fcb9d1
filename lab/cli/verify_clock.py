"""`verify-clock`: virtual waiting against real waiting. Exit code 0 only when every mode agrees."""

from __future__ import annotations

import argparse
from typing import Any

from lab.analysis.acceptance import FEWEST_REPEATS
from lab.cli.options import add_run_options, check_repeats, engine_of, spec_of
from lab.cli.output import print_json
from lab.cli.progress import ProgressLine
from lab.experiments.verify_clock import BOUND, ClockCheck, verify_clock
from lab.run.prepare import prepare


def add_to(commands: Any) -> None:
    command = commands.add_parser("verify-clock", help="check a lane in the race against itself in real time")
    add_run_options(command)
    command.add_argument("--repeats", type=int, default=FEWEST_REPEATS, metavar="N", help="at least 5 (default: 5)")
    command.set_defaults(command=verify)


def verify(options: argparse.Namespace) -> int:
    spec = spec_of(options)
    check_repeats(options.repeats, FEWEST_REPEATS)
    with ProgressLine() as progress:
        engine = engine_of(options, progress)
        workload = prepare(spec.workload, engine, spec.free_eos, progress.phase)
        checks = verify_clock(spec, workload, engine, options.repeats, progress.phase)
    if options.json:
        print_json({"bound": BOUND, "quantity": "mean end-to-end latency, s", "modes": _rows(checks)})
    else:
        print(_text(checks))
    return 0 if all(check.verdict == "agrees" for check in checks) else 1


def _rows(checks: tuple[ClockCheck, ...]) -> dict[str, dict[str, Any]]:
    rows = {check.mode: check._asdict() for check in checks}
    for row in rows.values():
        del row["mode"]
    return rows


def _text(checks: tuple[ClockCheck, ...]) -> str:
    lines = [f"mean end-to-end latency, medians of {checks[0].repeats}; within {BOUND:.0%} agrees"]
    lines.append(f"{'mode':12} {'in the race':>12} {'real time':>10} {'difference':>11} {'spread':>7}  verdict")
    for c in checks:
        lines.append(
            f"{c.mode:12} {c.virtual:10.3f} s {c.real:8.3f} s {c.difference:+11.1%} {c.spread:7.1%}  {c.verdict}"
        )
    return "\n".join(lines)
