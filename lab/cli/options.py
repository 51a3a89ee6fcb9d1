"""The options that several commands share, and the values they become."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from lab.analysis.metrics import Slo
from lab.cli.order_options import add_order_options, order_of, with_priorities
from lab.cli.progress import ProgressLine
from lab.cli.trace_options import add_trace_options, traced
from lab.run.lanes import RunSpec
from lab.run.measuring import measuring
from lab.scheduling.policy import MODES, MOST_SEATS, mode
from lab.workload.prompts import read_prompts_file
from lab.workload.request import Workload
from lab.workload.scenarios import SCENARIOS, build

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

DEFAULT_MODEL = "smollm2-135m"
MOST_REPEATS = 100


def add_run_options(command: argparse.ArgumentParser) -> None:
    """What to run, under which rules, on what."""
    add_work_options(command)
    add_model_options(command)


def add_work_options(command: argparse.ArgumentParser) -> None:
    """What to run, under which rules."""
    add = command.add_argument
    add("--scenario", metavar="NAME", help=f"one of {', '.join(SCENARIOS)} (default: chat, or own with --prompts)")
    add("--modes", default=",".join(MODES), metavar="A,B", help=f"among {', '.join(MODES)} (default: all four)")
    add("--max-batch-size", type=int, default=8, metavar="N", help="seats (default: 8)")
    add("--max-queue-delay-ms", type=float, default=50.0, metavar="MS", help="dynamic's window (default: 50)")
    add("--request-rate", type=float, metavar="R", help="requests per second (default: the scenario's)")
    add("--requests", type=int, metavar="N", help="how many (default: the scenario's)")
    add("--prompts", type=path, metavar="FILE", help="a text file with up to 16 prompts, one a line")
    add("--trace", type=path, metavar="FILE", help="replay real requests, cut as the command trace shows")
    add_trace_options(command)
    add_order_options(command)
    add("--seed", type=int, default=0, help="of prompts, lengths and arrivals (default: 0)")
    add(
        "--kv-budget-mb", type=float, metavar="MB", help="KV cache of each lane (default: its share of free memory)"
    )
    add("--groups", type=int, default=1, metavar="G", help="replicas of the model in each lane (default: 1)")
    add("--scatter", action="store_true", help="spread each batch over the groups, to see what that costs")
    add("--free-eos", action="store_true", help="answers end by themselves; lengths may then differ between lanes")
    add("--json", action="store_true", help="one JSON object on stdout")


def add_model_options(command: argparse.ArgumentParser) -> None:
    """Which model, on what."""
    add = command.add_argument
    add(
        "--model",
        default=DEFAULT_MODEL,
        help=f"{DEFAULT_MODEL}, a folder, a hub id, or dummy:NAME (random weights)",
    )
    add("--device", default="auto", help="auto, cpu or cuda (default: auto)")
    add("--dtype", default="auto", help="auto, fp32 or bf16 (default: auto, the faster one)")


def add_slo_options(command: argparse.ArgumentParser) -> None:
    """What a request must meet to count as served well."""
    add = command.add_argument
    add("--slo-ttft-ms", type=float, metavar="MS", help="a request meets it with its first token")
    add("--slo-tpot-ms", type=float, metavar="MS", help="… and with its time per output token")


def check_repeats(repeats: int, fewest: int) -> None:
    if repeats < fewest:
        raise ValueError(f"--repeats is {repeats}; it must be at least {fewest}")
    if repeats > MOST_REPEATS:
        raise ValueError(f"--repeats is {repeats}; it must be at most {MOST_REPEATS}")


def check_seats(option: str, seats: int) -> None:
    """A record with more could not be read back."""
    if seats > MOST_SEATS:
        raise ValueError(f"{option} is {seats}; it must be at most {MOST_SEATS}")


def path(text: str) -> Path:
    """Of an option that names a file or folder. An empty one would mean this folder, which nobody means."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"the name is {text!r}; name a file or folder")
    return Path(text)


def workload_of(options: argparse.Namespace) -> Workload:
    scenario = options.scenario if options.scenario is not None else ("own" if options.prompts else "chat")
    return build(
        scenario,
        seed=options.seed,
        requests=options.requests,
        rate=options.request_rate,
        prompts=read_prompts_file(options.prompts) if options.prompts else None,
    )


def spec_of(options: argparse.Namespace) -> RunSpec:
    check_seats("--max-batch-size", options.max_batch_size)
    names = [name.strip() for name in options.modes.split(",") if name.strip()]
    delay, order = options.max_queue_delay_ms / 1000, order_of(options)
    return RunSpec(
        workload=with_priorities(traced(options) or workload_of(options), options),
        policies=tuple(mode(name, options.max_batch_size, delay, order) for name in names),
        kv_budget_mb=options.kv_budget_mb,
        free_eos=options.free_eos,
        groups=options.groups,
        scattered=options.scatter,
    )


def slo_of(options: argparse.Namespace) -> Slo | None:
    """None where no limit was given."""
    ttft, tpot = options.slo_ttft_ms, options.slo_tpot_ms
    if ttft is None and tpot is None:
        return None
    return Slo(None if ttft is None else ttft / 1000, None if tpot is None else tpot / 1000)


def engine_of(options: argparse.Namespace, progress: ProgressLine) -> Engine:
    """Load the model, and say that this process measures, until the progress has ended. The import is here:
    commands that need no model start without torch."""
    from lab.engine.loaded import load_engine

    progress.hold(measuring())
    try:
        return load_engine(
            options.model,
            options.device,
            options.dtype,
            on_progress=progress.phase,
            replicas=getattr(options, "groups", 1),
        )
    except (AttributeError, KeyError, OverflowError, RecursionError, RuntimeError, TypeError) as error:
        raise ValueError(f"the model {options.model!r} cannot be read ({type(error).__name__}: {error})") from error
