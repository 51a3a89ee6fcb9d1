"""When each request of a lane arrived, was first computed, and got each of its tokens.

Derived from a workload and a lane's columns alone; works on a run in progress. Knows no averages.
All times are seconds since the lane's start; the first token comes at the end of the step that computed
the prompt. A token counts as a token whatever text it makes, the empty text included.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from lab.run.record import LaneRecord, Run
from lab.workload.request import Request, Workload

Status = Literal["finished", "refused", "unfinished"]


@dataclass(frozen=True, slots=True)
class RequestTimes:
    """One request in one lane; what has not happened is None.

    arrival          as scheduled, never as sent; in a closed loop think time after the answer before,
                     None until that has ended
    first_scheduled  start of the step that computed the prompt
    token_times      when each token was there
    """

    id: int
    status: Status
    arrival: float | None
    first_scheduled: float | None
    token_times: tuple[float, ...]

    @property
    def tokens(self) -> int:
        return len(self.token_times)

    @property
    def first_token(self) -> float | None:
        return self.token_times[0] if self.token_times else None

    @property
    def last_token(self) -> float | None:
        """The latest so far; the last one of all when `status` is "finished"."""
        return self.token_times[-1] if self.token_times else None

    @property
    def queue_delay(self) -> float | None:
        return _between(self.arrival, self.first_scheduled)

    @property
    def ttft(self) -> float | None:
        """Time to first token, from the scheduled arrival."""
        return _between(self.arrival, self.first_token)

    @property
    def e2e(self) -> float | None:
        """End to end: last token minus scheduled arrival; None unless finished."""
        return _between(self.arrival, self.last_token) if self.status == "finished" else None

    @property
    def tpot(self) -> float | None:
        """Time per output token after the first: (E2E - TTFT) / (n - 1); None for one token or unfinished."""
        if self.status != "finished" or self.tokens < 2:
            return None
        return (self.token_times[-1] - self.token_times[0]) / (self.tokens - 1)

    @property
    def gaps(self) -> tuple[float, ...]:
        """Inter-token latencies; the first token's own wait is TTFT and not among them."""
        return tuple(b - a for a, b in pairwise(self.token_times))


def request_times(workload: Workload, lane: LaneRecord) -> tuple[RequestTimes, ...]:
    """One entry per request of the workload, by id."""
    runs = tuple(lane.runs())
    scheduled, tokens = _served(runs)
    stopped = _stopped(lane)
    refused = {number for number, _ in lane.refused}
    made: list[RequestTimes] = []
    for r in workload.requests:
        times = tuple(tokens.get(r.id, ()))
        status: Status = "unfinished"
        if r.id in refused:
            status = "refused"
        elif times and (len(times) >= _longest(r) or (r.output_tokens is None and r.id in stopped)):
            status = "finished"
        made.append(RequestTimes(r.id, status, _arrival(r, made), scheduled.get(r.id), times))
    return tuple(made)


def _served(runs: Iterable[Run]) -> tuple[dict[int, float], dict[int, list[float]]]:
    """By request: start of its prompt's step, and the time of each token. Rows of the dead emit nothing."""
    scheduled: dict[int, float] = {}
    tokens: dict[int, list[float]] = {}
    for run in runs:
        ends = run.ends
        for row in run.rows:
            if row.prefill:
                scheduled.setdefault(row.request, run.start)
            if row.live:
                tokens.setdefault(row.request, []).extend(ends)
    return scheduled, tokens


def _stopped(lane: LaneRecord) -> set[int]:
    """Requests whose latest token is one that ends an answer."""
    ends = set(lane.stop_ids)
    return {number for number, tokens in lane.answers().items() if tokens[-1] in ends} if ends else set()


def _longest(request: Request) -> int:
    return request.max_new_tokens if request.output_tokens is None else request.output_tokens


def _arrival(request: Request, earlier: list[RequestTimes]) -> float | None:
    if request.follows is None:
        return request.arrival
    before = earlier[request.follows]
    ended = {"finished": before.last_token, "refused": before.arrival, "unfinished": None}[before.status]
    return None if ended is None else ended + request.arrival


def _between(earlier: float | None, later: float | None) -> float | None:
    return None if earlier is None or later is None else later - earlier
