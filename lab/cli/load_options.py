"""What `load` asks of the modes: requests whose times can be stretched, or users who ask again."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

from lab.workload.closed_loop import closed_loop
from lab.workload.request import Workload
from lab.workload.scenarios import SCENARIOS

SCENARIO, RATE = "mixed", 1.0  # any rate: the times are stretched
BATCHES = 4  # requests of a run, in batches of the largest mode: one is cut at either end
FEWEST, USER_TOKENS = 48, 16


def with_requests(options: argparse.Namespace, seed: int) -> argparse.Namespace:
    """What was not named: the scenario, how many requests, and some rate where a scenario has none."""
    given: dict[str, Any] = {"seed": seed}
    if not options.prompts:
        usual = max(FEWEST, BATCHES * options.max_batch_size)
        given["requests"] = usual if options.requests is None else options.requests
    if not options.trace:
        name = options.scenario or ("own" if options.prompts else SCENARIO)
        timeless = name in SCENARIOS and SCENARIOS[name].rate is None and SCENARIOS[name].trace is None
        given["scenario"] = name
        if timeless and options.request_rate is None:
            given["request_rate"] = RATE
    return argparse.Namespace(**vars(options) | given)


def people(options: argparse.Namespace, users: int, seed: int) -> Workload:
    """Each asks as often as it takes for the same number of questions, and at least four times."""
    most = max(options.max_batch_size, users)
    count = max(FEWEST if options.requests is None else options.requests, BATCHES * most)
    return closed_loop(
        users, -(-count // users), (options.think_ms or 0.0) / 1000, max_new_tokens=USER_TOKENS, seed=seed
    )


def usual_users(seats: int) -> list[int]:
    """1, 2, 4 … twice a batch; its ends and the batch itself come first, should time run out."""
    ends = [1, seats, 2 * seats]
    between = [2**i for i in range(1, (2 * seats).bit_length())]
    return list(dict.fromkeys(ends + [n for n in between if n < 2 * seats]))


def numbers(kind: type[int] | type[float]) -> Callable[[str], list[Any]]:
    def read(text: str) -> list[Any]:
        try:
            made = sorted({kind(part) for part in text.split(",")})
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers such as 1,2,4") from None
        if not all(0 < n < math.inf for n in made):
            raise argparse.ArgumentTypeError(f"{text!r} has a number that is not above 0 and finite")
        return made

    return read
