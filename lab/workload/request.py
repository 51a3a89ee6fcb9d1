"""A request and a list of them. Knows nothing of batches, devices or measured time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

MAX_REQUESTS = 256  # the most that one run takes


@dataclass(frozen=True, slots=True)
class Request:
    """One question to the server.

    arrival         seconds from the start of the run; with `follows` set, seconds of think time after
                    that request's last token (a closed loop: a user asks again after the answer)
    prompt          the text as the user typed it, chat template not included; "" where only ids exist
    prompt_ids      the tokens the model is fed; empty until the workload is tokenized
    prompt_length   how many tokens these shall be: `prompt` is then only how the text begins, which is continued
                    and cut to this length, without a chat template; None = as many as its text has
    max_new_tokens  the most tokens the user will accept; all that a scheduler may know of the length
    output_tokens   how many tokens the answer has, the same in every lane; None while unknown.
                    The scheduler never sees it
    priority        0 or more; a lower number runs sooner where the order of the queue looks at it
    """

    id: int
    arrival: float
    max_new_tokens: int
    prompt: str = ""
    prompt_ids: tuple[int, ...] = ()
    output_tokens: int | None = None
    priority: int = 0
    follows: int | None = None
    prompt_length: int | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.arrival) or self.arrival < 0:
            raise ValueError(f"request {self.id}: arrival is {self.arrival}, it must be 0 seconds or later")
        if self.max_new_tokens < 1:
            raise ValueError(f"request {self.id}: max_new_tokens is {self.max_new_tokens}, it must be at least 1")
        if self.priority < 0:
            raise ValueError(f"request {self.id}: priority is {self.priority}, it must be 0 (most urgent) or more")
        if self.prompt_length is not None and self.prompt_length < 1:
            raise ValueError(f"request {self.id}: prompt_length is {self.prompt_length}, it must be at least 1")
        if self.output_tokens is not None and not 1 <= self.output_tokens <= self.max_new_tokens:
            raise ValueError(
                f"request {self.id}: output_tokens is {self.output_tokens}, "
                f"it must lie between 1 and max_new_tokens ({self.max_new_tokens})"
            )

    @property
    def prompt_tokens(self) -> int:
        return len(self.prompt_ids)


@dataclass(frozen=True, slots=True)
class Workload:
    """One and the same list of requests for every lane, in order of arrival; ids are positions 0, 1, 2, …

    source  where arrivals and lengths were taken from, and what was changed in them; "" for a list made here
    """

    name: str
    requests: tuple[Request, ...]
    seed: int = 0
    source: str = ""

    def __post_init__(self) -> None:
        if not self.requests:
            raise ValueError(f"workload {self.name!r} has no requests; it must have at least one")
        if [r.id for r in self.requests] != list(range(len(self.requests))):
            raise ValueError(f"workload {self.name!r}: request ids must be 0, 1, 2, … in order")
        opens = [r.arrival for r in self.requests if r.follows is None]
        if any(later < earlier for earlier, later in pairwise(opens)):
            raise ValueError(f"workload {self.name!r}: requests must be in order of arrival")
        for r in self.requests:
            if r.follows is not None and not 0 <= r.follows < r.id:
                raise ValueError(f"request {r.id} follows {r.follows}; it must follow an earlier request")

    @property
    def tokenized(self) -> bool:
        return all(r.prompt_ids for r in self.requests)

    @property
    def lengths_known(self) -> bool:
        return all(r.output_tokens is not None for r in self.requests)

    def with_output_tokens(self, lengths: Mapping[int, int]) -> Workload:
        """The same workload with each answer's length forced; requests not in `lengths` stay as they are."""
        changed = (
            replace(r, output_tokens=min(lengths[r.id], r.max_new_tokens)) if r.id in lengths else r
            for r in self.requests
        )
        return replace(self, requests=tuple(changed))

    def at_rate(self, rate: float) -> Workload:
        """The same requests, `rate` of them a second on average: their times are stretched and nothing else, so
        that two rates are compared on common random numbers. inf: all at once.

        Raises ValueError for a rate that is not above 0, fewer than 2 requests, all at one time, or a closed loop.
        """
        if math.isnan(rate) or rate <= 0:
            raise ValueError(f"rate is {rate} requests per second; it must be above 0")
        if any(r.follows is not None for r in self.requests):
            raise ValueError(f"workload {self.name!r} is a closed loop; its rate is what its users make it")
        first, last = self.requests[0].arrival, self.requests[-1].arrival
        if not last > first:
            raise ValueError(f"workload {self.name!r} has all its requests at one time; that is no rate to change")
        factor = (len(self.requests) - 1) / rate / (last - first)
        stretched = (replace(r, arrival=(r.arrival - first) * factor) for r in self.requests)
        return replace(self, requests=tuple(stretched))
