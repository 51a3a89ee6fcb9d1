"""`validate`: predictions against measured runs. Exit code 0: every decision reproduced, the goal met."""

from __future__ import annotations

import argparse
from typing import Any

from lab.analysis.acceptance import FEWEST_REPEATS
from lab.analysis.accuracy import goal_met
from lab.cli.options import add_model_options, check_seats, engine_of, path
from lab.cli.output import print_json
from lab.cli.places import check_file
from lab.cli.progress import ProgressLine
from lab.cli.validation_text import validation_json, validation_text
from lab.experiments.validate import REQUESTS, validate
from lab.run.calibration import keep
from lab.run.record_file import write_whole

FEWEST_REQUESTS = 8


def add_to(commands: Any) -> None:
    command = commands.add_parser("validate", help="hold predictions against measured runs, mode by mode")
    add_model_options(command)
    add = command.add_argument
    add("--max-batch-size", type=int, default=8, metavar="N", help="seats (default: 8)")
    add("--requests", type=int, default=REQUESTS, metavar="N", help=f"of each run (default: {REQUESTS})")
    add("--repeats", type=int, default=FEWEST_REPEATS, metavar="N", help="of each run, at least 5 (default: 5)")
    add("--seed", type=int, default=0, help="of lengths and arrivals (default: 0)")
    add("--report", type=path, metavar="FILE", help="write the report there, too (Markdown)")
    add("--json", action="store_true", help="one JSON object on stdout")
    command.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    from lab.experiments.calibrate import calibrate  # here, for scipy takes its time

    _check(options)
    check_seats("--max-batch-size", options.max_batch_size)
    with ProgressLine() as progress:
        engine = engine_of(options, progress)
        calibration = calibrate(engine, progress.phase)
        keep(calibration)
        found = validate(
            engine,
            calibration,
            progress.phase,
            batch_size=options.max_batch_size,
            requests=options.requests,
            repeats=options.repeats,
            seed=options.seed,
        )
    if options.report is not None:
        write_whole(options.report, validation_text(found) + "\n")
    if options.json:
        print_json(validation_json(found))
    else:
        print(validation_text(found))
    return 0 if not found.departures and goal_met(found.cells) else 1


def _check(options: argparse.Namespace) -> None:
    """Before a model is loaded."""
    for name, least in (
        ("max_batch_size", 1),
        ("requests", FEWEST_REQUESTS),
        ("repeats", FEWEST_REPEATS),
        ("seed", 0),
    ):
        value = getattr(options, name)
        if value < least:
            raise ValueError(f"--{name.replace('_', '-')} is {value}; it must be at least {least}")
    if options.report is not None and not options.report.absolute().parent.is_dir():
        raise ValueError(
            f"--report is {options.report}, and {options.report.parent} is no folder; name a file in one"
        )
    check_file("--report", options.report)
