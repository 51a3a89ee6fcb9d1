"""The parts of the forward pass, each against its textbook definition."""

import pytest
import torch
import torch.nn.functional as F

from lab.engine import linear as linear_module
from lab.engine.linear import BothLinear, PlainLinear, ReorderedLinear, leading_wins, linear
from lab.engine.norm import MirroredResidual, PlainResidual, RmsNorm, residual
from lab.engine.rotary import pairs_together, turn_, turns
from lab.spec.model_shape import WELL_KNOWN

DTYPES = [torch.float32, torch.bfloat16]


def _close(got, expected):
    torch.testing.assert_close(got, expected, **(LOOSE if got.dtype == torch.bfloat16 else TIGHT))


TIGHT = {"atol": 1e-5, "rtol": 1e-5}
LOOSE = {"atol": 2e-2, "rtol": 2e-2}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 2, 3, 8, 33])
@pytest.mark.parametrize("bias", [False, True])
def test_a_linear_layer_is_x_times_the_transposed_weight(dtype, rows, bias):
    torch.manual_seed(0)
    x, weight, b = (torch.randn(size).to(dtype) for size in ((rows, 48), (80, 48), (80,)))
    _close(linear(weight, b if bias else None)(x), F.linear(x, weight, b if bias else None))


def test_a_linear_layer_takes_rows_that_lie_apart_in_memory():
    torch.manual_seed(0)
    x, weight = torch.randn(5, 2, 48), torch.randn(80, 48)
    _close(linear(weight)(x[:, 0]), F.linear(x[:, 0], weight))


def test_without_the_reordering_operators_plain_torch_is_used(monkeypatch):
    def absent(weight):
        raise AttributeError("no such operator")

    monkeypatch.setattr(torch.ops.mkldnn, "_reorder_linear_weight", absent)
    assert isinstance(linear_module.linear(torch.eye(16)), PlainLinear)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [(1, 48), (7, 48), (3, 4, 16)])
def test_the_norm_divides_by_the_root_mean_square(dtype, size):
    torch.manual_seed(0)
    x, weight = torch.randn(size).to(dtype), torch.randn(size[-1]).to(dtype)
    wide = x.float()
    expected = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5) * weight.float()
    _close(RmsNorm(weight, 1e-5)(x), expected.to(dtype))


def test_epsilon_counts_where_values_are_tiny():
    x = torch.full((1, 48), 1e-4)
    _close(RmsNorm(torch.ones(48), 1e-5)(x), x / (1e-8 + 1e-5) ** 0.5)


def test_a_mirrored_stream_sums_and_norms_like_a_plain_one():
    torch.manual_seed(0)
    x, first, second, norm = (
        torch.randn(6, 48),
        torch.randn(6, 48),
        torch.randn(6, 48),
        RmsNorm(torch.randn(48), 1e-5),
    )
    mirrored, plain = residual(x), PlainResidual(x)
    assert isinstance(mirrored, MirroredResidual)
    for stream in (mirrored, plain):
        stream.add(first)
        stream.add(second)
    _close(mirrored.normed(norm), plain.normed(norm))
    some = torch.tensor([4, 1])
    _close(mirrored.of(some).normed(norm), plain.of(some).normed(norm))


@pytest.mark.parametrize("dtype", DTYPES)
def test_turning_reordered_pairs_gives_the_products_of_the_hubs_rotary_embedding(dtype):
    """Scores are all that attention sees of the order of a head's values."""
    shape = WELL_KNOWN["SmolLM2-135M"]
    torch.manual_seed(0)
    q, k = torch.randn(9, shape.heads, 64), torch.randn(9, shape.heads, 64)
    positions = torch.tensor([0, 1, 2, 3, 50, 51, 700, 701, 8191])
    ours = []
    for x in (q, k):
        x = pairs_together(x.flatten(1).t().contiguous(), shape.heads).t().reshape(x.shape).contiguous().to(dtype)
        turn_(x, turns(shape)[positions])
        ours.append(x.float())
    theirs = [_hub_rotary(x, positions, shape.rope_theta) for x in (q, k)]
    scores = [torch.einsum("nhd,mhd->hnm", *pair) for pair in (ours, theirs)]
    torch.testing.assert_close(*scores, atol=0.5 if dtype == torch.bfloat16 else 1e-2, rtol=0)


def _hub_rotary(x, positions, theta):
    """The definition in transformers: halves of a head turn against each other."""
    frequencies = theta ** -(torch.arange(0, 64, 2) / 64)
    angles = (positions[:, None] * frequencies).repeat(1, 2)[:, None, :]
    low, high = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat((-high, low), dim=-1) * angles.sin()


@pytest.mark.parametrize(
    ("plain", "reordered", "rows"),
    [
        ([1, 1, 3, 3], [2, 2, 2, 2], 2),
        ([3, 1, 1, 1], [2, 2, 2, 2], 0),
        ([1, 3, 1, 1], [2, 2, 2, 2], 1),
        ([1, 1, 1, 1], [2, 2, 2, 2], 4),
    ],
)
def test_plain_products_are_used_up_to_the_first_number_of_rows_that_they_lose(plain, reordered, rows):
    assert leading_wins(plain, reordered) == rows


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_wherever_the_change_from_plain_to_reordered_lies_the_products_are_the_same(monkeypatch, rows):
    monkeypatch.setattr("lab.engine.linear.plain_rows", lambda: rows)
    weight, bias = torch.randn(48, 32), torch.randn(48)
    product = linear(weight, bias)
    assert isinstance(product, BothLinear if rows else ReorderedLinear)
    for count in (1, 2, 5):
        x = torch.randn(count, 32)
        torch.testing.assert_close(product(x), x @ weight.T + bias, atol=1e-4, rtol=1e-4)
