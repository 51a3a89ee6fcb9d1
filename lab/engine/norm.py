"""Root-mean-square normalisation, x / √(mean(x²) + ε) × weight, and the stream of sums that it reads.

On a CPU torch computes it in six small operators, while LayerNorm is a single one. The two agree on [x, -x]: the
mean of that is 0, so its variance is the mean square of x. So on a CPU the stream is kept with its mirror image,
which costs nothing more when a layer's output is added, and each normalisation is one operator.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lab.engine.array import as_array


class RmsNorm:
    """Normalises the last dimension, which has the size of `weight`."""

    def __init__(self, weight: Tensor, eps: float) -> None:
        self.weight, self.eps = weight, eps
        self._doubled = weight.repeat(2, 1)
        self._size = list(self._doubled.shape)
        self._on_cpu = weight.device.type == "cpu"
        self._signs = mirror_signs(weight)

    def __call__(self, x: Tensor) -> Tensor:
        if self._on_cpu:
            return self.of_mirrored(x.unsqueeze(-2) * self._signs)
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)

    @cached_property
    def array(self) -> np.ndarray[Any, Any]:
        """The weight, for loops."""
        return as_array(self.weight)

    def of_mirrored(self, both: Tensor) -> Tensor:
        """[..., 2, n] of x and -x → [..., n], x normalised."""
        return torch.layer_norm(both, self._size, self._doubled, None, self.eps).select(-2, 0)


class Residual(Protocol):
    """The running sum of what the layers give for each token, [tokens, hidden]."""

    def add(self, x: Tensor) -> None: ...

    def normed(self, norm: RmsNorm) -> Tensor: ...

    def of(self, tokens: Tensor) -> Residual:
        """The sums of these tokens (indices) alone."""
        ...


def residual(x: Tensor) -> Residual:
    """A stream that starts as `x`."""
    return MirroredResidual(x.unsqueeze(-2) * mirror_signs(x)) if x.device.type == "cpu" else PlainResidual(x)


class PlainResidual:
    def __init__(self, x: Tensor) -> None:
        self._x = x

    def add(self, x: Tensor) -> None:
        self._x = self._x + x

    def normed(self, norm: RmsNorm) -> Tensor:
        return norm(self._x)

    def of(self, tokens: Tensor) -> PlainResidual:
        return PlainResidual(self._x[tokens])


class MirroredResidual:
    """[tokens, 2, hidden]: the sums and their negatives."""

    def __init__(self, both: Tensor) -> None:
        self._both = both
        self._signs = mirror_signs(both)

    def add(self, x: Tensor) -> None:
        self._both.addcmul_(x.unsqueeze(-2), self._signs)

    def normed(self, norm: RmsNorm) -> Tensor:
        return norm.of_mirrored(self._both)

    def of(self, tokens: Tensor) -> MirroredResidual:
        return MirroredResidual(self._both[tokens])


def mirror_signs(like: Tensor) -> Tensor:
    return torch.tensor([[1.0], [-1.0]], dtype=like.dtype, device=like.device)
