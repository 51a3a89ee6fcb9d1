"""Root-mean-square normalisation: x / √(mean(x²) + ε) × weight."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


class RmsNorm:
    """Over the last dimension, which has the size of `weight`.

    On a CPU torch computes it in six small operators; LayerNorm is one fused operator there. The two agree on
    [x, -x]: its mean is 0, so its variance is the mean square of x. One concatenation buys the fused kernel.
    """

    def __init__(self, weight: Tensor, eps: float) -> None:
        self._weight, self._eps = weight, eps
        self._mirrored = torch.cat((weight, weight)) if weight.device.type == "cpu" else None

    def __call__(self, x: Tensor) -> Tensor:
        if self._mirrored is None:
            return F.rms_norm(x, self._weight.shape, self._weight, self._eps)
        both = torch.cat((x, -x), dim=-1)
        return F.layer_norm(both, self._mirrored.shape, self._mirrored, None, self._eps)[..., : len(self._weight)]
