"""Matrix products with weights that never change, in the layout that the device reads fastest.

On a CPU the weights are re-ordered once for oneDNN (torch.ops.mkldnn, the calls that torch's own compiler
emits). Plain torch is used wherever those are missing. See docs/performance.md for what each is worth.
"""

from __future__ import annotations

from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

# Up to so many rows, plain fp32 products (a matrix-vector routine in essence) beat oneDNN's.
PLAIN_ROWS_FP32 = 2


class Linear(Protocol):
    """x Wᵀ + b: [tokens, in] → [tokens, out]."""

    def __call__(self, x: Tensor) -> Tensor: ...


def linear(weight: Tensor, bias: Tensor | None = None) -> Linear:
    """The fastest way this device has to multiply by `weight` [out, in]."""
    if weight.device.type != "cpu" or not _can_reorder(weight.dtype):
        return PlainLinear(weight, bias)
    if weight.dtype == torch.float32:
        return BothLinear(PlainLinear(weight, bias), ReorderedLinear(weight, bias))
    return ReorderedLinear(weight, bias)


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
    """fp32: plain for very few rows, reordered for more; costs the memory of both."""

    def __init__(self, plain: PlainLinear, reordered: ReorderedLinear) -> None:
        self._plain, self._reordered = plain, reordered

    def __call__(self, x: Tensor) -> Tensor:
        return self._plain(x) if len(x) <= PLAIN_ROWS_FP32 else self._reordered(x)


def _can_reorder(dtype: torch.dtype) -> bool:
    """Does this build of torch have the operators, and this CPU the instructions? Tried on a small product."""
    weight = torch.eye(16, dtype=dtype)
    try:
        return torch.equal(ReorderedLinear(weight, None)(weight), weight)
    except (AttributeError, RuntimeError):
        return False
