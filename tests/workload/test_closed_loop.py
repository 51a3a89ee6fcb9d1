import math

import pytest

from lab.workload.closed_loop import closed_loop


def test_every_question_but_the_first_follows_the_same_users_last_one():
    loop = closed_loop(3, 4, 0.5)
    assert [r.follows for r in loop.requests] == [None, None, None, 0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert [r.arrival for r in loop.requests] == [0.0] * 3 + [0.5] * 9
    assert all(r.prompt for r in loop.requests)


def test_the_seed_picks_the_questions():
    assert closed_loop(2, 2, 1, seed=5) == closed_loop(2, 2, 1, seed=5) != closed_loop(2, 2, 1, seed=6)


@pytest.mark.parametrize(("users", "each"), [(0, 1), (1, 0), (16, 17)])
def test_too_few_or_too_many_questions_are_refused(users, each):
    with pytest.raises(ValueError, match="256 questions at most"):
        closed_loop(users, each, 1.0)


@pytest.mark.parametrize("think", [-1, math.nan, math.inf])
def test_a_think_time_that_is_no_duration_is_refused(think):
    with pytest.raises(ValueError, match="think_seconds is"):
        closed_loop(1, 1, think)
