"""Matrix products with weights that never change, in the layout that the device reads fastest.

On a CPU the weights are re-ordered once for oneDNN (torch.ops.mkldnn, the calls that torch's own compiler
emits). Plain torch is used wherever those are missing, and for few rows in fp32 where this CPU is faster with it.
See docs/performance.md for what each is worth.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

MOST_PLAIN_ROWS = 4
TRIED_SIZE = (2048, 1024)  # 8 MB in fp32
TRIED_MATRICES = 12  # together more than a cache holds, as a model is
TRIED_ROUNDS = 5


class Linear(Protocol):
    """x Wᵀ + b: [tokens, in] → [tokens, out]."""

    def __call__(self, x: Tensor) -> Tensor: ...


def linear(weight: Tensor, bias: Tensor | None = None) -> Linear:
    """The fastest way this device has to multiply by `weight` [out, in]."""
    if weight.device.type != "cpu" or not _can_reorder(weight.dtype):
        return PlainLinear(weight, bias)
    plain = plain_rows() if weight.dtype == torch.float32 else 0
    return BothLinear(weight, bias, plain) if plain else ReorderedLinear(weight, bias)


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


class BothLinear:
    """Plain up to `plain_rows` rows, reordered for more; costs the memory of both."""

    def __init__(self, weight: Tensor, bias: Tensor | None, plain_rows: int) -> None:
        self._plain, self._reordered = PlainLinear(weight, bias), ReorderedLinear(weight, bias)
        self._plain_rows = plain_rows

    def __call__(self, x: Tensor) -> Tensor:
        return self._plain(x) if len(x) <= self._plain_rows else self._reordered(x)


@cache
def plain_rows() -> int:
    """Up to how many rows plain fp32 products beat reordered ones on this CPU, by a measurement of a moment.

    On Intel's CPUs they do for one and two rows; on AMD's they take twice as long.
    """
    weights = [torch.randn(TRIED_SIZE) for _ in range(TRIED_MATRICES)]
    kinds = [[kind(weight, None) for weight in weights] for kind in (PlainLinear, ReorderedLinear)]
    best = [[float("inf")] * MOST_PLAIN_ROWS for _ in kinds]
    for _ in range(TRIED_ROUNDS):
        for rows in range(1, MOST_PLAIN_ROWS + 1):
            x = torch.randn(rows, TRIED_SIZE[1])
            for kind, seconds in zip(kinds, best, strict=True):
                seconds[rows - 1] = min(seconds[rows - 1], _seconds(kind, x))
    return leading_wins(*best)


def leading_wins(ours: Sequence[float], theirs: Sequence[float]) -> int:
    """How many of the first of `ours` are smaller than their counterparts, up to the first that is not."""
    wins = [mine < other for mine, other in zip(ours, theirs, strict=True)]
    return wins.index(False) if False in wins else len(wins)


@torch.inference_mode()
def _seconds(products: Sequence[Linear], x: Tensor) -> float:
    start = time.perf_counter()
    for product in products:
        product(x)
    return time.perf_counter() - start


def _can_reorder(dtype: torch.dtype) -> bool:
    """Does this build of torch have the operators, and this CPU the instructions? Tried on a small product."""
    weight = torch.eye(16, dtype=dtype)
    try:
        return torch.equal(ReorderedLinear(weight, None)(weight), weight)
    except (AttributeError, RuntimeError):
        return False
