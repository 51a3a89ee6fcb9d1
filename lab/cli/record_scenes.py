"""`record-scenes`: run the lessons' scenes here, and keep the records that ship with the lab."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from lab.analysis.checks import check_lane
from lab.cli.options import add_model_options, engine_of, path
from lab.cli.places import check_folder
from lab.cli.progress import ProgressLine
from lab.cli.scene_progress import SceneProgress
from lab.lesson.lesson import scenes
from lab.lesson.recorded import FOLDER
from lab.run.job import run_job
from lab.run.record_file import save

BANDWIDTHS = 20  # measurements; each takes a moment


def add_to(commands: Any) -> None:
    command = commands.add_parser("record-scenes", help="run the lessons' scenes and keep their records")
    add_model_options(command)
    command.add_argument("--scene", action="append", metavar="NAME", help="this one only; may be given again")
    command.add_argument("--out", type=path, default=FOLDER, metavar="DIR", help="where (default: %(default)s)")
    command.set_defaults(command=record)


def record(options: argparse.Namespace) -> int:
    known = scenes()
    wanted = options.scene or list(known)
    for name in wanted:
        if name not in known:
            raise ValueError(f"--scene is {name!r}; it must be one of {', '.join(known)}")
    check_folder("--out", options.out)
    options.out.mkdir(parents=True, exist_ok=True)
    with ProgressLine() as progress:
        engine = engine_of(options, progress)
        for _ in range(BANDWIDTHS):  # the best of them counts, and should be the same in all scenes
            engine.read_bandwidth()
        scenes_done = SceneProgress(len(wanted))
        for name in wanted:
            scenes_done.begin(name)
            made = run_job(known[name].spec(), engine)
            for lane in made.lanes:
                check_lane(made.workload, lane, complete=True)
            save(made, options.out / f"{name}.json")
    print(f"{len(wanted)} scenes recorded in {options.out}", file=sys.stderr)
    return 0
