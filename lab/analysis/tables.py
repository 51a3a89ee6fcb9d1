"""A record as flat tables, one row a lane and one row a request (a row a step: lab.analysis.steps), and as CSV
that spreadsheets read.

Column names end in their unit: _s seconds, _bytes, _per_s; shares are between 0 and 1; the rest are counts.
What is undefined is None, an empty cell. Every table says under what it was made (lab.analysis.facts): in each row
of the metrics, else in the first row of each lane, which keeps long files short. docs/data.md lists all columns.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import fields

from lab.analysis.answers import answer_texts
from lab.analysis.distribution import Summary
from lab.analysis.facts import FACTS_COLUMNS, Cell, lane_facts
from lab.analysis.fairness import starved
from lab.analysis.metrics import LaneMetrics, Slo, lane_metrics
from lab.analysis.timeline import RequestTimes, request_times
from lab.run.record import LaneRecord, RunRecord
from lab.scheduling.order import bucket_name, bucket_of

Table = list[dict[str, Cell]]

METRICS_COLUMNS = {
    "lane": "name of the mode",
    **FACTS_COLUMNS,
    "starved": "requests passed over for longer than the limit (of the knobs, or else of the usual ageing)",
}
"""The columns that come before those of LaneMetrics; each of its summaries gives six, such as ttft_p50_s."""

REQUESTS_COLUMNS = {
    "lane": "name of the mode",
    "request": "id, in order of arrival",
    "status": "finished, refused or unfinished",
    "arrival_s": "as scheduled, from the start of the run",
    "first_scheduled_s": "start of the step that computed the prompt",
    "first_token_s": "end of that step",
    "last_token_s": "the latest token so far",
    "queue_delay_s": "first scheduled - arrival",
    "ttft_s": "first token - arrival",
    "tpot_s": "(last token - first token) / (tokens - 1); empty for one token",
    "e2e_s": "last token - arrival; empty unless finished",
    "prompt_tokens": "tokens fed, chat template included",
    "tokens": "tokens given so far",
    "max_new_tokens": "the most that the request accepts",
    "priority": "a lower number runs sooner",
    "bucket": "range of prompt tokens of its length bucket",
    "starved": "passed over for longer than the limit",
    "follows": "the request whose answer it waited for; empty in an open loop",
    "refusal": "why it was refused",
    "prompt": "as typed",
    "answer": "the text so far",
    **FACTS_COLUMNS,
}

_UNITS = {
    "ttft": "_s",
    "tpot": "_s",
    "itl": "_s",
    "e2e": "_s",
    "queue_delay": "_s",
    "makespan": "_s",
    "throughput": "_tokens_per_s",
    "user_speed": "_tokens_per_s",
    "goodput": "_requests_per_s",
}


def metrics_table(record: RunRecord, slo: Slo | None = None) -> Table:
    """One row a lane: see METRICS_COLUMNS, then its LaneMetrics, flat."""
    return [_known(record, lane) | flat_metrics(lane_metrics(record, lane, slo)) for lane in record.lanes]


def _known(record: RunRecord, lane: LaneRecord) -> dict[str, Cell]:
    hungry = len(starved(lane, request_times(record.workload, lane)))
    return {"lane": lane.name} | lane_facts(record, lane) | {"starved": hungry}


def flat_metrics(metrics: LaneMetrics) -> dict[str, Cell]:
    """Metrics as one flat row; a summary's statistics become columns, its n without a unit."""
    row: dict[str, Cell] = {}
    for field in fields(metrics):
        value, unit = getattr(metrics, field.name), _UNITS.get(field.name, "")
        if isinstance(value, Summary):
            for part in fields(value):
                suffix = "" if part.name == "n" else unit
                row[f"{field.name}_{part.name}{suffix}"] = getattr(value, part.name)
        else:
            row[f"{field.name}{unit}"] = value
    return row


def requests_table(record: RunRecord) -> Table:
    """One row for each request of each lane; see REQUESTS_COLUMNS."""
    return [row for lane in record.lanes for row in _lane_requests(record, lane)]


def csv_text(table: Sequence[Mapping[str, Cell]]) -> str:
    """CSV with a header, "\\n" line ends and full precision; an empty table is an empty text.

    Text that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    if not table:
        return ""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(table[0]), lineterminator="\n")
    writer.writeheader()
    for row in table:
        writer.writerow({name: _safe(value) for name, value in row.items()})
    return out.getvalue()


def _safe(value: Cell) -> Cell:
    if isinstance(value, str) and value.lstrip().startswith(("=", "+", "-", "@")):
        return "'" + value
    return value


def _lane_requests(record: RunRecord, lane: LaneRecord) -> Table:
    refusals, answers = dict(lane.refused), answer_texts(record, lane)
    times = request_times(record.workload, lane)
    hungry = starved(lane, times)
    rows = [_request_row(record, lane, r, r.id in hungry, refusals.get(r.id), answers.get(r.id)) for r in times]
    return with_facts(rows, record, lane)


def with_facts(rows: Table, record: RunRecord, lane: LaneRecord) -> Table:
    """The rows of one lane, the first of which says under what it ran."""
    return [row | (dict.fromkeys(FACTS_COLUMNS) if i else lane_facts(record, lane)) for i, row in enumerate(rows)]


def _request_row(
    record: RunRecord, lane: LaneRecord, r: RequestTimes, hungry: bool, refusal: str | None, answer: str | None
) -> dict[str, Cell]:
    request, edges = record.workload.requests[r.id], lane.policy.order.boundaries
    cells: tuple[Cell, ...] = (
        lane.name,
        r.id,
        r.status,
        r.arrival,
        r.first_scheduled,
        r.first_token,
        r.last_token,
        r.queue_delay,
        r.ttft,
        r.tpot,
        r.e2e,
        request.prompt_tokens,
        r.tokens,
        request.max_new_tokens,
        request.priority,
        bucket_name(bucket_of(request.prompt_tokens, edges), edges),
        hungry,
        request.follows,
        refusal,
        request.prompt,
        answer,
    )
    return dict(zip(REQUESTS_COLUMNS, cells, strict=False))  # those of the lane follow
