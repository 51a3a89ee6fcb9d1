"""The KV ledger in tokens."""

import pytest

from lab.scheduling.memory import Ledger, padded_reservation, ragged_reservation
from lab.scheduling.order import Waiting


def test_what_is_reserved_is_given_back_once():
    ledger = Ledger(100)
    ledger.reserve(1, 60)
    ledger.reserve(2, 40)
    assert ledger.free == 0
    ledger.give_back(1)
    assert (ledger.reserved, ledger.free) == (40, 60)
    with pytest.raises(KeyError):
        ledger.give_back(1)


def test_a_ledger_cannot_be_overdrawn():
    ledger = Ledger(100)
    with pytest.raises(AssertionError, match="101 tokens asked, 100 free"):
        ledger.reserve(1, 101)


def test_a_budget_below_one_token_is_refused():
    with pytest.raises(ValueError, match="KV budget is 0 tokens"):
        Ledger(0)


def test_the_rectangle_is_as_wide_as_the_longest_prompt_and_the_longest_answer():
    short_long = [Waiting(0, 0, 10, 90, 0), Waiting(1, 0, 50, 10, 0)]
    assert padded_reservation(short_long) == 2 * (50 + 90)
    assert [ragged_reservation(w) for w in short_long] == [100, 60]
    assert padded_reservation([]) == 0
