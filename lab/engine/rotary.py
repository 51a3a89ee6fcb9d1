"""Rotary position embedding: each pair of a head's values is a complex number, turned by an angle that grows
with the token's position.

The model hub pairs value i with value i + head_dim / 2. Here a pair lies side by side: query and key rows are
re-ordered once, when the model is loaded, which leaves every product of a query with a key as it was.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.spec.model_shape import ModelShape


def turns(shape: ModelShape) -> Tensor:
    """e^(i · position · frequency) of every position and pair, complex [context, 1, head_dim / 2]."""
    exponents = torch.arange(0, shape.head_dim, 2, dtype=torch.float32) / shape.head_dim
    angles = torch.outer(torch.arange(shape.context, dtype=torch.float32), 1.0 / shape.rope_theta**exponents)
    return torch.polar(torch.ones_like(angles), angles).unsqueeze(1)


def pairs_together(rows: Tensor, heads: int) -> Tensor:
    """Re-order what gives queries or keys ([heads × head_dim, …]: weight, bias or norm) from the hub's order."""
    halves = rows.view(heads, 2, rows.shape[0] // heads // 2, -1)
    return halves.transpose(1, 2).reshape(rows.shape)


def turn_(x: Tensor, turn: Tensor) -> None:
    """Turn x [tokens, heads, head_dim] in place by `turn` [tokens, 1, head_dim / 2]; computed in fp32."""
    tokens, heads, dim = x.shape
    pairs = x.view(tokens, heads, dim // 2, 2)
    turned = torch.view_as_complex(pairs.float()).mul_(turn)
    if x.dtype != torch.float32:  # else float() copied nothing, and x is turned already
        pairs.copy_(torch.view_as_real(turned))
