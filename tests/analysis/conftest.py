"""Hand-written lanes: what the columns say is written down here, never computed by the loop under test."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest

from lab.engine.scripted import ScriptedExecutor
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.run.record import Columns, LaneRecord, Provenance, RowFact, RunRecord
from lab.scheduling.policy import Policy, mode
from lab.workload.request import Request, Workload

PROVENANCE = Provenance(
    kind="measured",
    model="hand-written",
    revision="1",
    dtype="float32",
    device="paper",
    threads=1,
    versions=(),
    commit="",
    created="2026-01-01T00:00:00+00:00",
    weight_bytes=1_000_000,
    kv_bytes_per_token=100,
)


class HandStep(NamedTuple):
    """A run of equal steps; `tokens[k]` are those of step k, one per row; none where they are only predicted."""

    start: float
    seconds: tuple[float, ...]
    rows: tuple[RowFact, ...]
    tokens: tuple[tuple[int, ...], ...] = ()
    group: int = 0
    reserved: int = 0
    cold: bool = False
    kernel_padding: int = 0


def row(request: int, past: int, *, fed: int = 1, live: bool = True, padded_to: int | None = None) -> RowFact:
    """A row whose slot is the request's number."""
    return RowFact(request, request, fed, past, padded_to or fed, live)


def lane_of(
    policy: Policy, steps: Sequence[HandStep], *, groups=1, kv_budget=10_000, refused=(), stop_ids=()
) -> LaneRecord:
    rows = [r for s in steps for r in s.rows]
    columns = Columns(
        start=tuple(s.start for s in steps),
        repeat=tuple(len(s.seconds) for s in steps),
        group=tuple(s.group for s in steps),
        reason=("no_window",) * len(steps),
        cold=tuple(s.cold for s in steps),
        kernel_padding=tuple(s.kernel_padding for s in steps),
        kv_reserved=tuple(s.reserved for s in steps),
        rows=tuple(len(s.rows) for s in steps),
        seconds=tuple(x for s in steps for x in s.seconds),
        slot=tuple(r.slot for r in rows),
        request=tuple(r.request for r in rows),
        fed=tuple(r.fed for r in rows),
        past=tuple(r.past for r in rows),
        padded_to=tuple(r.padded_to for r in rows),
        live=tuple(r.live for r in rows),
        token=tuple(t for s in steps for tokens in s.tokens for t in tokens),
    )
    return LaneRecord(policy, groups, kv_budget, tuple(refused), columns, tuple(stop_ids))


def workload_of(outputs, *, arrivals=None, prompts=None, new=None, follows=None, texts=None) -> Workload:
    """Requests with these answer lengths (None: unknown), prompt lengths (default 3) and arrivals (default 0)."""
    n = len(outputs)
    return Workload(
        "hand-written",
        tuple(
            Request(
                i,
                (arrivals or [0.0] * n)[i],
                new or outputs[i],
                prompt=(texts or [""] * n)[i],
                prompt_ids=(1,) * (prompts or [3] * n)[i],
                output_tokens=outputs[i],
                follows=(follows or [None] * n)[i],
            )
            for i in range(n)
        ),
    )


def record_of(workload: Workload, *lanes: LaneRecord, **known) -> RunRecord:
    """`known` are fields of the provenance or of the record."""
    source = {k: v for k, v in known.items() if k not in ("logit_gaps", "token_bytes")}
    rest = {k: v for k, v in known.items() if k in ("logit_gaps", "token_bytes")}
    return RunRecord(replace(PROVENANCE, **source), workload, lanes, **rest)


def padded_batch(outputs: Sequence[int], *, start=0.0, seconds=1.0, prompt=3, ids=None) -> list[HandStep]:
    """A static batch by hand: one step with all prompts, then one for each further token of the longest answer."""
    ids = list(ids or range(len(outputs)))
    reserved = len(ids) * (prompt + max(outputs))
    steps = []
    for k in range(max(outputs)):
        rows = tuple(
            row(i, 0, fed=prompt) if k == 0 else row(i, prompt + k - 1, live=k < n)
            for i, n in zip(ids, outputs, strict=True)
        )
        tokens = (tuple(100 * i + k for i in ids),)
        steps.append(HandStep(start + k * seconds, (seconds,), rows, tokens, reserved=reserved))
    return steps


def stream(token_times: Sequence[float], *, request=0, start=0.0, prompt=3, reserved=0) -> list[HandStep]:
    """A request alone on the device, its tokens out at these times."""
    begins = [start, *token_times[:-1]]
    return [
        HandStep(
            a,
            (b - a,),
            (row(request, 0, fed=prompt) if k == 0 else row(request, prompt + k - 1),),
            ((100 * request + k,),),
            reserved=reserved,
        )
        for k, (a, b) in enumerate(zip(begins, token_times, strict=True))
    ]


def run_lane(policy: Policy, workload: Workload, seconds, *, many=False, kv_budget=10_000, groups=1) -> LaneRecord:
    """The real loop on a scripted device; `seconds(step)` is a step's duration."""
    lane = Lane(
        policy, workload, ScriptedExecutor(seconds, many=many), kv_budget=kv_budget, context=10_000, groups=groups
    )
    to_the_end([lane])
    return lane.record()


@pytest.fixture(scope="session")
def by_hand():
    """The helpers above, as one value."""

    class Helpers:
        pass

    Helpers.row = staticmethod(row)
    Helpers.step = HandStep
    Helpers.lane = staticmethod(lane_of)
    Helpers.workload = staticmethod(workload_of)
    Helpers.record = staticmethod(record_of)
    Helpers.padded_batch = staticmethod(padded_batch)
    Helpers.stream = staticmethod(stream)
    Helpers.run = staticmethod(run_lane)
    Helpers.mode = staticmethod(mode)
    return Helpers
