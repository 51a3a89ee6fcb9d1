"""The scheduler that everyone writes first, and where it goes wrong; the lab's own order beside it."""

from dataclasses import replace

import pytest

from lab.scheduling.decide import Admit, Reason, View, Wait, decide
from lab.scheduling.order import Order, Waiting
from lab.scheduling.policy import mode

OURS = mode("dynamic", 4, 0.1, Order((128, 512)))
NAIVE = replace(OURS, name="three lists", three_lists=True)


def view(queue, now, next_arrival=float("inf")):
    return View(now, queue, next_arrival, 0.0, 0, 4, False, 100_000)


def waiting(*rows, priority=1):
    """(arrival, prompt tokens) of each."""
    return tuple(Waiting(i, arrival, prompt, 8, priority) for i, (arrival, prompt) in enumerate(rows))


def ids(decision):
    assert isinstance(decision, Admit), decision
    return [w.id for w in decision.requests]


def test_a_list_leaves_when_it_is_full_or_its_oldest_has_waited_for_the_window():
    assert decide(NAIVE, view(waiting(*[(0.0, 10)] * 5), 0.0)) == Admit(
        waiting(*[(0.0, 10)] * 4), Reason.BATCH_FULL
    )
    assert decide(NAIVE, view(waiting((0.0, 10), (0.05, 10)), 0.05)) == Wait(0.1, Reason.WINDOW_OPEN)
    late = decide(NAIVE, view(waiting((0.0, 10), (0.05, 10)), 0.1))
    assert (ids(late), late.reason) == ([0, 1], Reason.WINDOW_OVER)


def test_a_short_list_that_is_always_full_keeps_the_long_one_waiting_past_its_window():
    queue = waiting((0.0, 600), *[(9.9, 10)] * 4)
    assert ids(decide(NAIVE, view(queue, 10.0))) == [1, 2, 3, 4]
    assert ids(decide(OURS, view(queue, 10.0)))[0] == 0


def test_the_upper_edge_lands_in_the_wrong_list():
    queue = waiting((0.0, 512), (0.0, 600), (0.01, 200))
    assert ids(decide(NAIVE, view(queue, 0.1))) == [0, 1]  # 512 goes with 600
    assert ids(decide(OURS, view(queue, 0.1)))[:2] == [0, 2]  # 512 is the longest of the medium ones


def test_a_late_list_leaves_alone_and_nobody_reads_priorities():
    queue = waiting((0.0, 10), (0.0, 200), (0.0, 600))
    assert ids(decide(NAIVE, view(queue, 0.1))) == [0]
    assert ids(decide(OURS, view(queue, 0.1))) == [0, 1, 2]
    urgent = (*waiting(*[(0.0, 10)] * 4), Waiting(9, 0.0, 10, 8, 0))
    assert 9 not in ids(decide(NAIVE, view(urgent, 0.0)))
    by_priority = replace(OURS, order=replace(OURS.order, by_priority=True))
    assert 9 in ids(decide(by_priority, view(urgent, 0.0)))


def test_it_needs_a_window_that_ends_and_no_refill():
    for wrong in (mode("static"), mode("continuous")):
        with pytest.raises(ValueError, match="three_lists needs a window that ends"):
            replace(wrong, three_lists=True)
