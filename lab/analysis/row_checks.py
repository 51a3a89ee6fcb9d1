"""Row by row: does each request's story in a lane's columns hang together? Used by lab.analysis.checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.run.record import LaneRecord, RowFact, Run
from lab.workload.request import Request, Workload


@dataclass(slots=True)
class _Story:
    """What has been seen of one request: where it sits, row-steps computed, tokens given, still alive."""

    slot: int
    group: int
    steps: int = 0
    tokens: int = 0
    live: bool = True


def check_rows(workload: Workload, lane: LaneRecord, runs: Sequence[Run]) -> None:
    """Each prompt is prefilled once and whole, each decode step feeds one token more, a row dies once, at
    its end, and stays on its slot; no step is empty of live rows, too wide, or uses a slot twice."""
    seen: dict[int, _Story] = {}
    for run in runs:
        slots = [row.slot for row in run.rows]
        assert len(set(slots)) == len(slots), f"a slot twice in the step at {run.start} s: {slots}"
        assert len(slots) <= lane.policy.max_batch_size, (
            f"{len(slots)} rows at {run.start} s; there are {lane.policy.max_batch_size} seats"
        )
        assert any(row.live for row in run.rows), f"the step at {run.start} s works for nobody"
        assert 0 <= run.group < lane.groups, f"group {run.group} of {lane.groups}"
        assert not run.prefill or len(run.seconds) == 1, f"a prompt computed {len(run.seconds)} times in a run"
        _check_rectangle(lane, run)
        for row in run.rows:
            _check_row(workload.requests[row.request], row, run, seen)


def _check_row(request: Request, row: RowFact, run: Run, seen: dict[int, _Story]) -> None:
    where = f"request {request.id} at {run.start} s"
    if row.prefill:
        assert request.id not in seen, f"{where}: prefilled a second time"
        assert row.fed == request.prompt_tokens, f"{where}: fed {row.fed} of {request.prompt_tokens} prompt tokens"
        seen[request.id] = _Story(row.slot, run.group)
    assert request.id in seen, f"{where}: decoded before its prompt was computed"
    story = seen[request.id]
    assert (row.slot, run.group) == (story.slot, story.group), f"{where}: moved to another seat or group"
    if not row.prefill:
        cached = request.prompt_tokens + story.steps - 1
        assert (row.fed, row.past) == (1, cached), f"{where}: fed {row.fed} after {row.past}, {cached} are cached"
    story.steps += len(run.seconds)
    _check_life(request, row, story, where, len(run.seconds))


def _check_life(request: Request, row: RowFact, story: _Story, where: str, steps: int) -> None:
    most = request.max_new_tokens if request.output_tokens is None else request.output_tokens
    if row.live:
        assert story.live, f"{where}: alive again after its end"
        story.tokens += steps
        assert story.tokens <= most, f"{where}: given {story.tokens} tokens, its answer has {most}"
        return
    story.live = False
    over = story.tokens == most if request.output_tokens is not None else story.tokens >= 1
    assert over, f"{where}: dead after {story.tokens} tokens, its answer has {most}"


def _check_rectangle(lane: LaneRecord, run: Run) -> None:
    """Padded prompts are as long as the longest of their step; otherwise a row costs what it feeds."""
    widest = max(row.fed for row in run.rows)
    for row in run.rows:
        width = widest if lane.policy.padded else row.fed
        assert row.padded_to == width, f"request {row.request} at {run.start} s: costs {row.padded_to}, not {width}"
