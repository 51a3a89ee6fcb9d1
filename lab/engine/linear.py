"""Matrix products with weights that never change, in the layout that the device reads fastest.

On a CPU the weights are packed once for the loops of lab.engine.tiles, or, where those are missing or slower, put
into the order of oneDNN (torch.ops.mkldnn, the calls that torch's own compiler emits); plain torch is used wherever
neither is there. Which it is, and up to how many rows, is found by a measurement of a moment. See
docs/performance.md for what each is worth.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

if TYPE_CHECKING:
    from lab.engine.tiles import Kind

NAMES = {torch.float32: "fp32", torch.bfloat16: "bf16"}
TRIED_SIZE = (1024, 1024)
TRIED_MATRICES = 24  # together more than a cache holds, as a model is
TRIED_ROWS = (1, 8, 64, 256)
FEW_ROWS = 8  # more of them take long enough to be timed on fewer matrices
TRIED_ROUNDS = 5
CLEARLY = (
    0.6  # of the loops' time: what is not quicker than that may be a neighbour's doing, and no second copy's worth
)


class Linear(Protocol):
    """x Wᵀ + b: [tokens, in] → [tokens, out]."""

    def __call__(self, x: Tensor) -> Tensor: ...


def linear(weight: Tensor, bias: Tensor | None = None) -> Linear:
    """The fastest way this device has to multiply by `weight` [out, in]."""
    if weight.device.type != "cpu":
        return PlainLinear(weight, bias)
    kind = _kind(weight.dtype)
    rows = packed_rows(weight.dtype) if kind and PackedLinear.fits(weight, kind) else 0
    if kind is None or not rows:
        return _torch_linear(weight, bias)
    packed = PackedLinear(weight, bias, kind)
    return packed if rows == math.inf else UpTo(rows, packed, _torch_linear(weight, bias))


def _torch_linear(weight: Tensor, bias: Tensor | None) -> Linear:
    return (ReorderedLinear if _can_reorder(weight.dtype) else PlainLinear)(weight, bias)


class PlainLinear:
    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight, self._bias = weight, bias

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self._weight, self._bias)


class ReorderedLinear:
    """oneDNN's product with weights in oneDNN's own order."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight)
        self._bias = bias
        self._multiply = torch.ops.mkldnn._linear_pointwise.default

    def __call__(self, x: Tensor) -> Tensor:
        y: Tensor = self._multiply(x, self._weight, self._bias, "none", [], "")
        return y


class PackedLinear:
    """A loop of lab.engine.tiles over weights in the order in which it reads them."""

    def __init__(self, weight: Tensor, bias: Tensor | None, kind: Kind) -> None:
        from lab.engine.tiles import ALIGNED, WORD, Product

        words = weight.contiguous().view(torch.int32)
        outputs, steps = words.shape
        room = torch.empty(words.numel() + ALIGNED // WORD, dtype=torch.int32)
        first = -room.data_ptr() % ALIGNED // WORD
        packed = room[first : first + words.numel()].view(outputs // kind.block, steps, kind.block)
        packed.copy_(words.view(outputs // kind.block, kind.block, steps).transpose(1, 2))
        self._product = Product(kind, packed.data_ptr(), outputs // kind.block, steps)
        self._packed, self._bias, self._dtype = packed, bias, weight.dtype
        self._outputs, self._inputs = weight.shape

    @staticmethod
    def fits(weight: Tensor, kind: Kind) -> bool:
        """Whole blocks of outputs, and inputs in whole words?"""
        outputs, inputs = weight.shape
        return outputs % kind.block == 0 and inputs > 0 and inputs * weight.itemsize % 4 == 0

    def __call__(self, x: Tensor) -> Tensor:
        if x.dtype != self._dtype or not x.is_cpu or x.dim() != 2 or x.shape[1] != self._inputs:
            given = f"x is {x.dtype} {tuple(x.shape)} on {x.device}"  # the loop reads memory and asks nobody
            raise ValueError(f"{given}; it must be {self._dtype} [rows, {self._inputs}] on a CPU")
        x = x.contiguous()
        y = x.new_empty(len(x), self._outputs)
        self._product(x.data_ptr(), y.data_ptr(), len(x), torch.get_num_threads())
        return y if self._bias is None else y.add_(self._bias)


class UpTo:
    """`few` for up to `rows` rows, `many` for more; costs the memory of both."""

    def __init__(self, rows: float, few: Linear, many: Linear) -> None:
        self._rows, self._few, self._many = rows, few, many

    def __call__(self, x: Tensor) -> Tensor:
        return self._few(x) if len(x) <= self._rows else self._many(x)


@cache
def _kind(dtype: torch.dtype) -> Kind | None:
    """How the loops multiply on this CPU; None without numba, GNU OpenMP or wide registers, and where numba finds
    no folder to keep what it compiles."""
    try:
        from lab.engine.tiles import kind_of

        return kind_of(NAMES[dtype])
    except (ImportError, LookupError, RuntimeError):
        return None


@cache
def packed_rows(dtype: torch.dtype) -> float:
    """Up to how many rows the loops are not clearly slower than torch on this CPU: 0 if they are at once, infinite
    if they never are. CPUs with instructions for whole matrices prefer torch for many rows."""
    kind = _kind(dtype)
    assert kind is not None, "tried without loops"
    weights = [torch.ones(TRIED_SIZE, dtype=dtype) for _ in range(TRIED_MATRICES)]
    ways: list[Callable[[Tensor], Linear]] = [
        lambda w: PackedLinear(w, None, kind),
        lambda w: _torch_linear(w, None),
    ]
    ours, theirs = ([way(weight) for weight in weights] for way in ways)
    return most_rows(TRIED_ROWS, [_faster(ours, theirs, rows, dtype) for rows in TRIED_ROWS])


def most_rows(tried: Sequence[int], wins: Sequence[bool]) -> float:
    """The largest size tried up to which all are won; infinite where all are, 0 where not even the first."""
    won = len(list(takewhile(bool, wins)))
    return math.inf if won == len(tried) else tried[won - 1] if won else 0


@torch.inference_mode()
def _faster(ours: Sequence[Linear], theirs: Sequence[Linear], rows: int, dtype: torch.dtype) -> bool:
    """Do the first not take clearly longer for so many rows? The best of a few rounds, in turns."""
    x, tried = torch.ones(rows, TRIED_SIZE[1], dtype=dtype), None if rows <= FEW_ROWS else 4
    best = [math.inf, math.inf]
    for _ in range(TRIED_ROUNDS):
        for i, products in enumerate((ours, theirs)):
            best[i] = min(best[i], _seconds(products[:tried], x))
    return best[0] * CLEARLY <= best[1]


def _seconds(products: Sequence[Linear], x: Tensor) -> float:
    start = time.perf_counter()
    for product in products:
        product(x)
    return time.perf_counter() - start


@cache
def _can_reorder(dtype: torch.dtype) -> bool:
    """Does this build of torch have the operators, and this CPU the instructions? Tried on a small product."""
    weight = torch.eye(16, dtype=dtype)
    try:
        return torch.equal(ReorderedLinear(weight, None)(weight), weight)
    except (AttributeError, RuntimeError):
        return False
