"""`calibrate`: measure what steps take here, and keep the fit that predictions stand on."""

from __future__ import annotations

import argparse
from typing import Any

from lab.cli.options import add_model_options, engine_of
from lab.cli.output import print_json
from lab.cli.progress import ProgressLine
from lab.run.calibration import keep


def add_to(commands: Any) -> None:
    command = commands.add_parser("calibrate", help="measure what steps take here, for predictions")
    add_model_options(command)
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")
    command.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    from lab.experiments.calibrate import calibrate

    with ProgressLine() as progress:
        found = calibrate(engine_of(options, progress), progress.phase)
    path = keep(found)
    p = found.provenance
    if options.json:
        print_json(
            {
                "model": p.model,
                "dtype": p.dtype,
                "device": p.device,
                "samples": found.samples,
                "held_out": found.held_out,
                "median_abs_error": found.error,
                "reference_step_s": found.reference_step_s,
                "coefficients_s": list(found.cost.coefficients),
                "file": path.name,
            }
        )
    else:
        print(
            f"{p.model} · {p.dtype} · {p.device}: {found.samples} steps measured; "
            f"median error {found.error:.1%} on the {found.held_out} held out"
        )
    return 0
