"""Memory before a run: the honest sum, the popular rule, and the largest setting that fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.scheduling.memory_check import Setting, largest_fitting, plan, refusal, simple_rule
from lab.spec.model_shape import WELL_KNOWN

LLAMA = WELL_KNOWN["Llama-3.1-8B"]
WEIGHTS = 2 * LLAMA.parameters


def _plan(requests, tokens, available=80e9):
    return plan(Setting(requests, tokens, positions=1, rows=1), LLAMA, 2, WEIGHTS, int(available))


def test_the_popular_rule_gives_forty_and_then_thirty_two():
    assert simple_rule(80e9, 2e9) == (40, 32)


def test_the_popular_rule_takes_a_power_of_two_and_nothing_where_nothing_fits():
    assert simple_rule(64e9, 1e9) == (64, 64)
    assert simple_rule(1e9, 2e9) == (0, 0)
    with pytest.raises(ValueError, match="both must be above 0"):
        simple_rule(80e9, 0)


@pytest.mark.parametrize(("tokens", "requests"), [(512, 833), (2048, 208), (8192, 52)])
def test_how_many_requests_fit_an_80_gb_device_depends_on_their_tokens(tokens, requests):
    """0.9 × 80 GB less the weights of an 8B model, over 131,072 bytes a token: published arithmetic."""
    room = 0.9 * 80e9 - WEIGHTS
    assert int(room // (tokens * 131_072)) == requests
    found = largest_fitting(lambda n: _plan(n, tokens).fits, 4096)
    assert requests - 4 <= found <= requests  # the margin and a step's activations take the rest


def test_every_part_of_the_sum_is_stated():
    found = plan(Setting(8, 100, positions=512, rows=8), LLAMA, 2, WEIGHTS, 10**11)
    assert found.kv == 8 * 100 * 131_072
    assert found.logits == 8 * 128_256 * 6
    assert found.activations == 512 * (3 * 4096 + 80 * 128 + 3 * 14336) * 2
    assert found.needed == WEIGHTS + found.kv + found.logits + found.activations + found.margin
    assert found.fits


def test_a_refusal_says_all_the_numbers_and_the_way_out():
    found = _plan(64, 8192)
    said = refusal(found, 52)
    for number in (found.needed, found.weights, found.kv, found.activations, found.logits, found.margin, 80e9):
        assert f"{number / 1e6:,.0f} MB" in said
    assert said.endswith("the largest batch size that fits is 52")
    assert "not even a batch size of 1 fits" in refusal(found, 0)


@given(st.integers(0, 300), st.integers(1, 300))
def test_the_largest_that_fits_is_found(limit, asked):
    assert largest_fitting(lambda size: size <= limit, asked) == min(limit, asked - 1)
