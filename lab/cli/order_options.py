"""The options of a queue's order, and the values they become."""

from __future__ import annotations

import argparse

from lab.scheduling.order import FIRST_COME, PRESETS, Order
from lab.workload.priorities import with_urgent
from lab.workload.request import Workload


def add_order_options(command: argparse.ArgumentParser) -> None:
    """Who goes first among those who wait, in every mode."""
    add = command.add_argument
    add(
        "--buckets",
        type=boundaries,
        default=(),
        metavar="A,B",
        help=f"part the queue by prompt tokens: boundaries, or {' or '.join(PRESETS)} (default: one bucket)",
    )
    add(
        "--bucket-wait-limit-ms",
        type=float,
        metavar="MS",
        help="a bucket that has waited so long leaves now (default: the window in dynamic, else 1000)",
    )
    add(
        "--order",
        choices=("first-come", "priority"),
        default="first-come",
        help="within a bucket (default: first-come)",
    )
    add("--urgent-share", type=float, metavar="F", help="make this share of the requests urgent, the others normal")
    add(
        "--ageing",
        type=ageing,
        default=FIRST_COME.ageing,
        metavar="SECONDS|off",
        help="with --order priority: a request that has waited so long is most urgent; "
        f"off: it may starve (default: {FIRST_COME.ageing:g})",
    )


def order_of(options: argparse.Namespace) -> Order:
    """ValueError, beside what is no order, for an option that would have no effect on this one."""
    limit = options.bucket_wait_limit_ms
    if limit is not None and not options.buckets:
        raise ValueError(f"--bucket-wait-limit-ms {limit:g} is of length buckets; name them with --buckets")
    if options.ageing != FIRST_COME.ageing and options.order != "priority":
        said = "off" if options.ageing is None else f"{options.ageing:g}"
        raise ValueError(f"--ageing {said} is of priorities; add --order priority")
    return Order(
        boundaries=options.buckets,
        by_priority=options.order == "priority",
        ageing=options.ageing,
        bucket_wait_limit=None if limit is None else limit / 1000,
    )


def with_priorities(workload: Workload, options: argparse.Namespace) -> Workload:
    return workload if options.urgent_share is None else with_urgent(workload, options.urgent_share)


def boundaries(text: str) -> tuple[int, ...]:
    """A preset's name, or whole numbers with commas between them; "" = none."""
    if text in PRESETS:
        return PRESETS[text]
    try:
        return tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError:
        known = ", ".join(PRESETS)
        raise argparse.ArgumentTypeError(
            f"buckets are {text!r}; give prompt tokens such as 128,512 or one of {known}"
        ) from None


def ageing(text: str) -> float | None:
    if text == "off":
        return None
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"ageing is {text!r}; give seconds, or off") from None
