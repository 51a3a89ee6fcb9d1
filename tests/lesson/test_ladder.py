"""What each rung of a ladder gave, and what it added."""

import pytest

from lab.lesson.ladder import ladder
from lab.lesson.scene import LaneSpec, Stream
from tests.lesson.test_machinery import run, scene

LANES = {"alone": LaneSpec("none", name="one by one"), "bus": LaneSpec("static", batch=2),
         "line": LaneSpec("continuous", batch=4)}  # fmt: skip


def test_each_rung_is_compared_with_the_one_below_it_in_the_order_that_is_asked_for():
    taken = run(scene(lanes=LANES, streams=(Stream(4, prompt=3, answer=4),)))
    up = ladder(["alone", "bus", "line"], taken)
    assert [rung.lane for rung in up] == ["one by one", "bus", "line"]
    assert [rung.throughput for rung in up] == pytest.approx([10, 20, 40])
    assert up[0].gained is None
    assert [rung.gained for rung in up[1:]] == pytest.approx([2, 2])
    assert [r.gained for r in ladder(["line", "bus"], taken)][1] == pytest.approx(0.5)


def test_two_ladders_between_the_same_ends_multiply_to_the_same_height():
    taken = run(scene(lanes=LANES, streams=(Stream(4, prompt=3, answer=4),)))
    short, long = ladder(["alone", "line"], taken), ladder(["alone", "bus", "line"], taken)
    assert short[1].gained == pytest.approx(long[1].gained * long[2].gained)


def test_the_wait_of_urgent_requests_is_told_where_there_are_urgent_ones():
    plain = run(scene(streams=(Stream(2, prompt=3, answer=4),)))
    mixed = run(scene(streams=(Stream(1, 3, 4), Stream(1, 3, 4, priority=1), Stream(1, 3, 4))))
    assert ladder(["alone"], plain)[0].urgent_wait is None
    assert ladder(["alone"], mixed)[0].urgent_wait == pytest.approx((0 + 0.8) / 2)
