"""`tune`: climb by doublings to the batch size beyond which more rows buy too little, and say why it stops."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from lab.cli.options import add_run_options, add_slo_options, check_repeats, slo_of
from lab.cli.output import print_json
from lab.cli.progress import ProgressLine
from lab.cli.sweep import LARGEST, one_policy, sweeper_of
from lab.experiments.sweep import Sweeper
from lab.experiments.tune import tune
from lab.experiments.tuner import LEAST_GAIN, MOST_UTILISATION, RULES, Climb, Stop, Trial

REPEATS = 3


def add_to(commands: Any) -> None:
    command = commands.add_parser(
        "tune",
        help="find the batch size beyond which more rows buy too little",
        description="Defaults here: 64 equal requests of 16 tokens, all at once; continuous; up to 64 rows.",
    )
    add_run_options(command)
    add_slo_options(command)
    add = command.add_argument
    add(
        "--rule",
        default="gain",
        choices=tuple(RULES),
        help="gain, or the popular one: stop at utilisation >= 90 %%",
    )
    add("--repeats", type=int, default=REPEATS, metavar="N", help=f"of each size (default: {REPEATS})")
    command.set_defaults(command=run, modes="continuous", max_batch_size=LARGEST)


def run(options: argparse.Namespace) -> int:
    """Exit code 1 where not even one row fits the memory."""
    check_repeats(options.repeats, 1)
    spec, slo = one_policy(options), slo_of(options)
    with ProgressLine() as progress:
        sweeper = sweeper_of(options, spec, progress)
        found = tune(sweeper, options.max_batch_size, options.repeats, slo, options.rule, progress.phase)
    if options.json:
        print_json(_json(found, sweeper, options))
    else:
        print(_text(found, sweeper, options))
    return 1 if found.chosen is None else 0


def _json(found: Climb, sweeper: Sweeper, options: argparse.Namespace) -> dict[str, Any]:
    p = sweeper.provenance
    return {
        "provenance": asdict(p) | {"versions": dict(p.versions)},
        "rule": options.rule,
        "utilisation_is": _counter(sweeper),
        "chosen": found.chosen.batch_size if found.chosen else None,
        "stop": found.stop.value,
        "slo_kept": None if slo_of(options) is None or found.chosen is None else not found.chosen.broken,
        "trials": [_trial_json(trial) for trial in found.trials],
    }


def _trial_json(t: Trial) -> dict[str, Any]:
    tried = {"throughput_tok_s": t.middle, "spread": t.spread} if t.throughput else {}
    return {
        "batch_size": t.batch_size,
        "refused": t.refused or None,
        "repeats": list(t.throughput),
        "broken": sorted(t.broken),
        "utilisation": None if t.refused else t.utilisation,
        **tried,
    }


def _text(found: Climb, sweeper: Sweeper, options: argparse.Namespace) -> str:
    p = sweeper.provenance
    lines = [
        f"{p.model} · {p.dtype} · {p.device} · {p.created}",
        f"medians of {options.repeats}; utilisation is {_counter(sweeper)}",
        "",
        f"{'rows':>5}{'tok/s':>9}{'gain':>7}{'spread':>8}{'utilisation':>13}",
    ]
    below: Trial | None = None
    for trial in found.trials:
        lines.append(_row(trial, below))
        below = trial
    lines += ["", _sentence(found)]
    if found.chosen and found.chosen.broken:
        lines.append(f"Even so its P99 breaks the promised {' and '.join(sorted(found.chosen.broken)).upper()}.")
    return "\n".join(lines)


def _row(trial: Trial, below: Trial | None) -> str:
    if trial.refused:
        return f"{trial.batch_size:5}  refused: {trial.refused}"
    gain = "" if below is None else f"{trial.middle / below.middle - 1:+.0%}"
    return f"{trial.batch_size:5}{trial.middle:9.1f}{gain:>7}{trial.spread:8.0%}{trial.utilisation:13.0%}"


def _counter(sweeper: Sweeper) -> str:
    if sweeper.counter is not None:
        return "the device's own counter"
    return "the share of time in which steps ran (this device has no counter of its own)"


def _sentence(found: Climb) -> str:
    if found.chosen is None:
        return f"Not even one row fits: {found.trials[-1].refused}"
    size, last = found.chosen.batch_size, found.trials[-1].batch_size
    why = {
        Stop.SMALL_GAIN: f"{last} rows give less than {LEAST_GAIN:.0%} more",
        Stop.THROUGHPUT_FELL: f"with {last} rows the throughput falls",
        Stop.SLO_BROKEN: f"with {last} rows the P99 breaks a promise that fewer rows keep",
        Stop.MEMORY_REFUSED: f"{last} rows do not fit the memory",
        Stop.UTILISATION_HIGH: f"utilisation is at least {MOST_UTILISATION:.0%}, so the popular rule stops here",
        Stop.LARGEST_TRIED: "that is the largest size asked for",
    }[found.stop]
    return f"Batch size {size}: {why}."
