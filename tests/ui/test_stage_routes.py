"""The route that the stage asks, on a job that is no real one."""

import json
from dataclasses import replace

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from lab.run.column_log import Mark
from lab.run.job import Progress
from lab.run.lanes import RunSpec
from lab.run.line import State, Why
from lab.run.record import Columns, LaneRecord, Provenance, RunRecord
from lab.run.visitors import Look
from lab.scheduling.policy import mode
from lab.ui.routes import MOST_PER_SECOND, RUNNING_MS, Audience, read_marks, run_answer, run_route
from lab.workload.request import Request, Workload

STEPS = Columns(
    start=(0.0, 1.0), repeat=(1, 1), group=(0, 0), reason=("no_window", "batch_runs"), cold=(True, False),
    kernel_padding=(0, 0), kv_reserved=(5, 5), rows=(1, 1), seconds=(1.0, 0.5), slot=(0, 0), request=(0, 0),
    fed=(3, 1), past=(0, 3), padded_to=(3, 1), live=(True, True), token=(7, 8),
)  # fmt: skip
PROVENANCE = Provenance(
    kind="measured", model="m", revision="1", dtype="float32", device="cpu", threads=1, versions=(), commit="",
    created="2026-01-01T00:00:00+00:00", weight_bytes=1, kv_bytes_per_token=10, reference_step_s=(0.02,),
)  # fmt: skip
WORKLOAD = Workload("test", (Request(0, 0.0, 2, prompt="hi", prompt_ids=(1, 2, 3), output_tokens=2),))
RECORD = RunRecord(PROVENANCE, WORKLOAD, (LaneRecord(mode("none"), 1, 100), LaneRecord(mode("static", 4), 1, 100)))
SPEC = RunSpec(WORKLOAD, (mode("none"),))


class FakeRuns:
    """One run, "job"; `steps` of its first lane are there, none of its second."""

    def __init__(self, state=State.RUNNING, record=RECORD, steps=2, **look):
        self.look_now = Look("job", "me", SPEC, state, 0, False, None, None, "", record)
        self.look_now = replace(self.look_now, **look)
        self.steps = steps

    def look(self, job_id):
        return self.look_now if job_id == "job" else None

    def since(self, job_id, marks=()):
        mark = [*marks, Mark()][0].runs
        first = Columns(*(tuple(getattr(STEPS, name)[mark : self.steps]) for name in STEPS.__dataclass_fields__))
        return (first, Columns())


def client(runs, token_bytes=None):
    return TestClient(Starlette(routes=[run_route(lambda: runs, lambda job_id: token_bytes)]))


def test_an_asker_without_marks_gets_the_head_and_all_columns():
    answer = client(FakeRuns()).get("/api/run/job?since=").json()
    assert answer["state"] == "running"
    assert answer["over"] is False
    assert [lane["policy"]["name"] for lane in answer["head"]["lanes"]] == ["none", "static"]
    assert answer["head"]["workload"]["requests"][0]["prompt_tokens"] == 3
    assert answer["lanes"][0]["from"] == [0, 0, 0, 0]
    assert answer["lanes"][0]["columns"]["token"] == [7, 8]
    assert answer["lanes"][1]["columns"]["start"] == []


def test_an_asker_with_marks_gets_what_it_lacks_and_no_head():
    answer = client(FakeRuns()).get("/api/run/job?since=1.1.1.1,0.0.0.0").json()
    assert answer["head"] is None
    assert answer["lanes"][0]["from"] == [1, 1, 1, 1]
    assert answer["lanes"][0]["columns"]["start"] == [1.0]


def test_an_unlimited_window_is_null_in_strict_json():
    text = client(FakeRuns()).get("/api/run/job").text
    assert "Infinity" not in text
    assert json.loads(text)["head"]["lanes"][1]["policy"]["max_queue_delay"] is None


def test_before_the_lanes_have_started_there_are_none():
    progress = Progress("lengths", 2, 16)
    answer = client(FakeRuns(State.RUNNING, None, progress=progress)).get("/api/run/job").json()
    assert answer["head"] is None
    assert answer["lanes"] == []
    assert answer["progress"] == {"phase": "lengths", "done": 2, "total": 16}


def test_a_waiting_run_is_asked_for_once_a_second_and_says_its_place():
    answer = client(FakeRuns(State.WAITING, None, place=3)).get("/api/run/job").json()
    assert answer["position"] == 3
    assert answer["poll_ms"] == 1000


def test_a_failed_run_says_why():
    runs = FakeRuns(State.FAILED, None, why=Why.ENGINE_DIED, detail="signal 9")
    answer = client(runs).get("/api/run/job").json()
    assert answer["over"] is True
    assert answer["error"] == {"why": "engine_died", "detail": "signal 9"}


def test_over_is_asked_before_the_columns_so_that_the_tail_is_never_missing():
    asked = []
    runs = FakeRuns()
    look, since = runs.look, runs.since
    runs.look = lambda job_id: asked.append("look") or look(job_id)
    runs.since = lambda job_id, marks=(): asked.append("since") or since(job_id, marks)
    run_answer(runs, "job", [])
    assert asked == ["look", "since"]


def test_tokens_of_new_columns_come_with_their_bytes_and_at_the_end_all_of_the_record():
    runs = FakeRuns()
    answer = client(runs, lambda token: f"<{token}>".encode()).get("/api/run/job?since=1.1.1.1").json()
    assert answer["tokens"] == [[8, b"<8>".hex()]]
    done = replace(RECORD, token_bytes=((7, "61"), (8, "62")))
    ended = client(FakeRuns(State.FINISHED, done)).get("/api/run/job?since=2.2.2.2").json()
    assert ended["tokens"] == [[7, "61"], [8, "62"]]


def test_an_unknown_run_is_a_404_in_json():
    response = client(FakeRuns()).get("/api/run/other")
    assert response.status_code == 404
    assert response.json()["state"] == "unknown"
    assert response.headers["content-type"].startswith("application/json")


def test_answers_are_never_kept_by_a_browser():
    assert client(FakeRuns()).get("/api/run/job").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "since", ["1", "1.2.3", "1.2.3.x", "-1.0.0.0", "1.1.1.1e9", "9999999999.0.0.0", "0.0.0.0," * 20]
)
def test_a_mark_that_is_none_is_refused(since):
    with pytest.raises(ValueError, match="mark"):
        read_marks(since)
    assert client(FakeRuns()).get("/api/run/job", params={"since": since}).status_code == 400


def test_one_viewer_may_ask_eight_times_a_second_and_many_share_sixteen():
    now = [0.0]
    audience = Audience(lambda: now[0])
    assert audience.pause_ms("a", waiting=False) == RUNNING_MS <= 125
    for i in range(31):
        pause = audience.pause_ms(f"viewer {i}", waiting=False)
    assert 32 * 1000 / pause == pytest.approx(MOST_PER_SECOND)
    now[0] = 11.0
    assert audience.pause_ms("a", waiting=False) == RUNNING_MS


def test_however_many_say_they_watch_nobody_waits_longer_than_four_seconds():
    audience = Audience(now=lambda: 0.0)
    for i in range(2000):
        pause = audience.pause_ms(f"v{i}", waiting=False)
    assert pause == 4000
    assert audience.pause_ms("honest", waiting=False) == 4000
