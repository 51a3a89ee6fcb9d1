"""A row of the table with a rule turned over."""

import pytest

from lab.scheduling.hybrid import base_of, hybrid, rules_of
from lab.scheduling.policy import MODES, mode


@pytest.mark.parametrize("name", MODES)
def test_a_row_with_its_own_rules_stays_the_row(name):
    assert hybrid(mode(name), rules_of(mode(name))) == mode(name)


def test_a_hybrid_differs_from_its_row_in_the_rule_and_in_the_name_that_says_so():
    ragged = hybrid(mode("static", 4), [])
    assert (ragged.name, ragged.padded, ragged.refill) == ("static -padded", False, False)
    assert (ragged.max_batch_size, ragged.max_queue_delay) == (4, mode("static").max_queue_delay)
    assert hybrid(mode("dynamic"), ["refill"]).name == "dynamic +refill -padded"
    assert base_of("dynamic +refill -padded") == "dynamic"


def test_refill_of_a_rectangle_is_refused():
    with pytest.raises(ValueError, match="refill and padded exclude each other"):
        hybrid(mode("static"), ["refill", "padded"])
