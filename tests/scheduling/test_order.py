"""Buckets, priority and ageing: edges exact, order a full sort, and each rule of leaving with its reason."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.scheduling.decide import Admit, Decode, Reason, View, Wait, decide
from lab.scheduling.order import (
    FIRST_COME,
    PRESETS,
    Order,
    Waiting,
    bucket_name,
    bucket_of,
    effective_priority,
    in_buckets,
    nearest_first,
    ranked,
)
from lab.scheduling.policy import MODES, Policy, mode

INF = math.inf
USUAL = (128, 512)
SHORT, MEDIUM, LONG = 10, 300, 900  # prompt tokens


def one(number: int, arrival: float = 0.0, prompt: int = SHORT, priority: int = 0) -> Waiting:
    return Waiting(number, arrival, prompt, 10, priority)


def view(queue, **changes) -> View:
    idle = View(
        now=0.0,
        waiting=queue,
        next_arrival=99.0,
        free_since=0.0,
        live=0,
        seats_free=4,
        batch_open=False,
        kv_free=100_000,
    )
    return idle._replace(**changes)


def admitted(decision) -> list[int]:
    assert isinstance(decision, Admit), decision
    return [w.id for w in decision.requests]


# ---- the edges of buckets


@pytest.mark.parametrize(
    ("tokens", "bucket"),
    [(0, 0), (1, 0), (127, 0), (128, 1), (129, 1), (511, 1), (512, 1), (513, 2), (100_000, 2)],
)
def test_127_is_short_128_and_512_are_medium_513_is_long(tokens, bucket):
    assert bucket_of(tokens, USUAL) == bucket


@given(
    st.sets(st.integers(1, 2000), max_size=6).map(lambda b: tuple(sorted(b))),
    st.integers(1, 3000),
)
def test_with_any_number_of_boundaries_a_prompt_is_in_the_bucket_whose_name_covers_it(boundaries, tokens):
    name = bucket_name(bucket_of(tokens, boundaries), boundaries)
    first, _, last = name.partition("–")
    covered = {
        "a": lambda: boundaries == (),
        "<": lambda: tokens < int(name[2:]),
        ">": lambda: tokens > int(name[2:]),
        "≥": lambda: tokens >= int(name[2:]),
    }.get(name[0], lambda: int(first) <= tokens <= int(last))
    assert covered()


def test_buckets_are_named_by_their_prompt_tokens():
    assert [bucket_name(b, USUAL) for b in range(3)] == ["< 128", "128–512", "> 512"]
    assert [bucket_name(b, (64, 128, 512)) for b in range(4)] == ["< 64", "64–128", "129–512", "> 512"]
    assert [bucket_name(b, (64,)) for b in range(2)] == ["< 64", "≥ 64"]
    assert bucket_name(0, ()) == "all"


def test_the_presets_are_boundaries_and_the_usual_ones_are_128_and_512():
    assert PRESETS["usual"] == USUAL
    for boundaries in PRESETS.values():
        Order(boundaries)


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ({"boundaries": (512, 128)}, r"bucket boundaries are \[512, 128\]; they must be above 0 and increase"),
        ({"boundaries": (128, 128)}, "must be above 0 and increase"),
        ({"boundaries": (0, 128)}, "must be above 0 and increase"),
        ({"ageing": -1.0}, "ageing is -1.0 s; it must be 0 or more and finite"),
        ({"ageing": INF}, "ageing is inf s"),
        ({"bucket_wait_limit": math.nan}, "bucket_wait_limit is nan s"),
    ],
)
def test_a_knob_out_of_range_is_refused_with_its_value(knobs, says):
    with pytest.raises(ValueError, match=says):
        Order(**knobs)


# ---- priority and ageing


def test_a_lower_number_goes_sooner_and_equals_in_order_of_arrival():
    queue = [one(0, 0.0, priority=2), one(1, 0.1, priority=0), one(2, 0.2, priority=1), one(3, 0.3, priority=0)]
    assert [w.id for w in ranked(Order(by_priority=True), queue, 0.3)] == [1, 3, 2, 0]
    assert [w.id for w in ranked(FIRST_COME, queue, 0.3)] == [0, 1, 2, 3]


def test_a_waiting_request_rises_class_by_class_and_is_most_urgent_at_the_limit():
    order = Order(by_priority=True, ageing=3.0)
    rising = [
        effective_priority(order, one(0, 10.0, priority=3), 10.0 + t) for t in (0, 0.9, 1, 1.9, 2, 2.9, 3, 50)
    ]
    assert rising == [3, 3, 2, 2, 1, 1, 0, 0]
    never = Order(by_priority=True, ageing=None)
    assert effective_priority(never, one(0, 0.0, priority=3), 1e9) == 3


def test_however_high_the_number_the_limit_is_the_same():
    order = Order(by_priority=True, ageing=3.0)
    assert effective_priority(order, one(0, 0.0, priority=10**9), 3.0) == 0


def by_hand(order: Order, w: Waiting, now: float) -> tuple[int, float, int]:
    """The definition in its plainest form: how many of its classes has it risen through?"""
    waited = now - w.arrival
    risen = 0
    while risen < w.priority and now >= w.arrival + order.ageing * (risen + 1) / w.priority:
        risen += 1
    return w.priority - risen if waited < order.ageing else 0, w.arrival, w.id


def test_popping_one_by_one_is_a_full_sort_by_effective_priority_at_each_pop():
    rng = random.Random(18)
    order = Order(by_priority=True, ageing=2.0)
    arrivals = sorted(rng.randrange(0, 160) / 8 for _ in range(200))
    queue = [one(i, t, priority=rng.randrange(4)) for i, t in enumerate(arrivals)]
    now, waiting, popped, inverted = 0.0, [], 0, 0
    while queue or waiting:
        now += 1 / 8
        while queue and queue[0].arrival <= now:
            waiting.append(queue.pop(0))
        if waiting:
            expected = sorted(waiting, key=lambda w: by_hand(order, w, now))
            assert list(ranked(order, waiting, now)) == expected
            inverted += expected[0].priority > min(w.priority for w in waiting)
            waiting.remove(expected[0])
            popped += 1
    assert popped == 200
    assert inverted > 0  # ageing did bring somebody past a more urgent class


# ---- buckets and who leaves


def bucketed(name: str, seats: int = 4, window: float = 0.2, **knobs) -> Policy:
    return mode(name, seats, window, Order(USUAL, **knobs))


def test_a_batch_keeps_to_the_bucket_of_the_most_urgent():
    queue = [one(0, 0.0, LONG, 1), one(1, 0.0, SHORT, 0), one(2, 0.0, LONG, 1), one(3, 0.0, SHORT, 1)]
    policy = bucketed("static", by_priority=True)
    decision = decide(policy, view(queue, next_arrival=INF))
    assert admitted(decision) == [1, 3]
    assert decision.reason is Reason.NOTHING_MORE_ARRIVES


@pytest.mark.parametrize("name", ["static", "dynamic"])
def test_a_full_bucket_leaves_though_the_most_urgent_waits_for_company(name):
    queue = [one(0, 0.0, LONG), *(one(i, 0.0, SHORT) for i in range(1, 5))]
    decision = decide(bucketed(name), view(queue))
    assert admitted(decision) == [1, 2, 3, 4]
    assert decision.reason is Reason.BATCH_FULL


def test_requests_of_several_buckets_that_fill_no_batch_wait_until_the_first_bucket_is_late():
    queue = [one(0, 1.0, SHORT), one(1, 1.1, MEDIUM), one(2, 1.2, SHORT), one(3, 1.25, LONG)]
    assert decide(bucketed("static"), view(queue, now=1.5)) == Wait(2.0, Reason.WINDOW_OPEN)
    assert decide(bucketed("dynamic"), view(queue, now=1.19)) == Wait(1.2, Reason.WINDOW_OPEN)


def test_a_late_bucket_leaves_now_and_its_empty_seats_go_to_the_nearest():
    queue = [one(0, 0.0, LONG), one(1, 0.1, SHORT), one(2, 0.1, MEDIUM, 1), one(3, 0.15, MEDIUM, 0)]
    policy = bucketed("dynamic", seats=3, by_priority=True)
    decision = decide(policy, view(queue, now=0.2, seats_free=3))
    assert admitted(decision) == [0, 3, 2]  # the long one, then the medium ones by priority; short is further away
    assert decision.reason is Reason.BUCKET_MERGED


def test_a_late_bucket_with_nobody_to_fill_its_seats_leaves_alone():
    decision = decide(bucketed("static"), view([one(0, 0.0, LONG)], now=1.0))
    assert admitted(decision) == [0]
    assert decision.reason is Reason.BUCKET_LATE


def test_a_late_bucket_that_fills_its_seats_itself_is_not_merged():
    queue = [one(0, 0.0, SHORT), *(one(i, 0.0, LONG) for i in range(1, 6))]
    policy = bucketed("static", bucket_wait_limit=0.5)
    decision = decide(policy, view(queue[1:], now=0.5))
    assert (admitted(decision), decision.reason) == ([1, 2, 3, 4], Reason.BATCH_FULL)


def test_of_two_late_buckets_the_more_urgent_leaves_first():
    queue = [one(0, 0.0, LONG, 1), *(one(i, 0.1, SHORT, 0) for i in range(1, 5))]
    decision = decide(bucketed("static", by_priority=True, ageing=None), view(queue, now=5.0))
    assert admitted(decision) == [1, 2, 3, 4]


def test_a_late_bucket_leaves_before_a_more_urgent_one_that_is_not():
    queue = [one(0, 0.0, LONG, 1), one(1, 0.9, SHORT, 0)]
    decision = decide(bucketed("static", seats=1, by_priority=True), view(queue, now=1.0, seats_free=1))
    assert admitted(decision) == [0]


def test_without_its_own_limit_a_bucket_waits_for_the_window_or_a_second():
    assert bucketed("dynamic", window=0.05).bucket_wait_limit == 0.05
    assert bucketed("static").bucket_wait_limit == 1.0
    assert bucketed("dynamic", bucket_wait_limit=0.7).bucket_wait_limit == 0.7


def test_a_merged_rectangle_that_does_not_fit_the_kv_budget_leaves_smaller():
    queue = [one(0, 0.0, SHORT), one(1, 0.0, LONG)]
    decision = decide(bucketed("dynamic"), view(queue, now=0.2, kv_free=2 * (LONG + 10) - 1))
    assert (admitted(decision), decision.reason) == ([0], Reason.MEMORY_FULL)


def test_in_continuous_mode_no_seat_is_held_back_for_a_bucket():
    queue = [one(0, 0.0, SHORT), one(1, 0.0, LONG), one(2, 0.0, MEDIUM), one(3, 0.0, SHORT)]
    decision = decide(bucketed("continuous"), view(queue, batch_open=True, live=1, seats_free=4))
    assert admitted(decision) == [0, 3, 2, 1]
    assert decision.reason is Reason.SEAT_FREE


def test_seats_are_held_for_one_that_lacks_memory_but_not_against_the_more_urgent():
    blocked = one(0, 0.0, LONG, 1)
    policy = mode("continuous", 4, order=Order(by_priority=True, ageing=10.0))
    running = {"now": 2.0, "batch_open": True, "live": 1, "seats_free": 3, "kv_free": 100}
    assert admitted(decide(policy, view([blocked, one(1, 1.5, SHORT, 0)], **running))) == [1]
    assert decide(policy, view([blocked, one(1, 1.5, SHORT, 1)], **running)) == Decode(Reason.MEMORY_FULL)


# ---- any view


@st.composite
def queues(draw) -> list[Waiting]:
    ticks = sorted(draw(st.lists(st.integers(0, 64), min_size=1, max_size=12)))
    return [
        Waiting(i, t / 16, draw(st.integers(1, 400)), draw(st.integers(1, 50)), draw(st.integers(0, 3)))
        for i, t in enumerate(ticks)
    ]


orders = st.builds(
    Order,
    boundaries=st.sampled_from([(), (128,), USUAL, (16, 64, 256, 300)]),
    by_priority=st.booleans(),
    ageing=st.sampled_from([None, 0.0, 1.0, 3.0]),
    bucket_wait_limit=st.sampled_from([None, 0.0, 0.5, 2.0]),
)


@given(queues(), orders, st.sampled_from(MODES), st.integers(0, 64), st.integers(1, 5))
def test_who_leaves_is_the_front_of_a_full_sort_of_those_who_wait(queue, order, name, later, seats):
    now = queue[-1].arrival + later / 16
    seats = 1 if name == "none" else seats
    policy = mode(name, seats, 0.25, order)
    decision = decide(policy, view(queue, now=now, seats_free=seats))
    if isinstance(decision, Wait):
        assert decision.until > now
        return
    left = decision.requests
    lead = bucket_of(left[0].prompt_tokens, order.boundaries)

    def key(w: Waiting):
        away = abs(bucket_of(w.prompt_tokens, order.boundaries) - lead)
        return (away, effective_priority(order, w, now), w.arrival, w.id)

    assert list(left) == sorted(queue, key=key)[: len(left)]
    assert 1 <= len(left) <= seats


@given(queues(), orders)
def test_ranking_and_parting_loses_nobody(queue, order):
    ranks = ranked(order, queue, 9.0)
    buckets = in_buckets(order, ranks)
    assert sorted(ranks) == sorted(queue)
    assert sorted(w for own in buckets.values() for w in own) == sorted(queue)
    for bucket in buckets:
        assert sorted(nearest_first(order, ranks, bucket)) == sorted(queue)
