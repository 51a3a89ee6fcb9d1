"""What Python hands to the stage."""

import json
from dataclasses import replace

from lab.engine.scripted import ScriptedExecutor
from lab.report.stage_data import whole
from lab.report.stage_payload import Knob, Source, stage_payload
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.run.record import Provenance, RunRecord
from lab.scheduling.policy import MODES, mode
from lab.workload.request import Request, Workload

WORKLOAD = Workload(
    "w", tuple(Request(i, 0.0, 3, prompt=f"p{i}", prompt_ids=(1, 2), output_tokens=3) for i in (0, 1))
)


def record() -> RunRecord:
    lanes = [
        Lane(mode(name, 2), WORKLOAD, ScriptedExecutor(lambda step: 0.5), kv_budget=50, context=99)
        for name in MODES
    ]
    to_the_end(lanes)
    provenance = Provenance(
        kind="measured", model="m", revision="", dtype="", device="", threads=1, versions=(), commit="",
        created="", weight_bytes=1, kv_bytes_per_token=10,
    )  # fmt: skip
    made = RunRecord(provenance, WORKLOAD, tuple(lane.record() for lane in lanes))
    tokens = {token for lane in made.lanes for token in lane.columns.token}
    return replace(made, token_bytes=tuple((t, "61") for t in sorted({*tokens, 1, 2})))


def test_a_whole_record_is_strict_json_without_prompt_ids():
    made = whole(record())
    text = json.dumps(made, allow_nan=False)
    assert "prompt_ids" not in text
    assert made["lanes"][1]["policy"]["max_queue_delay"] is None
    assert made["lanes"][3]["columns"]["start"] == record().lanes[3].columns.start


def test_only_tokens_of_answers_come_with_their_text():
    made = whole(record())
    answered = {token for lane in record().lanes for token in lane.columns.token}
    assert {token for token, _ in made["tokens"]} == answered


def test_a_source_without_a_record_is_fetched_from_its_route():
    made = stage_payload([Source("abc", situation="chat"), Source("def", record())], "en")
    assert made["runs"][0] == {"id": "abc", "situation": "chat", "url": "/api/run/abc"}
    assert "url" not in made["runs"][1]


def test_lanes_may_come_from_several_runs():
    made = stage_payload([Source("a"), Source("b")], "en", lanes=[("a", "none"), ("b", "dynamic")])
    assert made["lanes"] == [{"run": "a", "lane": "none"}, {"run": "b", "lane": "dynamic"}]


def test_knobs_come_with_a_revision_and_none_means_no_limit():
    made = stage_payload([], "en", knobs=[Knob("kv_budget_mb", (1.0, 10.0, None), None)], revision="7")
    assert made["knobs"] == {
        "revision": "7",
        "items": [{"name": "kv_budget_mb", "stops": [1.0, 10.0, None], "value": None, "lanes": list(MODES)}],
    }
    assert stage_payload([], "en")["knobs"] is None


def test_the_same_arguments_give_the_same_payload_so_that_nothing_is_sent_twice():
    assert stage_payload([Source("a", record())], "zh") == stage_payload([Source("a", record())], "zh")
