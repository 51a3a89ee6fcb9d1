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
    """The newest of this model, and of the device and precision where these are asked for.

    ValueError where there is none, with those that there are; and for answers that end by themselves.
    """
    if options.device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device is {options.device!r}; it must be 'auto', 'cpu' or 'cuda'")
    check_lengths_known(options)
    found = kept()
    for calibration in found:
        if _names(options.model, calibration) and _made_on(options, calibration):
            return calibration
    asked = [f" --{name} {given}" for name in ("device", "dtype") if (given := getattr(options, name)) != "auto"]
    command = f"python -m lab calibrate --model {options.model}{''.join(asked)}"
    there = f"those kept are of {'; '.join(map(_said, found))}" if found else "none is kept here"
    wanted = f"{options.model!r}{' with' if asked else ''}{''.join(asked)}"
    raise ValueError(f"there is no calibration of {wanted}: {there}; run {command}")


def check_lengths_known(options: argparse.Namespace) -> None:
    """ValueError where answers are to end by themselves: nobody computes what they say."""
    if options.free_eos:
        raise ValueError("--free-eos needs a model that answers; a prediction takes the known lengths of answers")


def _made_on(options: argparse.Namespace, calibration: Calibration) -> bool:
    made = {"device": calibration.device_type, "dtype": calibration.provenance.dtype}
    return all(getattr(options, name) in ("auto", value) for name, value in made.items())


def _said(calibration: Calibration) -> str:
    p = calibration.provenance
    return f"{p.model} in {p.dtype} on {calibration.device_type or 'a device not named'} ({p.device})"


def _names(model: str, calibration: Calibration) -> bool:
    name = calibration.provenance.model
    return (
        model == name
        or (model == DEFAULT_MODEL and name == "SmolLM2-135M-Instruct")
        or (bool(calibration.folder) and Path(model).expanduser().resolve() == Path(calibration.folder))
    )
