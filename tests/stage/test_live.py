"""A run in progress: the page fetches what it lacks from the real route's function, and loses nothing."""

import threading
import time
from dataclasses import replace

import pytest

from lab.run.column_log import ColumnLog, Mark
from lab.run.job import Progress
from lab.run.lanes import RunSpec
from lab.run.line import State, Why
from lab.run.record import Columns, LaneRecord, RunRecord
from lab.run.visitors import Look


class GrowingRun:
    """A record that comes in piece by piece, as a device would hand it out; `advance` adds to every lane."""

    def __init__(self, record: RunRecord) -> None:
        self.record = record
        self.empty = replace(record, lanes=tuple(replace(lane, columns=Columns()) for lane in record.lanes))
        self.logs = [ColumnLog() for _ in record.lanes]
        self.state, self.place, self.progress, self.why = State.WAITING, 2, None, None
        self.lock = threading.Lock()

    def look(self, job_id):
        if job_id != "live":
            return None
        begun = self.state in (State.RUNNING, State.FINISHED) and self.progress is None
        record = self.record if self.state is State.FINISHED else self.empty if begun else None
        return Look(
            job="live",
            owner="me",
            spec=RunSpec(self.record.workload, tuple(lane.policy for lane in self.record.lanes)),
            state=self.state,
            place=self.place,
            stopping=False,
            progress=self.progress,
            why=self.why,
            detail="",
            record=record,
        )

    def since(self, job_id, marks=()):
        with self.lock:
            known = [*marks, *[Mark()] * (len(self.logs) - len(marks))]
            return tuple(log.since(mark) for log, mark in zip(self.logs, known, strict=True))

    def advance(self, runs: int) -> None:
        with self.lock:
            for lane, log in zip(self.record.lanes, self.logs, strict=True):
                log.extend(part(lane, log.mark, runs))

    def finish(self) -> None:
        self.advance(10**6)
        self.state = State.FINISHED


def part(lane: LaneRecord, mark: Mark, runs: int) -> Columns:
    """The next runs of a lane of single steps."""
    whole = ColumnLog()
    whole.extend(lane.columns)
    rest = whole.since(mark)
    rows = sum(rest.rows[:runs])
    by_run = ("start", "repeat", "group", "reason", "cold", "kernel_padding", "kv_reserved", "rows", "seconds")
    names = Columns.__dataclass_fields__
    return Columns(**{name: getattr(rest, name)[: runs if name in by_run else rows] for name in names})


@pytest.fixture
def live(harness, site, records, demo):
    site.runs, site.route_is_missing = GrowingRun(demo), False
    site.asked.clear()
    page = harness()
    data = records.data(None)
    data["runs"] = [{"id": "live", "url": "/api/run/live", "situation": "demo"}]
    page.evaluate("(data) => mountStage(data)", data)
    yield page, site.runs
    page.evaluate("unmount()")


def start(page, run) -> None:
    run.state, run.place = State.RUNNING, 0
    run.advance(3)
    page.wait_for_function("stage().shown.length === 4")


def test_before_it_begins_the_page_says_where_in_line_and_what_is_prepared(live):
    page, run = live
    page.get_by_text("In line: place 2.").wait_for()
    run.state, run.place, run.progress = State.RUNNING, 0, Progress("lengths", 3, 16)
    page.get_by_text("finding out how long the answers are: 3 of 16").wait_for()


def test_nothing_is_lost_or_taken_twice_and_the_end_is_reported_once(live, demo):
    page, run = live
    start(page, run)
    for _ in range(30):
        run.advance(4)
        time.sleep(0.02)
    run.finish()
    page.wait_for_function("told.triggers.length > 0")
    got = page.evaluate("stage().shown.map(({ lane }) => lane.columns)")
    for lane, columns in zip(demo.lanes, got, strict=True):
        assert columns == {name: list(getattr(lane.columns, name)) for name in columns}
    time.sleep(0.2)
    assert page.evaluate("told.triggers") == [["finished", "live"]]
    assert page.evaluate("stage().runs.get('live').faults") == 0
    assert page.evaluate("stage().counters.mounts") == 1


def test_while_it_runs_the_playhead_follows_its_end(live):
    page, run = live
    start(page, run)
    run.advance(20)
    page.wait_for_function("stage().player.end > 0.3 && stage().player.time === stage().player.end")
    assert page.get_by_role("button", name="Live").get_attribute("aria-pressed") == "true"
    page.keyboard.press("Escape")
    page.locator("canvas.cells").focus()
    page.keyboard.press("Home")
    run.advance(20)
    page.wait_for_function("stage().player.end > 0.6")
    assert page.evaluate("stage().player.time") == 0
    page.get_by_role("button", name="Live").click()
    page.wait_for_function("stage().player.time === stage().player.end")


def test_no_question_is_asked_after_the_end(live, site):
    page, run = live
    start(page, run)
    run.finish()
    page.wait_for_function("told.triggers.length > 0")
    asked = len(site.asked)
    time.sleep(0.3)
    assert len(site.asked) == asked


def test_a_missing_route_is_found_out_by_its_answer_and_reported(live, site):
    page, _ = live
    site.route_is_missing = True
    page.wait_for_function("told.triggers.length > 0")
    page.evaluate("mountStage(data)")
    page.wait_for_timeout(200)
    assert page.evaluate("told.triggers") == [["unreachable", "live"]], "once, or the page would rerun for ever"


def test_without_a_route_a_growing_record_may_be_handed_in(live, site, records, demo):
    page, run = live
    site.route_is_missing = True
    run.advance(30)
    so_far = replace(
        demo,
        lanes=tuple(replace(lane, columns=log.since()) for lane, log in zip(demo.lanes, run.logs, strict=True)),
    )
    for record, over in ((so_far, False), (demo, True)):
        data = records.data(record)
        data["runs"][0] |= {"id": "handed", "over": over}
        page.evaluate("(data) => mountStage(data)", data)
        page.wait_for_function(
            "(n) => stage().shown[1].lane.columns.start.length === n", arg=len(record.lanes[1].columns.start)
        )
    assert page.evaluate("stage().player.live") is False


def test_a_network_that_is_gone_for_a_while_loses_nothing(live, demo):
    page, run = live
    start(page, run)
    page.context.set_offline(True)
    run.advance(40)
    time.sleep(0.3)
    page.context.set_offline(False)
    run.finish()
    page.wait_for_function("told.triggers.length > 0")
    assert page.evaluate("stage().shown.map(({ lane }) => lane.columns.start.length)") == [
        len(lane.columns.start) for lane in demo.lanes
    ]
    page.faults.clear()  # the browser itself notes that it could not reach the server


def test_a_run_that_failed_says_why(live):
    page, run = live
    run.state, run.why = State.FAILED, Why.REPLACED
    page.get_by_text("a newer run took its place").wait_for()
    assert page.evaluate("told.triggers") == [["finished", "live"]]


def test_an_unknown_run_is_said_to_be_gone(live, records):
    page, _ = live
    data = records.data(None)
    data["runs"] = [{"id": "other", "url": "/api/run/other", "situation": ""}]
    page.evaluate("(data) => mountStage(data)", data)
    page.get_by_text("This run is no longer kept here.").wait_for()
    page.faults.clear()  # the browser itself notes the 404


def test_lanes_of_an_earlier_run_stay_until_the_new_one_has_begun_and_may_be_mixed_with_it(live, records, demo):
    page, run = live
    data = records.data(demo)
    data["runs"].append({"id": "live", "url": "/api/run/live", "situation": "demo"})
    data["lanes"] = [{"run": "demo", "lane": "none"}]
    page.evaluate("(data) => mountStage(data)", data | {"runs": data["runs"][:1]})
    page.wait_for_function("stage().shown.length === 1")
    data["lanes"].append({"run": "live", "lane": "dynamic"})
    page.evaluate("(data) => mountStage(data)", data)
    page.get_by_text("In line: place 2.").wait_for()
    assert page.evaluate("stage().shown.length") == 1
    run.state, run.place = State.RUNNING, 0
    run.advance(5)
    page.wait_for_function("stage().shown.length === 2")
    assert page.evaluate("stage().shown.map(({ run, lane }) => [run.id, lane.name])") == [
        ["demo", "none"],
        ["live", "dynamic"],
    ]
