"""The parts of the forward pass, each against its textbook definition."""

import pytest
import torch
import torch.nn.functional as F

from lab.engine import linear as linear_module
from lab.engine.linear import PackedLinear, PlainLinear, ReorderedLinear, UpTo, linear, most_rows
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


@pytest.fixture
def no_loops(monkeypatch):
    """As without numba, or where OpenMP is not GNU's."""
    monkeypatch.setattr(linear_module, "_kind", lambda dtype: None)


@pytest.fixture
def no_reordering(monkeypatch):
    def absent(weight):
        raise AttributeError("no such operator")

    monkeypatch.setattr(torch.ops.mkldnn, "_reorder_linear_weight", absent)
    linear_module._can_reorder.cache_clear()
    yield
    linear_module._can_reorder.cache_clear()


@pytest.mark.parametrize("dtype", DTYPES)
def test_without_loops_onednns_products_are_used(no_loops, dtype):
    x, weight = torch.randn(3, 64).to(dtype), torch.randn(64, 64).to(dtype)
    product = linear(weight)
    assert isinstance(product, ReorderedLinear)
    _close(product(x), F.linear(x, weight))


def test_without_either_plain_torch_is_used(no_loops, no_reordering):
    assert isinstance(linear(torch.eye(64)), PlainLinear)


@pytest.mark.parametrize("fault", [ImportError, LookupError, RuntimeError])
def test_whatever_the_loops_lack_torchs_products_are_used(monkeypatch, fault):
    def lacking(dtype):
        raise fault

    monkeypatch.setattr("lab.engine.tiles.kind_of", lacking)
    linear_module._kind.cache_clear()
    assert isinstance(linear(torch.eye(64)), ReorderedLinear)
    linear_module._kind.cache_clear()


def test_a_matrix_that_is_no_whole_blocks_is_left_to_torch(monkeypatch):
    monkeypatch.setattr(linear_module, "packed_rows", lambda dtype: float("inf"))
    assert isinstance(linear(torch.randn(64, 16)), PackedLinear)
    assert not isinstance(linear(torch.randn(65, 16)), PackedLinear)
    assert not isinstance(linear(torch.randn(64, 15).bfloat16()), PackedLinear)


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
    ("wins", "rows"),
    [
        ([True, True, True], float("inf")),
        ([True, True, False], 8),
        ([True, False, True], 1),
        ([False, True, True], 0),
    ],
)
def test_loops_are_used_up_to_the_last_number_of_rows_before_they_first_lose(wins, rows):
    assert most_rows([1, 8, 64], wins) == rows


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_wherever_the_change_from_loops_to_torch_lies_the_products_are_the_same(monkeypatch, rows):
    monkeypatch.setattr(linear_module, "packed_rows", lambda dtype: rows)
    weight, bias = torch.randn(64, 32), torch.randn(64)
    product = linear(weight, bias)
    assert isinstance(product, UpTo if rows else ReorderedLinear)
    for count in (1, 2, 5):
        x = torch.randn(count, 32)
        torch.testing.assert_close(product(x), x @ weight.T + bias, atol=1e-4, rtol=1e-4)
