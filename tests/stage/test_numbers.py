"""The stage's numbers are those of lab.analysis, on the same record, at its end and on the way."""

import json
from dataclasses import replace

import pytest

from lab.analysis.answers import answer_texts
from lab.analysis.metrics import lane_metrics
from lab.analysis.series import lane_series
from lab.analysis.timeline import request_times
from lab.report.stage_data import chunk, head, whole
from lab.run.column_log import Mark
from lab.run.record import Columns, RunRecord
from lab.workload.request import Request, Workload

READ = """
async ({ answer, time }) => {
  const { RunData } = await import("/stage/run.js");
  const { metricsAt, waitingAt } = await import("/stage/metrics.js");
  const { textOf } = await import("/stage/answers.js");
  const run = new RunData("x");
  run.takeRecord(answer);
  return run.lanes.map((lane) => ({
    metrics: metricsAt(lane, time ?? Infinity),
    waiting: waitingAt(lane, time ?? Infinity).map((r) => r.id),
    used: [lane.kvUsed.times, lane.kvUsed.values],
    reserved: [lane.kvReserved.times, lane.kvReserved.values],
    requests: lane.requests.map((r) => ({
      arrival: r.arrival, scheduled: r.scheduled, times: r.times, finished: r.finished,
      text: textOf(r.tokens, run.pieces),
    })),
  }));
}
"""
SAME = {
    "throughput": lambda m: m.throughput,
    "tokens": lambda m: m.useful_tokens,
    "finished": lambda m: m.finished,
    "refused": lambda m: m.refused,
    "ttft_p50": lambda m: m.ttft.p50,
    "tpot_p50": lambda m: m.tpot.p50,
    "e2e_p99": lambda m: m.e2e.p99,
    "e2e_n": lambda m: m.e2e.n,
    "padding_waste": lambda m: m.padding_waste,
    "straggler_waste": lambda m: m.straggler_waste,
    "kv_peak_used": lambda m: m.kv_peak_used,
    "kv_peak_reserved": lambda m: m.kv_peak_reserved,
}


def read(page, record: RunRecord, time: float | None = None):
    return page.evaluate(READ, {"answer": json.loads(json.dumps(whole(record))), "time": time})


def same_numbers(page, record: RunRecord, time: float | None = None, shown: RunRecord | None = None) -> None:
    """The page reads `shown` up to `time`; Python reads `record`, which knows nothing of a step under way."""
    for lane, got in zip(record.lanes, read(page, shown or record, time), strict=True):
        expected = lane_metrics(record, lane)
        wrong = {k: (got["metrics"][k], f(expected)) for k, f in SAME.items() if got["metrics"][k] != f(expected)}
        if time is not None:
            wrong.pop("kv_peak_reserved", None)  # reserved when a step begins, not when it ends
        assert wrong == {}, lane.name


def cut(record: RunRecord, time: float) -> RunRecord:
    """The record as it was at a moment: whole runs of steps that had ended by then."""
    lanes = []
    for lane in record.lanes:
        runs = sum(run.ends[-1] <= time for run in lane.runs())
        rows, steps = sum(lane.columns.rows[:runs]), sum(lane.columns.repeat[:runs])
        cells = sum(r * n for r, n in zip(lane.columns.repeat[:runs], lane.columns.rows[:runs], strict=True))
        counts = dict(zip(Mark._fields, (runs, steps, rows, cells), strict=True))
        axis = {"seconds": "steps", "token": "tokens"}
        by_row = ("slot", "request", "fed", "past", "padded_to", "live")
        columns = {
            name: getattr(lane.columns, name)[: counts[axis.get(name, "rows" if name in by_row else "runs")]]
            for name in Columns.__dataclass_fields__
        }
        lanes.append(replace(lane, columns=Columns(**columns)))
    return replace(record, lanes=tuple(lanes))


def closed_loop() -> Workload:
    """Four users who ask three times each; one question is too long to be ever taken in."""
    requests = []
    for i in range(12):
        length = 900 if i == 5 else 10 + i
        follows = i - 4 if i >= 4 else None
        requests.append(
            Request(i, 0.05 * i if i < 4 else 0.2, 20, "", (1,) * length, output_tokens=3 + i, follows=follows)
        )
    return Workload("loop", tuple(requests))


@pytest.fixture
def page(harness):
    return harness()


def test_at_the_end_of_an_open_loop_run_all_numbers_are_equal(page, demo):
    same_numbers(page, demo)


def test_half_way_the_numbers_are_those_of_the_record_so_far(page, demo):
    for time in (0.4, 1.1, 2.5):
        same_numbers(page, cut(demo, time), time, shown=demo)


def test_a_record_in_progress_has_the_same_numbers_as_in_python(page, demo):
    same_numbers(page, cut(demo, 1.7))


def test_closed_loop_arrivals_refusals_and_several_groups_are_equal(page, records):
    same_numbers(page, records.make(closed_loop(), records.four(3), kv_budget=300))
    same_numbers(page, records.make(records.workload(30, 40.0), records.four(3), groups=2, kv_budget=2000))


@pytest.mark.parametrize("how", [{"scattered": True}, {"devices": 2}])
def test_a_scattered_batch_and_groups_on_several_devices_have_equal_numbers(page, records, how):
    same_numbers(page, records.make(records.workload(24, 30.0), records.four(3), groups=2, kv_budget=2000, **how))


def test_many_steps_in_one_run_are_the_same_as_single_ones(page, records):
    many = records.make(records.workload(16, 12.0), records.four(4), many=True, cost=lambda step: 0.03125)
    assert max(many.lanes[1].columns.repeat) > 1
    same_numbers(page, many)


def test_answers_that_end_by_themselves_end_at_their_stop_token(page, demo):
    """Made by hand: lengths unknown, and each answer's own last token is one that stops it."""
    free = replace(
        demo,
        workload=replace(
            demo.workload, requests=tuple(replace(r, output_tokens=None) for r in demo.workload.requests)
        ),
        lanes=tuple(
            replace(lane, stop_ids=tuple({tokens[-1] for tokens in lane.answers().values()})) for lane in demo.lanes
        ),
    )
    same_numbers(page, free)


def test_times_of_each_request_and_kv_series_are_equal(page, demo):
    for lane, got in zip(demo.lanes, read(page, demo), strict=True):
        times = request_times(demo.workload, lane)
        series = lane_series(demo.workload, lane)
        assert [r["times"] for r in got["requests"]] == [list(r.token_times) for r in times]
        assert [r["arrival"] for r in got["requests"]] == [r.arrival for r in times]
        assert [r["scheduled"] for r in got["requests"]] == [r.first_scheduled for r in times]
        assert steps_of(*got["used"]) == steps_of(*series.kv_used)
        assert steps_of(*got["reserved"]) == steps_of(*series.kv_reserved)


def steps_of(times, values):
    """Changes only: a moment at which nothing changes on balance may be listed or not."""
    return [(t, v) for t, v, before in zip(times, values, [0, *values], strict=False) if v != before]


def test_who_waits_at_a_moment_is_who_has_arrived_and_is_not_yet_computed(page, demo):
    for lane, got in zip(demo.lanes, read(page, demo, 1.0), strict=True):
        times = request_times(demo.workload, lane)
        expected = [
            r.id for r in times if r.arrival <= 1.0 and (r.first_scheduled is None or r.first_scheduled > 1.0)
        ]
        assert got["waiting"] == expected


def test_the_text_of_answers_is_equal_also_where_a_character_is_cut(page, demo):
    pieces = ["e4bd", "a0", b" ".hex(), "f09f", "9a8c", "41", "efbbbf", "ff"]
    odd = replace(demo, token_bytes=tuple((t, pieces[t % len(pieces)]) for t, _ in demo.token_bytes))
    for lane, got in zip(odd.lanes, read(page, odd), strict=True):
        texts = answer_texts(odd, lane)
        assert [r["text"] for r in got["requests"]] == [texts[r] for r in range(len(texts))]


def test_pulled_in_pieces_with_overlaps_a_lane_is_the_same_as_whole(page, demo):
    lane = demo.lanes[3]
    answers = [chunk(Mark(), cut(demo, t).lanes[3].columns) for t in (0.5, 0.9, 0.9, 3.0)]
    got = page.evaluate(
        """async ({ head, answers }) => {
          const { LaneData } = await import("/stage/lane.js");
          const lane = new LaneData(head.lanes[3], head.workload.requests);
          const results = answers.map(({ from, columns }) => lane.append(from, columns));
          results.push(lane.append([9999, 9999, 9999, 9999], answers[0].columns));
          return { results, start: lane.columns.start, token: lane.columns.token };
        }""",
        json.loads(json.dumps({"head": head(demo), "answers": answers})),
    )
    assert got["results"] == ["grown", "grown", "same", "grown", "gap"]
    whole_lane = cut(demo, 3.0).lanes[3].columns
    assert tuple(got["start"]) == whole_lane.start == lane.columns.start[: len(whole_lane.start)]
    assert tuple(got["token"]) == whole_lane.token
