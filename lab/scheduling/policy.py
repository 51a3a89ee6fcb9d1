"""The four batching modes as rows of one table of knobs. What follows from them is in lab.scheduling.decide."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from lab.scheduling.order import FIRST_COME, Order

MOST_SEATS = 4096
"""Of a lane whose record is kept. Theory is tested with more."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The knobs of a batching server.

    max_batch_size          seats: requests that may be computed together
    max_queue_delay         seconds a request may be kept waiting for company; inf = until the batch is full
    refill                  others may join before the batch has ended
    padded                  the rectangle is computed: prompts padded to the longest, finished rows kept
    window_starts_at        "arrival": the window opens when the oldest waiting request arrived;
                            "pickup": when it arrived or the device became free, whichever is later
    run_at_once_below       if fewer than this many wait when the device is free, they leave at once (1 = never)
    max_num_batched_tokens  most tokens in a step that admits prompts, decode rows included (with refill only)
    overtake_limit          with refill: seconds a request that does not fit the KV budget may be passed by
                            those behind it that do; after that, seats are held for it
    order                   who goes first among the waiting
    three_lists             of `order` only the boundaries count, as in lab.scheduling.three_lists: to compare with
    """

    name: str
    max_batch_size: int
    max_queue_delay: float
    refill: bool
    padded: bool
    window_starts_at: Literal["arrival", "pickup"] = "arrival"
    run_at_once_below: int = 1
    max_num_batched_tokens: int = 2048
    overtake_limit: float = 1.0
    order: Order = FIRST_COME
    three_lists: bool = False

    def __post_init__(self) -> None:
        if self.max_batch_size < 1:
            raise ValueError(f"max_batch_size is {self.max_batch_size}; it must be at least 1")
        if math.isnan(self.max_queue_delay) or self.max_queue_delay < 0:
            raise ValueError(f"max_queue_delay is {self.max_queue_delay} s; it must be 0 or more")
        if self.refill and self.padded:
            raise ValueError(
                "refill and padded exclude each other: a padded batch is one rectangle from its start to its end, "
                "refill changes its rows on the way; choose one of them"
            )
        if self.window_starts_at not in ("arrival", "pickup"):
            raise ValueError(f"window_starts_at is {self.window_starts_at!r}; it must be 'arrival' or 'pickup'")
        if not 1 <= self.run_at_once_below <= self.max_batch_size:
            raise ValueError(
                f"run_at_once_below is {self.run_at_once_below}; "
                f"it must lie between 1 (never) and max_batch_size ({self.max_batch_size})"
            )
        if self.max_num_batched_tokens < 1:
            raise ValueError(f"max_num_batched_tokens is {self.max_num_batched_tokens}; it must be at least 1")
        if math.isnan(self.overtake_limit) or self.overtake_limit < 0:
            raise ValueError(f"overtake_limit is {self.overtake_limit} s; it must be 0 or more")
        if self.three_lists and (self.refill or math.isinf(self.max_queue_delay)):
            raise ValueError("three_lists needs a window that ends, and no refill")

    @property
    def bucket_wait_limit(self) -> float:
        """Seconds after which a waiting bucket leaves now."""
        if self.order.bucket_wait_limit is not None:
            return self.order.bucket_wait_limit
        return self.max_queue_delay if math.isfinite(self.max_queue_delay) else 1.0

    @property
    def passing_limit(self) -> float:
        """Seconds after which a request is passed no more: whoever leaves from then on leaves with somebody who
        came before it, or with itself. inf: the urgent may pass it for ever."""
        if self.three_lists:
            return math.inf
        limits = [self.order.overtaking_limit]
        if self.refill:
            limits.append(self.overtake_limit)
        elif self.order.boundaries:
            limits.append(self.bucket_wait_limit)
        return max(limits)


MODES = ("none", "static", "dynamic", "continuous")


def mode(name: str, max_batch_size: int = 8, max_queue_delay: float = 0.05, order: Order = FIRST_COME) -> Policy:
    """A row of the table; it leaves open `max_batch_size`, `max_queue_delay` (seconds) and `order`."""
    table = {
        #                            max_batch_size, max_queue_delay, refill, padded
        "none": Policy("none", 1, 0.0, refill=False, padded=False),
        "static": Policy("static", max_batch_size, math.inf, refill=False, padded=True),
        "dynamic": Policy("dynamic", max_batch_size, max_queue_delay, refill=False, padded=True),
        "continuous": Policy("continuous", max_batch_size, 0.0, refill=True, padded=False),
    }
    if name not in table:
        raise ValueError(f"mode is {name!r}; it must be one of {', '.join(MODES)}")
    return replace(table[name], order=order)
