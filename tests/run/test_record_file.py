"""A record leaves as strict JSON and comes back equal; what is not a record is refused with a sentence."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.run.record import Provenance, RunRecord
from lab.run.record_file import from_json, load, save, to_json
from lab.scheduling.order import FIRST_COME, Order
from lab.scheduling.policy import MODES, mode


def provenance(**changes) -> Provenance:
    facts = {
        "kind": "measured",
        "model": "m",
        "revision": "r",
        "dtype": "fp32",
        "device": "a CPU",
        "threads": 2,
        "versions": (("torch", "2"),),
        "commit": "abc",
        "created": "2026-01-01T00:00:00+00:00",
        "weight_bytes": 10,
        "kv_bytes_per_token": 2,
        "reference_step_s": (0.1, 0.2),
    }
    return Provenance(**{**facts, **changes})


@pytest.fixture
def record(lanes) -> RunRecord:
    work = lanes.workload([2, 3, 200], prompts=[3, 5, 900])
    each = tuple(lanes.run(mode(name, 2), work, kv_budget=1000).record() for name in MODES)
    return RunRecord(provenance(), work, each, logit_gaps=((1, 0.5),), token_bytes=((7, "c3a9"),))


def test_a_record_comes_back_equal_with_its_endless_window_and_its_refusals(record):
    back = from_json(to_json(record))
    assert back == record
    assert back.lane("static").policy.max_queue_delay == math.inf
    assert back.lane("none").refused[0][0] == 2


def test_the_order_of_the_queue_comes_back_and_a_record_from_before_there_was_one_is_first_come(lanes):
    work = lanes.workload([2, 3])
    order = Order((128, 512), by_priority=True, ageing=None, bucket_wait_limit=0.5)
    lane = lanes.run(mode("dynamic", 2, order=order), work).record()
    record = RunRecord(provenance(), work, (lane,))
    assert from_json(to_json(record)) == record
    content = json.loads(to_json(record))
    del content["lanes"][0]["policy"]["order"]
    assert from_json(json.dumps(content)).lanes[0].policy.order == FIRST_COME


def test_the_file_is_strict_json(record):
    def refuse(name):
        raise AssertionError(f"{name} is not strict JSON")

    assert json.loads(to_json(record), parse_constant=refuse)["schema"] == 1


@settings(max_examples=30, deadline=None)
@given(
    outputs=st.lists(st.integers(1, 6), min_size=1, max_size=6),
    name=st.sampled_from(MODES),
    bandwidth=st.none() | st.floats(1, 1e12),
    text=st.text(max_size=20),
)
def test_any_run_survives_the_way_to_disk_and_back(outputs, name, bandwidth, text):
    from lab.engine.scripted import ScriptedExecutor
    from lab.run.lane import Lane
    from lab.run.race import to_the_end
    from lab.workload.request import Request, Workload

    requests = tuple(
        Request(i, i / 3, 9, prompt=text, prompt_ids=(1, 2), output_tokens=n) for i, n in enumerate(outputs)
    )
    work = Workload(text or "w", requests)
    lane = Lane(mode(name, 2), work, ScriptedExecutor(lambda step: 0.1), kv_budget=99, context=99)
    to_the_end([lane])
    record = RunRecord(provenance(read_bytes_per_s=bandwidth), work, (lane.record(),))
    assert from_json(to_json(record)) == record


def test_saving_and_loading_a_file_is_equality_and_leaves_no_part_behind(record, tmp_path):
    save(record, tmp_path / "record.json")
    assert load(tmp_path / "record.json") == record
    assert [p.name for p in tmp_path.iterdir()] == ["record.json"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a record"),
        ("[1, 2]", "schema 'list'"),
        ('{"schema": 99}', "schema 99; this version reads schema 1"),
        ('{"schema": 1}', "damaged"),
        ('{"schema": 1, "lanes": [{"policy": 3}]}', "damaged"),
    ],
)
def test_what_is_not_a_record_is_refused_with_a_sentence(text, says):
    with pytest.raises(ValueError, match=says):
        from_json(text)


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("seconds", [0.1], "differ in length"),
        ("rows", ["<script>"], "valid integer"),
        ("start", [None], "valid number"),
    ],
)
def test_damaged_columns_are_refused(record, column, value, says):
    content = json.loads(to_json(record))
    content["lanes"][0]["columns"][column] = value
    with pytest.raises(ValueError, match=says):
        from_json(json.dumps(content))


def test_a_row_for_an_unknown_request_is_refused(record):
    content = json.loads(to_json(record))
    content["lanes"][0]["columns"]["request"][0] = 17
    with pytest.raises(ValueError, match="a request that it does not list"):
        from_json(json.dumps(content))


def test_what_may_have_no_end_is_not_read():
    with pytest.raises(ValueError, match="it is no file"):
        load(Path("/dev/zero"))


def test_a_missing_file_is_one_sentence_with_its_name(tmp_path):
    with pytest.raises(ValueError, match=r"cannot read the record .*gone\.json"):
        load(tmp_path / "gone.json")
