"""`run`: the race, its metrics on the screen, its record in a folder."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from lab.analysis.checks import check_lane
from lab.cli.options import add_run_options, add_slo_options, engine_of, path, slo_of, spec_of
from lab.cli.output import print_json, run_json, run_text
from lab.cli.places import check_folder
from lab.cli.progress import ProgressLine
from lab.cli.run_files import write_run
from lab.run.job import run_job


def add_to(commands: Any) -> None:
    command = commands.add_parser("run", help="run a scenario under the batching modes, side by side")
    add_run_options(command)
    add_slo_options(command)
    command.add_argument("--out", type=path, metavar="DIR", help="write record.json and its tables (docs/data.md)")
    command.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    spec, slo = spec_of(options), slo_of(options)
    check_folder("--out", options.out)  # now, not after minutes of measuring
    with ProgressLine() as progress:
        record = run_job(spec, engine_of(options, progress), progress.event)
    for lane in record.lanes:
        check_lane(record.workload, lane, complete=True)
    if options.out is not None:
        write_run(record, slo, options.out)
        print(f"written to {options.out}", file=sys.stderr)
    if options.json:
        print_json(run_json(record, slo))
    else:
        print(run_text(record, slo))
    return 0
