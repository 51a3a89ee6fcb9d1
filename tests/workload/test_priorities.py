"""A seeded share of urgent requests."""

import pytest

from lab.workload.priorities import with_urgent
from lab.workload.scenarios import build


@pytest.mark.parametrize(("share", "urgent"), [(0.0, 0), (0.25, 12), (1.0, 48)])
def test_exactly_that_share_is_urgent_and_the_others_are_normal(share, urgent):
    work = with_urgent(build("corpus"), share)
    assert sorted(r.priority for r in work.requests) == [0] * urgent + [1] * (48 - urgent)


def test_the_seed_draws_them_and_nothing_else_changes():
    work = build("corpus", seed=3)
    first, again, other = with_urgent(work, 0.3), with_urgent(work, 0.3), with_urgent(build("corpus", seed=4), 0.3)
    assert first == again
    assert [r.priority for r in first.requests] != [r.priority for r in other.requests]
    assert [(r.prompt, r.arrival) for r in first.requests] == [(r.prompt, r.arrival) for r in work.requests]


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_a_share_outside_0_to_1_is_refused(share):
    with pytest.raises(ValueError, match=f"the share of urgent requests is {share}; it must lie between 0 and 1"):
        with_urgent(build("chat"), share)
