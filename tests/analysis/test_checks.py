"""Every lane fulfils the identities, and every kind of corruption breaks one."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.analysis.checks import check_lane
from lab.run.record import Columns, LaneRecord
from lab.scheduling.policy import Policy, mode
from lab.workload.request import Request, Workload


@st.composite
def workloads(draw) -> Workload:
    """1 to 12 requests, some refused for their size, some following others."""
    n = draw(st.integers(1, 12))
    outputs = draw(st.lists(st.integers(1, 6), min_size=n, max_size=n))
    prompts = draw(st.lists(st.one_of(st.integers(1, 9), st.just(60)), min_size=n, max_size=n))
    arrivals = sorted(draw(st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.3, 4.0]), min_size=n, max_size=n)))
    follows = [draw(st.one_of(st.none(), st.integers(0, i - 1))) if i else None for i in range(n)]
    return Workload(
        "random",
        tuple(
            Request(
                i,
                arrivals[i],
                outputs[i] + i % 3,
                prompt_ids=(1,) * prompts[i],
                output_tokens=outputs[i],
                follows=follows[i],
            )
            for i in range(n)
        ),
    )


@st.composite
def policies(draw) -> Policy:
    """The four modes and hybrids of their knobs."""
    refill = draw(st.booleans())
    return Policy(
        "any",
        draw(st.integers(1, 5)),
        draw(st.sampled_from([0.0, 0.3, float("inf")])),
        refill=refill,
        padded=not refill and draw(st.booleans()),
        window_starts_at=draw(st.sampled_from(["arrival", "pickup"])),
        max_num_batched_tokens=draw(st.sampled_from([2048, 12, 3])),
        overtake_limit=draw(st.sampled_from([0.0, 1.0])),
    )


def duration(step) -> float:
    return 0.05 + 0.01 * sum(row.padded_to for row in step.rows)


@settings(max_examples=200)
@given(workloads(), policies(), st.booleans(), st.integers(1, 3), st.sampled_from([10_000, 40]))
def test_every_lane_fulfils_every_identity(by_hand, workload, policy, many, groups, kv_budget):
    lane = by_hand.run(policy, workload, duration, many=many, groups=groups, kv_budget=kv_budget)
    check_lane(workload, lane, complete=True)


@settings(max_examples=60)
@given(workloads(), policies(), st.integers(0, 30), st.integers(1, 2))
def test_every_run_in_progress_fulfils_them_too(by_hand, workload, policy, steps, groups):
    lane = by_hand.run(policy, workload, duration, groups=groups)
    check_lane(workload, first_steps(lane, steps))


def first_steps(lane: LaneRecord, steps: int) -> LaneRecord:
    """The record as it was after so many steps (one step a run)."""
    c = lane.columns
    rows = sum(c.rows[:steps])
    per_row = {"slot", "request", "fed", "past", "padded_to", "live", "token"}
    cut = {f: getattr(c, f)[: rows if f in per_row else steps] for f in Columns.__dataclass_fields__}
    return replace(lane, columns=Columns(**cut))


WORKLOAD = Workload(
    "sound",
    tuple(Request(i, 0.5 * (i // 3), 6, prompt_ids=(1,) * (3 + i), output_tokens=1 + i) for i in range(5)),
)


@pytest.fixture
def sound(by_hand):
    """Two sound lanes of the same five requests: a padded one and one with refill."""
    return {
        name: by_hand.run(mode(name, 2), WORKLOAD, lambda step: 0.25, kv_budget=40)
        for name in ("static", "continuous")
    }


def corrupt(lane: LaneRecord, column: str, at: int, value) -> LaneRecord:
    old = list(getattr(lane.columns, column))
    old[at] = value
    return replace(lane, columns=replace(lane.columns, **{column: tuple(old)}))


@pytest.mark.parametrize("name", ["static", "continuous"])
@pytest.mark.parametrize(
    ("column", "at", "value", "complaint"),
    [
        ("start", 1, 0.2, "the one before ended at"),
        ("start", 1, 0.3, "stood still|the one before ended at"),
        ("seconds", 0, -1.0, "a step of -1.0 s"),
        ("seconds", 2, float("nan"), "a step of"),
        ("kv_reserved", 0, 39, "39 tokens reserved at 0.0 s; the rows need"),
        ("request", 0, 4, "fed 3 of 7 prompt tokens"),
        ("past", 0, 1, "decoded before its prompt was computed"),
        ("fed", 0, 2, "fed 2 of 3 prompt tokens|costs"),
        ("padded_to", 0, 9, "costs 9"),
        ("live", 0, False, "dead after 0 tokens"),
        ("slot", 1, 0, "a slot twice|moved to another seat"),
        ("group", 0, 1, "group 1 of 1"),
    ],
)
def test_a_corrupted_column_is_noticed(sound, name, column, at, value, complaint):
    check_lane(WORKLOAD, sound[name], complete=True)
    with pytest.raises(AssertionError, match=complaint):
        check_lane(WORKLOAD, corrupt(sound[name], column, at, value), complete=True)


def test_a_second_prefill_is_noticed(sound):
    lane = sound["static"]
    decode = next(i for i, past in enumerate(lane.columns.past) if past)
    with pytest.raises(AssertionError, match="prefilled a second time"):
        check_lane(WORKLOAD, corrupt(lane, "past", decode, 0))


def test_a_token_skipped_is_noticed(sound):
    lane = sound["continuous"]
    decode = next(i for i, past in enumerate(lane.columns.past) if past)
    with pytest.raises(AssertionError, match="are cached"):
        check_lane(WORKLOAD, corrupt(lane, "past", decode, lane.columns.past[decode] + 1))


def test_a_row_that_lives_beyond_its_answer_is_noticed(sound):
    lane = sound["static"]
    dead = lane.columns.live.index(False)
    with pytest.raises(AssertionError, match="its answer has"):
        check_lane(WORKLOAD, corrupt(lane, "live", dead, True))


def test_a_step_before_the_arrival_is_noticed(sound):
    later = replace(
        WORKLOAD,
        requests=tuple(replace(r, arrival=r.arrival + 0.1 * (r.id > 0)) for r in WORKLOAD.requests),
    )
    with pytest.raises(AssertionError, match=r"request 1 computed at 0.0 s, it arrived at 0.1 s"):
        check_lane(later, sound["static"])


def test_a_missing_token_is_noticed(sound):
    lane = sound["static"]
    short = replace(lane, columns=replace(lane.columns, token=lane.columns.token[:-1]))
    with pytest.raises(AssertionError, match="row-steps"):
        check_lane(WORKLOAD, short)


def test_a_budget_overdrawn_is_noticed(sound):
    with pytest.raises(AssertionError, match="its budget is 10"):
        check_lane(WORKLOAD, replace(sound["static"], kv_budget=10))


def test_more_rows_than_seats_are_noticed(sound):
    with pytest.raises(AssertionError, match="there are 1 seats"):
        check_lane(WORKLOAD, replace(sound["static"], policy=mode("static", 1)))


def test_a_run_that_stopped_early_is_not_complete(sound):
    prefix = first_steps(sound["continuous"], 3)
    check_lane(WORKLOAD, prefix)
    with pytest.raises(AssertionError, match="the run is over and requests"):
        check_lane(WORKLOAD, prefix, complete=True)


def test_a_refused_request_that_was_computed_is_noticed(sound):
    with pytest.raises(AssertionError, match=r"refused and yet computed: \[0\]"):
        check_lane(WORKLOAD, replace(sound["static"], refused=((0, "too long"),)))


def test_a_seat_left_empty_while_somebody_waits_is_noticed(by_hand):
    """Three at once and two seats, but the lane computes one after the other."""
    workload = by_hand.workload([2, 2, 2])
    alone = [
        s
        for i in range(3)
        for s in by_hand.stream([2 * i + 1.0, 2 * i + 2.0], request=i, start=2.0 * i, reserved=5)
    ]
    check_lane(workload, by_hand.lane(mode("continuous", 1), alone), complete=True)
    with pytest.raises(AssertionError, match=r"1 free seats at 0.0 s and request 1, there since 0.0 s"):
        check_lane(workload, by_hand.lane(mode("continuous", 2), alone), complete=True)


def test_a_batch_that_runs_on_after_its_longest_answer_is_noticed(by_hand):
    steps = by_hand.padded_batch([1, 2])
    dead = tuple(r._replace(past=r.past + 1, live=False) for r in steps[-1].rows)
    steps.append(by_hand.step(2.0, (1.0,), dead, ((0, 0),), reserved=10))
    with pytest.raises(AssertionError, match="works for nobody"):
        check_lane(by_hand.workload([1, 2]), by_hand.lane(mode("static", 2), steps))


def test_a_lane_on_the_wall_clock_may_stand_still_between_steps(by_hand):
    steps = by_hand.stream([1.0, 2.0], reserved=5)
    late = [steps[0], steps[1]._replace(start=1.001)]
    lane = by_hand.lane(mode("none"), late)
    check_lane(by_hand.workload([2]), lane, gapless=False, complete=True)
    with pytest.raises(AssertionError, match="stood still"):
        check_lane(by_hand.workload([2]), lane, complete=True)
