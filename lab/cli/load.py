"""`load`: latency against throughput, mode by mode, from light load to past saturation; its knee; Little's law."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.analysis.load import Sweep
from lab.analysis.load_tables import load_json, load_rows
from lab.analysis.tables import csv_text
from lab.cli.load_options import FEWEST, SCENARIO, numbers, people, usual_users, with_requests
from lab.cli.load_text import load_text
from lab.cli.options import add_run_options, check_repeats, engine_of, path, spec_of
from lab.cli.output import print_json
from lab.cli.places import check_folder
from lab.cli.predict import calibration_for
from lab.cli.progress import ProgressLine
from lab.engine.coder import Coder
from lab.engine.progress import silent
from lab.engine.text import Text
from lab.experiments.load import Serve, closed_loop, cut_of, on_calibration, on_engine, open_loop
from lab.report.load import load_html
from lab.report.words import Words
from lab.run.job import REFERENCE_STEPS
from lab.run.lanes import RunSpec
from lab.run.predict import source_of
from lab.run.prepare import prepare, prepare_apart
from lab.run.provenance import provenance_of
from lab.run.record import Provenance
from lab.run.record_file import write_whole
from lab.workload.request import Workload
from lab.workload.scenarios import MAX_RATE, MIN_RATE

MINUTES = 4.0
MOST_THINK_MS = 3_600_000

Ready = Callable[[Workload], Workload]


def add_to(commands: Any) -> None:
    command = commands.add_parser(
        "load",
        help="latency against throughput under rising load, with knee and Little's law",
        description=f"Defaults here: the scenario {SCENARIO} with Poisson arrivals, at least {FEWEST} requests. "
        "Rates are shares of what each mode gives with all requests at once.",
    )
    add_run_options(command)
    add = command.add_argument
    add("--rates", type=numbers(float), metavar="A,B", help="requests per second, the same for every mode")
    add("--users", type=numbers(int), metavar="A,B", help="closed loop: numbers of users (with --closed-loop)")
    add("--closed-loop", action="store_true", help="users who ask again after their answer: 1, 2, 4 … 2 batches")
    add("--think-ms", type=float, metavar="MS", help="closed loop: before asking again (default: 0)")
    add("--repeats", type=int, default=1, metavar="N", help="each with a seed of its own (default: 1)")
    add("--minutes", type=float, metavar="M", help=f"then leave loads out (default: {MINUTES:g})")
    add("--predicted", action="store_true", help="from a calibration (see calibrate), in place of measuring")
    add("--out", type=path, metavar="DIR", help="write load.csv and load.html")
    command.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    _check(options)
    with ProgressLine() as progress:
        sweep = _sweep(options, progress)
    words = Words("en")
    if options.out is not None:
        _write(sweep, words, options.out)
    if options.json:
        print_json(load_json(sweep))
    else:
        print(load_text(sweep, words))
    return 0


def _check(options: argparse.Namespace) -> None:
    check_repeats(options.repeats, 1)
    if options.minutes is not None and not options.minutes > 0:
        raise ValueError(f"--minutes is {options.minutes:g}; it must be above 0")
    if options.minutes is not None and options.predicted:
        raise ValueError("--minutes is for measuring; a prediction takes none")
    for rate in options.rates or ():
        if not MIN_RATE <= rate <= MAX_RATE:
            raise ValueError(f"--rates has {rate:g}; a rate lies between {MIN_RATE} and {MAX_RATE:g} per second")
    if options.requests is not None and options.requests < 1:
        raise ValueError(f"--requests is {options.requests}; it must be at least 1")
    if options.think_ms is not None and not 0 <= options.think_ms <= MOST_THINK_MS:
        raise ValueError(f"--think-ms is {options.think_ms:g}; it must lie between 0 and {MOST_THINK_MS:,}")
    for name in ("scatter", "free_eos"):
        if getattr(options, name):
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} does not go with load: every run does the same work in whole batches")
    for name in ("users", "think_ms"):
        if getattr(options, name) is not None and not options.closed_loop:
            raise ValueError(f"--{name.replace('_', '-')} is for a closed loop; add --closed-loop")
    others = (options.rates, options.request_rate, options.scenario, options.prompts, options.trace)
    if options.closed_loop and any(other is not None for other in others):
        raise ValueError("--closed-loop asks its own questions at its users' pace; leave out rates and requests")
    check_folder("--out", options.out)


def _sweep(options: argparse.Namespace, progress: ProgressLine) -> Sweep:
    seeds = [options.seed + i for i in range(options.repeats)]
    specs = [spec_of(with_requests(options, seed)) for seed in seeds]
    policies, budget_s = specs[0].policies, math.inf if options.predicted else 60 * (options.minutes or MINUTES)
    users, think_s = options.users or usual_users(options.max_batch_size), (options.think_ms or 0.0) / 1000
    if not options.closed_loop:  # what cannot be done is said before a model is loaded
        cut_of(policies, min(len(spec.workload.requests) for spec in specs))
    for count in users if options.closed_loop else ():
        people(options, count, options.seed)
    serve, source, ready = _device(options, specs[0], progress)
    report = silent if options.predicted else progress.phase  # a prediction takes none of the seconds it is about
    if options.closed_loop:

        def asking(users: int, seed: int) -> Workload:
            return ready(people(options, users, seed))

        return closed_loop(
            policies, asking, seeds, serve, source, report, users=users, think_s=think_s, budget_s=budget_s
        )
    workloads = [ready(spec.workload) for spec in specs]
    return open_loop(policies, workloads, serve, source, report, rates=options.rates, budget_s=budget_s)


def _device(options: argparse.Namespace, spec: RunSpec, progress: ProgressLine) -> tuple[Serve, Provenance, Ready]:
    """What serves the runs, where its numbers come from, and what makes requests ready for it."""
    if options.predicted:
        calibration = calibration_for(options)
        text = Text.load(Path(calibration.folder)) if calibration.folder else None
        coder = Coder(text, calibration.shape.vocab)

        def ready(workload: Workload) -> Workload:
            made, assumed = prepare_apart(workload, coder, calibration.fingerprint)
            if assumed:
                print(f"{assumed} answers have no known length; they count as the most allowed", file=sys.stderr)
            return made

        return on_calibration(spec, calibration), source_of(calibration), ready
    engine = engine_of(options, progress)
    provenance = provenance_of(engine, engine.executor.reference_steps(REFERENCE_STEPS))
    return on_engine(spec, engine), provenance, lambda workload: prepare(workload, engine, False, progress.phase)


def _write(sweep: Sweep, words: Words, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "load.csv", csv_text(load_rows(sweep)))
    write_whole(folder / "load.html", load_html(sweep, words))
    print(f"written to {folder}", file=sys.stderr)
