"""A record as a table with one row a step of each lane: what the device was asked, and how long it took."""

from __future__ import annotations

from lab.analysis.facts import FACTS_COLUMNS, Cell
from lab.analysis.tables import Table, with_facts
from lab.run.record import LaneRecord, Run, RunRecord

STEPS_COLUMNS = {
    "lane": "name of the mode",
    "step": "number of the step in its lane, from 0",
    "start_s": "when it began, from the start of the run",
    "duration_s": "how long the device computed",
    "group": "which replica of the model computed it, from 0",
    "reason": "of the decision behind it",
    "cold": "in a shape that the device had not seen before: its time includes set-up",
    "rows": "rows computed",
    "live_rows": "rows of unfinished requests: each gave a token",
    "prompts": "requests whose prompt was computed",
    "positions": "token positions computed, padding included",
    "padding": "positions that are padding",
    "kernel_padding": "positions computed only because kernels round lengths",
    "cached": "KV tokens that live rows held before the step",
    "kv_reserved": "KV tokens that the group had reserved",
    "requests": "ids of the requests computed, in order of slots",
    **FACTS_COLUMNS,
}


def steps_table(record: RunRecord) -> Table:
    """One row for each step of each lane; see STEPS_COLUMNS."""
    return [row for lane in record.lanes for row in with_facts(_steps(lane), record, lane)]


def _steps(lane: LaneRecord) -> Table:
    rows: Table = []
    for run in lane.runs():
        starts = (run.start, *run.ends)
        rows += [_row(lane, run, k, len(rows) + k, starts[k]) for k in range(len(run.seconds))]
    return rows


def _row(lane: LaneRecord, run: Run, k: int, number: int, start: float) -> dict[str, Cell]:
    """Step `k` of a run; each live row has cached one token more in each step."""
    live = [row for row in run.rows if row.live]
    cells: tuple[Cell, ...] = (
        lane.name,
        number,
        start,
        run.seconds[k],
        run.group,
        run.reason,
        run.cold,
        len(run.rows),
        len(live),
        sum(row.prefill for row in run.rows),
        sum(row.padded_to for row in run.rows),
        sum(row.padded_to - row.fed for row in run.rows),
        run.kernel_padding,
        sum(row.past + k for row in live),
        run.kv_reserved,
        " ".join(str(row.request) for row in run.rows),
    )
    return dict(zip(STEPS_COLUMNS, cells, strict=False))  # those of the lane follow
