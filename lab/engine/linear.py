"""Matrix products with weights that never change."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


class Linear:
    """x Wᵀ + b for x [tokens, in]; W is [out, in]."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self._weight = weight
        self._bias = bias

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self._weight, self._bias)
