"""The order of a queue at work in whole lanes, on a scripted device: nobody is lost or waits past the limit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.analysis.checks import check_lane
from lab.analysis.fairness import passed_over, starved
from lab.analysis.timeline import request_times
from lab.engine.scripted import ScriptedExecutor
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.run.record import LaneRecord
from lab.scheduling.order import Order, Waiting, bucket_of, effective_priority
from lab.scheduling.policy import MODES, Policy, mode
from lab.workload.request import Request, Workload

USUAL = (128, 512)


def workload(*rows: tuple[float, int, int], new: int = 2) -> Workload:
    """Requests of (arrival, prompt tokens, priority)."""
    made = (
        Request(i, t, new, prompt_ids=(1,) * prompt, output_tokens=new, priority=priority)
        for i, (t, prompt, priority) in enumerate(rows)
    )
    return Workload("ordered", tuple(made))


def serve(policy: Policy, work: Workload, seconds: float = 0.05, **options) -> LaneRecord:
    room = {"kv_budget": 100_000, "context": 10_000} | options
    lane = Lane(policy, work, ScriptedExecutor(lambda step: seconds), **room)
    to_the_end([lane])
    check_lane(work, lane.record(), complete=True)
    return lane.record()


def dispatches(lane: LaneRecord) -> list[tuple[float, list[int], str]]:
    return [
        (run.start, [row.request for row in run.rows if row.prefill], run.reason)
        for run in lane.runs()
        if run.prefill
    ]


def high_priority_stream(until: float = 6.0) -> Workload:
    """One of low priority at 0, and one of high priority each 50 ms."""
    return workload((0.0, 5, 1), *((i * 0.05, 5, 0) for i in range(int(until / 0.05))), new=1)


def test_leftovers_of_three_buckets_leave_merged_by_the_end_of_their_wait():
    work = workload(*[(0.0, 10, 0)] * 3, (0.0, 300, 0), (0.0, 900, 0), (5.0, 10, 0))
    for name in ("static", "dynamic"):
        lane = serve(mode(name, 4, 0.2, Order(USUAL, bucket_wait_limit=0.2)), work)
        first, second, *_ = dispatches(lane)
        assert first == (pytest.approx(0.2), [0, 1, 2, 3], "bucket_merged")
        assert second[1] == [4]
        assert second[0] == pytest.approx(0.2 + 2 * 0.05)  # the moment the device is free
        widths = {row.request: row.padded_to for run in lane.runs() for row in run.rows if row.prefill}
        assert widths[0] == 300  # what merging costs is in the record


def test_in_static_mode_a_lone_long_prompt_leaves_within_the_limit_though_more_may_come():
    lane = serve(mode("static", 4, order=Order(USUAL)), workload((0.0, 900, 0), (50.0, 10, 0)))
    assert dispatches(lane)[0] == (1.0, [0], "bucket_late")


def test_a_running_request_never_changes_its_bucket():
    work = workload((0.0, 100, 0), (0.0, 120, 0), new=60)  # both grow past 128
    lane = serve(mode("continuous", 4, order=Order(USUAL)), work)
    assert [len(run.rows) for run in lane.runs()] == [2] * 60
    assert lane.columns.past.count(0) == 2


def test_with_ageing_a_low_priority_starts_by_the_limit_and_one_batch():
    lane = serve(mode("none", order=Order(by_priority=True, ageing=1.0)), high_priority_stream(), 0.06)
    times = request_times(high_priority_stream(), lane)
    assert 0.9 < times[0].queue_delay <= 1.0 + 0.06
    assert starved(lane, times) == ()


def test_without_ageing_it_starves_and_is_named():
    work = high_priority_stream(12.0)
    lane = serve(mode("none", order=Order(by_priority=True, ageing=None)), work, 0.06)
    times = request_times(work, lane)
    assert times[0].queue_delay > 12.0  # the very last, when the stream has ended
    assert starved(lane, times) == (0,)


def test_first_come_first_served_starves_nobody_and_ignores_priority():
    work = high_priority_stream()
    lane = serve(mode("none"), work, 0.06)
    assert dispatches(lane)[0][1] == [0]
    assert starved(lane, request_times(work, lane)) == ()


@pytest.mark.parametrize("ageing", [None, 1.0])
def test_in_continuous_mode_running_streams_miss_no_step_whatever_arrives(ageing):
    """A new prompt of 1000 tokens at each step, beside two long answers."""
    requests = (
        *(Request(i, 0.0, 80, prompt_ids=(1,) * 5, output_tokens=80, priority=1) for i in range(2)),
        *(Request(2 + i, 0.1 * i, 1, prompt_ids=(1,) * 1000, output_tokens=1) for i in range(60)),
    )
    work = Workload("flood", tuple(sorted(requests, key=lambda r: r.id)))
    policy = mode("continuous", 4, order=Order(USUAL, by_priority=True, ageing=ageing))
    lane = serve(policy, work, 0.1)
    for r in request_times(work, lane)[:2]:
        assert max(r.gaps) == pytest.approx(0.1)


@pytest.mark.parametrize("many", [False, True])
def test_one_that_ages_past_another_for_which_seats_are_held_is_let_in_at_that_very_step(many):
    """The second, of class 3, reaches class 1 after 2/3 of 2 s: by the step at 1.5 s, and it fits. The third, of
    class 1, came later and lacks memory."""
    rows = ((0.0, 50, 0, 40), (0.05, 5, 3, 2), (0.1, 60, 1, 2))
    requests = (
        Request(i, t, n, prompt_ids=(1,) * p, output_tokens=n, priority=c) for i, (t, p, c, n) in enumerate(rows)
    )
    work = Workload("held", tuple(requests))
    order = Order(by_priority=True, ageing=2.0)
    policy = Policy("any", 4, 0.0, refill=True, padded=False, overtake_limit=0.0, order=order)
    executor = ScriptedExecutor(lambda step: 0.25, many=many)
    lane = Lane(policy, work, executor, kv_budget=110, context=1000)
    to_the_end([lane])
    assert [(start, left) for start, left, _ in dispatches(lane.record())] == [(0.0, [0]), (1.5, [1]), (10.0, [2])]


# ---- properties


@st.composite
def workloads(draw) -> Workload:
    n = draw(st.integers(1, 14))
    arrivals = sorted(draw(st.lists(st.integers(0, 40), min_size=n, max_size=n)))
    requests = []
    for i in range(n):
        answer = draw(st.integers(1, 6))
        prompt = draw(st.one_of(st.integers(1, 9), st.integers(10, 40), st.just(300)))
        follows = draw(st.one_of(st.none(), st.integers(0, i - 1))) if i else None
        requests.append(
            Request(
                i,
                arrivals[i] / 8,
                answer + 2,
                prompt_ids=(1,) * prompt,
                output_tokens=answer,
                priority=draw(st.integers(0, 3)),
                follows=follows,
            )
        )
    return Workload("any", tuple(requests))


@st.composite
def policies(draw) -> Policy:
    order = Order(
        draw(st.sampled_from([(), (5,), (5, 20), (3, 8, 12, 30)])),
        draw(st.booleans()),
        draw(st.sampled_from([None, 0.0, 0.5, 2.0])),
        draw(st.sampled_from([None, 0.0, 0.25, 3.0])),
    )
    refill = draw(st.booleans())
    return Policy(
        "any",
        draw(st.integers(1, 4)),
        draw(st.sampled_from([0.0, 0.25, float("inf")])),
        refill=refill,
        padded=not refill and draw(st.booleans()),
        window_starts_at=draw(st.sampled_from(["arrival", "pickup"])),
        max_num_batched_tokens=draw(st.sampled_from([2048, 30])),
        overtake_limit=draw(st.sampled_from([0.0, 1.0])),
        order=order,
    )


def duration(step) -> float:
    return 1 / 16 + sum(row.padded_to for row in step.rows) / 1024


def lane_of(policy: Policy, work: Workload, *, many: bool = False, groups: int = 1, budget: int = 120) -> Lane:
    executor = ScriptedExecutor(duration, many=many)
    lane = Lane(policy, work, executor, kv_budget=budget, context=10_000, groups=groups)
    to_the_end([lane])
    assert executor.cached == {}
    return lane


@settings(max_examples=200)
@given(workloads(), policies(), st.integers(1, 2), st.booleans())
def test_every_request_ends_exactly_once_within_its_limit_and_the_budget(work, policy, groups, many):
    """Finished or refused, computed once or never; check_lane sees to ledger, limit and order."""
    record = lane_of(policy, work, many=many, groups=groups).record()
    check_lane(work, record, complete=True)
    refused = {i for i, _ in record.refused}
    prompts = [r for r, past in zip(record.columns.request, record.columns.past, strict=True) if past == 0]
    assert sorted(prompts) == [r.id for r in work.requests if r.id not in refused]
    assert refused == {r.id for r in work.requests if r.prompt_tokens + r.max_new_tokens > 120}
    assert max(record.columns.kv_reserved, default=0) <= 120


@settings(max_examples=150)
@given(workloads(), policies())
def test_nobody_waits_past_the_limit_for_those_who_came_later(work, policy):
    record = lane_of(policy, work).record()
    times = request_times(work, record)
    assert passed_over(record, times, policy.passing_limit) == ()


@settings(max_examples=150)
@given(workloads(), policies(), st.integers(1, 2))
def test_runs_of_steps_and_single_steps_are_one_record_under_any_order(work, policy, groups):
    one, many = (lane_of(policy, work, many=m, groups=groups).record() for m in (False, True))
    assert dispatches(one) == dispatches(many)
    assert one.answers() == many.answers()


@settings(max_examples=150)
@given(workloads(), policies(), st.sampled_from(MODES))
def test_with_room_for_all_admission_is_a_full_sort_by_effective_priority_at_that_moment(work, policy, name):
    policy = mode(name, policy.max_batch_size, 0.25, policy.order)
    record = lane_of(policy, work, budget=100_000).record()
    times = request_times(work, record)
    gone: set[int] = set()
    for start, left, _ in dispatches(record):
        here = [
            Waiting(r.id, times[r.id].arrival, r.prompt_tokens, r.max_new_tokens, r.priority)
            for r in work.requests
            if r.id not in gone and times[r.id].arrival is not None and times[r.id].arrival <= start
        ]
        lead = bucket_of(work.requests[left[0]].prompt_tokens, policy.order.boundaries)

        def key(w, lead=lead, start=start):
            away = abs(bucket_of(w.prompt_tokens, policy.order.boundaries) - lead)
            return (away, effective_priority(policy.order, w, start), w.arrival, w.id)

        assert left == [w.id for w in sorted(here, key=key)][: len(left)]
        gone.update(left)
