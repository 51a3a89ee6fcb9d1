"""Predicted seconds: never negative, never falling as a step grows, the same in one long run as in single steps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.engine.cost_model import KNOTS, CostModel, PredictedExecutor, Sizes, sizes_of, terms
from lab.engine.roofline import Efficiency, Roofline
from lab.engine.rounding import rounded
from lab.engine.step import Horizon, Row, Step
from lab.spec.devices import ACCELERATORS
from lab.spec.model_shape import WELL_KNOWN

COUNT = 5 + len(KNOTS)
coefficients = st.tuples(*[st.floats(0, 0.1)] * COUNT)
sizes = st.builds(Sizes, *[st.integers(0, 3000)] * 4)


def _prompt(slot, length, padded_to=None):
    return Row(slot, slot, (0,) * length, 0, True, padded_to or length)


def _decode(slot, past, live=True):
    return Row(slot, slot, (0,), past, live, 1)


def test_sizes_count_padding_dead_rows_and_every_key():
    rows = (_decode(0, 9), _decode(1, 4, live=False), _prompt(2, 5, padded_to=7), _prompt(3, 7))
    assert sizes_of(rows) == Sizes(positions=1 + 1 + 7 + 7, keys=10 + 5, blocks=1, squares=49 + 49)


def test_prompts_of_unequal_length_are_blocks_of_their_own():
    assert sizes_of((_prompt(0, 5), _prompt(1, 5), _prompt(2, 6), _prompt(3, 5))).blocks == 3


def test_a_step_with_prompts_is_filled_up_and_a_decode_step_never():
    assert sizes_of((_decode(0, 9), _prompt(1, 20)), rounded).positions == 32
    assert sizes_of((_decode(0, 9), _decode(1, 9)), rounded).positions == 2


def test_the_parts_between_the_knots_add_up_to_the_positions():
    for positions in (0, 1, 3, 64, 700, 5000):
        assert sum(terms(Sizes(positions, 0, 0, 0))[5:]) == positions


@given(coefficients, sizes)
def test_seconds_are_the_sum_of_coefficients_times_terms(coefficients, sizes):
    if not sizes.blocks:
        sizes = sizes._replace(squares=0)
    expected = sum(c * t for c, t in zip(coefficients, terms(sizes), strict=True))
    assert CostModel(coefficients).seconds(sizes) == pytest.approx(expected)


@given(coefficients, sizes, sizes)
def test_a_larger_step_is_never_predicted_to_be_quicker(coefficients, a, b):
    cost = CostModel(coefficients)
    larger = Sizes(*map(max, a, b))
    assert 0 <= cost.seconds(a) <= cost.seconds(larger) + 1e-12


@pytest.mark.parametrize("wrong", [(0.1,) * (COUNT - 1), (-0.1,) * COUNT, (float("nan"),) * COUNT])
def test_coefficients_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match="none of them negative"):
        CostModel(wrong)


def test_many_steps_at_once_take_as_long_as_the_same_steps_one_by_one():
    cost = CostModel((0.01, 0.0, 0.0, 1e-5, 0.0) + (1e-3,) * len(KNOTS))
    executor = PredictedExecutor(cost, 10**9)
    many = executor.run(Step((_decode(0, 5), _decode(1, 9, live=False))), Horizon(6, float("inf")))
    singles = [
        executor.run(Step((_decode(0, 5 + k), _decode(1, 9 + k, live=False))), Horizon(1, float("inf"))).seconds[0]
        for k in range(6)
    ]
    assert many.seconds == pytest.approx(singles)
    assert many.tokens == ((),) * 6


def test_no_further_step_begins_once_the_horizon_has_passed():
    cost = CostModel((0.01,) + (0.0,) * (COUNT - 1))
    executor = PredictedExecutor(cost, 10**9)
    assert len(executor.run(Step((_decode(0, 5),)), Horizon(100, 0.025)).seconds) == 3
    assert len(executor.run(Step((_decode(0, 5),)), Horizon(2, 0.025)).seconds) == 2
    assert len(executor.run(Step((_prompt(0, 5),)), Horizon(9, 1.0)).seconds) == 1


def test_a_roofline_gives_the_textbook_step_of_an_8b_model_on_an_h100():
    """15 GB of weights at 0.7 × 3350 GB/s are 6.4 ms; eight rows of 1024 tokens of 131,072 bytes 0.46 ms."""
    roofline = Roofline(ACCELERATORS["H100"], WELL_KNOWN["Llama-3.1-8B"], Efficiency(0.7, 0.6, 0.0))
    assert roofline.seconds(Sizes(8, 0, 0, 0)) == pytest.approx(15.01e9 / (0.7 * 3350e9), rel=0.01)
    keys = 8 * 1024
    added = roofline.seconds(Sizes(8, keys, 0, 0)) - roofline.seconds(Sizes(8, 0, 0, 0))
    assert added == pytest.approx(keys * 131_072 / (0.7 * 3350e9))


def test_many_positions_are_limited_by_operations_not_by_bandwidth():
    roofline = Roofline(ACCELERATORS["A100-80GB"], WELL_KNOWN["Llama-3.1-8B"], Efficiency(1.0, 1.0, 0.0))
    ridge = 312e12 / 2039e9  # positions at which both take equally long, in bf16
    below, above = (
        roofline.seconds(Sizes(int(ridge * 0.9), 0, 1, 0)),
        roofline.seconds(Sizes(int(ridge * 2), 0, 1, 0)),
    )
    assert below == pytest.approx(WELL_KNOWN["Llama-3.1-8B"].parameters_read_per_step * 2 / 2039e9)
    assert above == pytest.approx(2 * below, rel=0.02)


def test_a_model_that_does_not_fit_a_device_is_refused_with_the_numbers():
    with pytest.raises(ValueError, match=r"takes 141\.1 GB and 0\.9 of H100's memory is 72\.0 GB"):
        _ = Roofline(ACCELERATORS["H100"], WELL_KNOWN["Llama-3.1-70B"]).kv_bytes


@pytest.mark.parametrize("wrong", [{"bandwidth": 0}, {"flops": 1.1}, {"host_s": -1}])
def test_efficiencies_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match="shares lie between"):
        Efficiency(**wrong)
