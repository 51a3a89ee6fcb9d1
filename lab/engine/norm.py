"""Root-mean-square normalisation, x / √(mean(x²) + ε) × weight, and the stream of sums that it reads.

On a CPU torch computes it in six small operators, while LayerNorm is a single one. The two agree on [x, -x]: the
mean of that is 0, so its variance is the mean square of x. So on a CPU the stream is kept with its mirror image,
which costs nothing more when a layer's output is added, and each normalisation is one operator.
"""

from __future__ import annotations

from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor


class Residual(Protocol):
    """The running sum of what the layers add to each token, [tokens, hidden]."""

    def add(self, x: Tensor) -> None: ...

    def normed(self, weight: Tensor, eps: float) -> Tensor: ...

    def of(self, tokens: Tensor) -> Residual:
        """The sums of these tokens (by index) alone."""
        ...


def residual(x: Tensor) -> Residual:
    """A stream that starts as x. It may use x's memory."""
    return MirroredResidual(mirrored(x)) if x.device.type == "cpu" else PlainResidual(x)


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Normalise the last dimension of x."""
    if x.device.type == "cpu":
        return _normed(mirrored(x), weight, eps)
    return F.rms_norm(x, weight.shape, weight, eps)


class PlainResidual:
    def __init__(self, x: Tensor) -> None:
        self._x = x

    def add(self, x: Tensor) -> None:
        self._x = self._x + x

    def normed(self, weight: Tensor, eps: float) -> Tensor:
        return rms_norm(self._x, weight, eps)

    def of(self, tokens: Tensor) -> PlainResidual:
        return PlainResidual(self._x[tokens])


class MirroredResidual:
    """[tokens, 2, hidden]: the sums and their negatives."""

    def __init__(self, both: Tensor) -> None:
        self._both = both
        self._signs = _signs(both)

    def add(self, x: Tensor) -> None:
        self._both.addcmul_(x.unsqueeze(-2), self._signs)

    def normed(self, weight: Tensor, eps: float) -> Tensor:
        return _normed(self._both, weight, eps)

    def of(self, tokens: Tensor) -> MirroredResidual:
        return MirroredResidual(self._both[tokens])


def mirrored(x: Tensor) -> Tensor:
    """[..., n] → [..., 2, n]: x and -x."""
    return x.unsqueeze(-2) * _signs(x)


def _signs(x: Tensor) -> Tensor:
    return torch.tensor([[1.0], [-1.0]], dtype=x.dtype)


def _normed(both: Tensor, weight: Tensor, eps: float) -> Tensor:
    """The upper half of [..., 2, n], normalised."""
    n = len(weight)
    return F.layer_norm(both, (2, n), weight.expand(2, n), None, eps)[..., 0, :]
