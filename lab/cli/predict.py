"""`predict`: what `run` would give, from the cost model; milliseconds in place of minutes."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab.cli.options import DEFAULT_MODEL, add_run_options, add_slo_options, slo_of, spec_of
from lab.cli.output import print_json, run_json, run_text
from lab.engine.coder import Coder
from lab.engine.text import Text
from lab.run.calibration import Calibration, kept
from lab.run.predict import predict
from lab.run.prepare import prepare_apart


def add_to(commands: Any) -> None:
    command = commands.add_parser("predict", help="what a run would give, from a calibration (see calibrate)")
    add_run_options(command)
    add_slo_options(command)
    command.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    calibration = calibration_for(options)
    spec = spec_of(options)
    text = Text.load(Path(calibration.folder)) if calibration.folder else None
    workload, assumed = prepare_apart(spec.workload, Coder(text, calibration.shape.vocab), calibration.fingerprint)
    record = predict(replace(spec, workload=workload), calibration)
    if assumed:
        print(f"{assumed} answers have no known length; they count as the most allowed", file=sys.stderr)
    if options.json:
        print_json(run_json(record, slo_of(options)))
    else:
        print(run_text(record, slo_of(options)))
        print(
            f"\npredicted from {calibration.samples} steps measured {calibration.provenance.created}; "
            f"median error of a step {calibration.error:.1%} (held out)"
        )
    return 0


def calibration_for(options: argparse.Namespace) -> Calibration:
    """The newest of this model (and precision, where one is asked for). Its device is whatever it was made on."""
    if options.device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device is {options.device!r}; it must be 'auto', 'cpu' or 'cuda'")
    for calibration in kept():
        p = calibration.provenance
        if _names(options.model, calibration) and options.dtype in ("auto", p.dtype):
            return calibration
    asked = f" --dtype {options.dtype}" if options.dtype != "auto" else ""
    command = f"python -m lab calibrate --model {options.model}{asked}"
    raise ValueError(f"no calibration of {options.model!r} is kept here; run {command}")


def _names(model: str, calibration: Calibration) -> bool:
    name = calibration.provenance.model
    return (
        model == name
        or (model == DEFAULT_MODEL and name == "SmolLM2-135M-Instruct")
        or (bool(calibration.folder) and Path(model).expanduser().resolve() == Path(calibration.folder))
    )
