"""One decision at a time: a view goes in, Admit, Decode or Wait comes out, with its reason."""

import math

import pytest

from lab.scheduling.decide import Admit, Decode, Reason, View, Wait, decide
from lab.scheduling.order import Waiting
from lab.scheduling.policy import MODES, Policy, mode

INF = math.inf


def waiting(*arrivals: float, prompt: int = 10, new: int = 10) -> tuple[Waiting, ...]:
    return tuple(Waiting(i, t, prompt, new, 0) for i, t in enumerate(arrivals))


def view(queue=(), **changes) -> View:
    idle = View(
        now=0.0,
        waiting=queue,
        next_arrival=INF,
        free_since=0.0,
        live=0,
        seats_free=4,
        batch_open=False,
        kv_free=10_000,
    )
    return idle._replace(**changes)


def admitted(decision) -> list[int]:
    assert isinstance(decision, Admit), decision
    return [w.id for w in decision.requests]


# ---- the table


def test_the_four_modes_are_the_four_rows_of_the_table():
    rows = {
        name: (p.max_batch_size, p.max_queue_delay, p.refill, p.padded)
        for name in MODES
        for p in [mode(name, 8, 0.1)]
    }
    assert rows == {
        "none": (1, 0.0, False, False),
        "static": (8, INF, False, True),
        "dynamic": (8, 0.1, False, True),
        "continuous": (8, 0.0, True, False),
    }


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ({"max_batch_size": 0}, "max_batch_size is 0"),
        ({"max_queue_delay": -1.0}, "max_queue_delay is -1.0"),
        ({"max_queue_delay": math.nan}, "max_queue_delay is nan"),
        ({"refill": True, "padded": True}, "exclude each other"),
        ({"run_at_once_below": 5}, "between 1 (never) and max_batch_size (4)"),
        ({"run_at_once_below": 0}, "run_at_once_below is 0"),
        ({"max_num_batched_tokens": 0}, "max_num_batched_tokens is 0"),
        ({"window_starts_at": "later"}, "window_starts_at is 'later'"),
        ({"overtake_limit": -0.5}, "overtake_limit is -0.5"),
    ],
)
def test_a_knob_out_of_range_is_refused_with_its_value(knobs, says):
    good = {"name": "x", "max_batch_size": 4, "max_queue_delay": 0.0, "refill": False, "padded": False}
    with pytest.raises(ValueError, match=says.replace("(", r"\(").replace(")", r"\)")):
        Policy(**{**good, **knobs})


def test_an_unknown_mode_is_refused_with_the_four_names():
    with pytest.raises(ValueError, match="'turbo'; it must be one of none, static, dynamic, continuous"):
        mode("turbo")


# ---- an idle device


@pytest.mark.parametrize("name", MODES)
def test_with_nobody_waiting_an_idle_device_waits_for_the_next_arrival(name):
    assert decide(mode(name, 4), view(next_arrival=3.0)) == Wait(3.0, Reason.NOBODY_WAITS)


def test_none_takes_the_first_alone():
    decision = decide(mode("none"), view(waiting(0.0, 0.0), seats_free=1))
    assert admitted(decision) == [0]
    assert decision.reason is Reason.BATCH_FULL


def test_static_waits_until_the_batch_is_full():
    static = mode("static", 4)
    assert decide(static, view(waiting(0, 0, 0), next_arrival=9.0)) == Wait(9.0, Reason.WINDOW_OPEN)
    assert admitted(decide(static, view(waiting(0, 0, 0, 0)))) == [0, 1, 2, 3]


def test_static_leaves_half_empty_when_nothing_more_is_scheduled():
    decision = decide(mode("static", 4), view(waiting(0, 0), now=5.0))
    assert admitted(decision) == [0, 1]
    assert decision.reason is Reason.NOTHING_MORE_ARRIVES


def test_dynamic_waits_until_its_window_is_over_even_when_nothing_more_is_scheduled():
    dynamic = mode("dynamic", 4, 0.3)
    assert decide(dynamic, view(waiting(1.0, 1.1), now=1.1)) == Wait(1.3, Reason.WINDOW_OPEN)
    decision = decide(dynamic, view(waiting(1.0, 1.1), now=1.3))
    assert decision.reason is Reason.WINDOW_OVER


def test_the_window_belongs_to_the_oldest_and_is_not_re_armed_by_later_arrivals():
    dynamic = mode("dynamic", 64, 0.1)
    decision = decide(dynamic, view(waiting(0.0, 0.06), now=0.06, next_arrival=0.12, seats_free=64))
    assert decision == Wait(0.1, Reason.WINDOW_OPEN)


def test_a_window_that_ended_while_the_device_was_busy_lets_the_batch_leave_at_once():
    decision = decide(mode("dynamic", 4, 0.05), view(waiting(0.1), now=0.2, free_since=0.2))
    assert decision.reason is Reason.WINDOW_OVER


def test_with_pickup_the_window_begins_when_the_device_is_free():
    policy = Policy("dynamic", 4, 0.05, refill=False, padded=True, window_starts_at="pickup")
    assert decide(policy, view(waiting(0.1), now=0.2, free_since=0.2)) == Wait(0.25, Reason.WINDOW_OPEN)


def test_below_run_at_once_below_nobody_waits_for_company():
    policy = Policy("dynamic", 4, 0.3, refill=False, padded=True, run_at_once_below=3)
    assert decide(policy, view(waiting(0, 0))).reason is Reason.FEW_ENOUGH
    assert isinstance(decide(policy, view(waiting(0, 0, 0))), Wait)


def test_a_full_batch_takes_exactly_max_batch_size():
    assert admitted(decide(mode("dynamic", 4, 1.0), view(waiting(*[0.0] * 9)))) == [0, 1, 2, 3]


# ---- a running batch


@pytest.mark.parametrize("name", ["none", "static", "dynamic"])
def test_without_refill_nobody_joins_a_running_batch(name):
    decision = decide(mode(name, 4), view(waiting(0.0), batch_open=True, live=1, seats_free=3))
    assert decision == Decode(Reason.BATCH_RUNS)


def test_with_refill_a_free_seat_is_taken_at_once():
    decision = decide(mode("continuous", 4), view(waiting(0, 0), batch_open=True, live=3, seats_free=1))
    assert admitted(decision) == [0]
    assert decision.reason is Reason.SEAT_FREE


def test_with_refill_and_no_free_seat_the_batch_decodes_on():
    decision = decide(mode("continuous", 4), view(waiting(0), batch_open=True, live=4, seats_free=0))
    assert decision == Decode(Reason.SEATS_FULL)


# ---- tokens of a step


def continuous(tokens: int, **knobs) -> Policy:
    return Policy("continuous", 4, 0.0, refill=True, padded=False, max_num_batched_tokens=tokens, **knobs)


def lengths(*prompts: int, arrival: float = 0.0) -> tuple[Waiting, ...]:
    return tuple(Waiting(i, arrival, n, 10, 0) for i, n in enumerate(prompts))


def test_a_prompt_longer_than_what_is_left_of_the_budget_waits_for_the_next_step():
    assert admitted(decide(continuous(100), view(lengths(60, 50)))) == [0]


def test_decode_rows_count_against_the_token_budget():
    policy = continuous(100)
    open_batch = {"batch_open": True, "seats_free": 2}
    assert admitted(decide(policy, view(lengths(60, 38), live=2, **open_batch))) == [0, 1]
    assert admitted(decide(policy, view(lengths(60, 39), live=2, **open_batch))) == [0]


def test_a_prompt_longer_than_the_whole_budget_enters_alone_with_the_decodes():
    decision = decide(continuous(100), view(lengths(500, 10), live=2, batch_open=True, seats_free=2))
    assert admitted(decision) == [0]


def test_no_seat_is_idle_while_a_later_prompt_fits_the_step():
    assert admitted(decide(continuous(100), view(lengths(60, 50, 20)))) == [0, 2]


# ---- KV memory


def test_a_padded_batch_reserves_the_rectangle():
    queue = (Waiting(0, 0.0, 10, 90, 0), Waiting(1, 0.0, 50, 10, 0))
    static = mode("static", 2)
    assert admitted(decide(static, view(queue, seats_free=2, kv_free=2 * (50 + 90)))) == [0, 1]
    decision = decide(static, view(queue, seats_free=2, kv_free=2 * (50 + 90) - 1))
    assert admitted(decision) == [0]
    assert decision.reason is Reason.MEMORY_FULL


def test_a_ragged_batch_reserves_each_row_for_itself():
    queue = (Waiting(0, 0.0, 10, 90, 0), Waiting(1, 0.0, 50, 10, 0))
    policy = mode("continuous", 2)
    assert admitted(decide(policy, view(queue, seats_free=2, kv_free=160))) == [0, 1]
    assert admitted(decide(policy, view(queue, seats_free=2, kv_free=159))) == [0]


def test_one_that_does_not_fit_is_passed_by_one_that_does_but_not_for_ever():
    queue = (Waiting(0, 0.0, 100, 100, 0), Waiting(1, 0.5, 5, 5, 0))
    policy = continuous(2048, overtake_limit=1.0)
    running = {"batch_open": True, "live": 1, "seats_free": 3, "kv_free": 50}
    assert admitted(decide(policy, view(queue, now=0.9, **running))) == [1]
    assert decide(policy, view(queue, now=1.1, **running)) == Decode(Reason.MEMORY_FULL)


def test_a_batch_that_nobody_can_join_later_takes_the_front_of_the_queue_only():
    queue = (Waiting(0, 0.0, 10, 10, 0), Waiting(1, 0.0, 100, 100, 0), Waiting(2, 0.0, 10, 10, 0))
    assert admitted(decide(mode("static", 3), view(queue, seats_free=3, kv_free=100))) == [0]
