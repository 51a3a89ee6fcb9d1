"""Which records are repeats, what differs in their settings, how far their numbers lie apart."""

from dataclasses import replace

import pytest

from lab.analysis.compare import Reading, difference, groups, reading, repeats, settings


@pytest.fixture
def record(by_hand):
    lane = by_hand.lane(by_hand.mode("static", 2), by_hand.padded_batch([1, 3]))
    return by_hand.record(by_hand.workload([1, 3]), lane)


def changed(record, **facts):
    return replace(record, provenance=replace(record.provenance, **facts))


def test_a_run_at_another_time_or_read_from_a_file_is_a_repeat(record, by_hand):
    later = changed(record, created="2026-02-01T00:00:00+00:00", reference_step_s=(0.2,), kind="recorded")
    slower = by_hand.lane(by_hand.mode("static", 2), by_hand.padded_batch([1, 3], seconds=2.0), kv_budget=10_500)
    assert repeats(record, later)
    assert repeats(record, replace(record, lanes=(slower,)))
    assert [len(group.records) for group in groups([record, later])] == [2]


def test_other_settings_requests_or_kinds_are_no_repeats(record, by_hand):
    others = [
        changed(record, dtype="bf16"),
        changed(record, kind="predicted"),
        changed(record, versions=(("torch", "3"),)),
        replace(record, workload=replace(record.workload, seed=1)),
        replace(record, lanes=(replace(record.lanes[0], policy=by_hand.mode("static", 3)),)),
        replace(record, lanes=(replace(record.lanes[0], kv_budget=5_000),)),
        replace(record, lanes=record.lanes * 2),
    ]
    assert [repeats(record, other) for other in others] == [False] * len(others)
    assert [group.label for group in groups([record, *others[:3]])] == ["A", "B", "C", "D"]


def test_settings_tell_what_differs(record, by_hand):
    other = changed(
        replace(record, lanes=(replace(record.lanes[0], policy=by_hand.mode("static", 4)),)), dtype="bf16"
    )
    found = {s.name: s for s in settings(groups([record, other]))}
    assert {name for name, s in found.items() if s.differs} == {"max_batch_size", "dtype"}
    assert found["max_batch_size"].values == (2, 4)
    assert found["requests"].values == ("2", "2")


def test_knobs_that_differ_between_lanes_are_told_lane_by_lane(by_hand):
    lanes = [by_hand.lane(by_hand.mode(name, 2), by_hand.stream([1.0])) for name in ("none", "static")]
    found = {s.name: s.values for s in settings(groups([by_hand.record(by_hand.workload([1]), *lanes)]))}
    assert found["max_batch_size"] == ((("none", 1), ("static", 2)),)
    assert found["groups"] == (1,)


def test_another_list_of_as_many_requests_is_a_difference(record, by_hand):
    requests = (replace(record.workload.requests[0], arrival=0.0, prompt="other"), record.workload.requests[1])
    other = replace(record, workload=replace(record.workload, requests=requests))
    found = {s.name: s for s in settings(groups([record, other]))}
    assert found["requests"].values == ("2 (A)", "2 (B)")


def test_a_reading_is_the_median_with_the_range_and_leaves_out_what_is_undefined():
    assert reading([3.0, None, 1.0, 2.0]) == Reading(2.0, 1.0, 3.0, 3)
    assert reading([None]) is None
    assert Reading(2.0, 1.0, 3.0, 3).spread == 1.0
    assert Reading(2.0, 2.0, 2.0, 1).spread is None


def test_a_difference_stands_beside_the_larger_spread():
    one, other = Reading(10.0, 9.0, 11.0, 3), Reading(12.0, 12.0, 12.0, 1)
    assert difference(other, one) == (pytest.approx(0.2), pytest.approx(0.2))
    assert difference(other, one).within_spread
    assert difference(Reading(13.0, 13.0, 13.0, 2), one).within_spread is False
    assert difference(Reading(2.0, 2.0, 2.0, 1), Reading(1.0, 1.0, 1.0, 1)) == (1.0, None)
    assert difference(one, None) is None
    assert difference(one, Reading(0.0, 0.0, 0.0, 2)) is None
