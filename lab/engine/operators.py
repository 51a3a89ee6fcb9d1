"""What a forward pass does between its matrix products, in two ways that compute the same.

TorchOperators   torch's own, on any device and for any number of tokens: they use every core
LoopedOperators  lab.engine.loops, for the few tokens of a decode step on a CPU, where calling torch costs more than
                 what is computed. Without numba there are none
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from lab.engine.attention import attend, over_prompts
from lab.engine.batch import Batch
from lab.engine.kv import KvPool
from lab.engine.norm import Residual, RmsNorm, residual
from lab.engine.rotary import turn_
from lab.spec.model_shape import ModelShape

if TYPE_CHECKING:
    import numpy as np

Attention = Callable[[int, Tensor], Tensor]


class Operators(Protocol):
    def residual(self, x: Tensor) -> Residual:
        """The stream of sums that starts as `x` [tokens, hidden]."""
        ...

    def attention(self, batch: Batch, pool: KvPool) -> Attention:
        """(layer, queries, keys and values [tokens, …]) → [tokens, heads × head_dim]; turns queries and keys in
        place, and keeps keys and values in `pool`."""
        ...

    def gated(self, both: Tensor) -> Tensor:
        """SiLU(left half) × right half: [tokens, 2 × size] → [tokens, size]."""
        ...


class TorchOperators:
    """`turns` are those of lab.engine.rotary."""

    def __init__(self, shape: ModelShape, turns: Tensor) -> None:
        self._shape, self._turns = shape, turns

    def residual(self, x: Tensor) -> Residual:
        return residual(x)

    def attention(self, batch: Batch, pool: KvPool) -> Attention:
        s = self._shape
        turn, places = self._turns[batch.positions], pool.places(batch)
        cached = [pool.reader(run) for run in batch.decodes]

        def of(layer: int, every: Tensor) -> Tensor:
            by_head = every.view(len(every), s.heads + 2 * s.kv_heads, s.head_dim)
            turn_(by_head.narrow(1, 0, s.heads + s.kv_heads), turn)
            kv = keys_values(s, every)
            pool.write(layer, places, kv)
            return attend(by_head.narrow(1, 0, s.heads), kv, batch, [read(layer) for read in cached])

        return of

    def gated(self, both: Tensor) -> Tensor:
        size = self._shape.intermediate
        return F.silu(both.narrow(1, 0, size)).mul_(both.narrow(1, size, size))


class LoopedOperators:
    """Needs numba; see `looped_operators`."""

    def __init__(self, shape: ModelShape, turns: Tensor) -> None:
        from lab.engine import loops

        self._loops, self._shape = loops, shape
        self._turns = torch.view_as_real(turns).reshape(len(turns), shape.head_dim).numpy()

    def residual(self, x: Tensor) -> Residual:
        return LoopedResidual(torch.zeros(x.shape), x)

    def attention(self, batch: Batch, pool: KvPool) -> Attention:
        s, loops = self._shape, self._loops
        positions, places = batch.positions.numpy(), pool.places(batch).numpy()
        alone = batch.decoding if not batch.decodes else 0
        starts = (batch.slots[:alone] * pool.tokens_per_slot).numpy()
        out = torch.empty(alone, s.heads * s.head_dim, dtype=pool.dtype)
        written = as_array(out)
        cached = [pool.reader(run) for run in batch.decodes]

        def of(layer: int, every: Tensor) -> Tensor:
            seen, kept = as_array(every), as_array(pool.flat(layer))
            loops.turn_and_keep(seen, self._turns, positions, places, kept, s.heads + s.kv_heads, s.head_dim)
            if alone:
                loops.attend(seen, kept, starts, positions, s.kv_heads, s.head_dim, written)
            if alone == len(every):
                return out
            q = every.view(len(every), -1, s.head_dim).narrow(1, 0, s.heads)
            kv = keys_values(s, every)
            if batch.decodes:
                return attend(q, kv, batch, [read(layer) for read in cached])
            return torch.cat([out, *over_prompts(q, kv, batch)])

        return of

    def gated(self, both: Tensor) -> Tensor:
        out = both.new_empty(len(both), self._shape.intermediate)
        self._loops.gate(as_array(both), as_array(out))
        return out


class LoopedResidual:
    """The sums in fp32, [tokens, hidden]; what was added last waits until they are next asked for."""

    def __init__(self, x: Tensor, waiting: Tensor) -> None:
        from lab.engine import loops

        self._add_and_normalise = loops.add_and_normalise
        self._x, self._sums = x, x.numpy()
        self._waiting = waiting
        self._nothing = torch.zeros_like(waiting)

    def add(self, x: Tensor) -> None:
        self._waiting = x if self._waiting is self._nothing else self._waiting + x

    def normed(self, norm: RmsNorm) -> Tensor:
        out = torch.empty_like(self._waiting)
        self._add_and_normalise(self._sums, as_array(self._waiting), as_array(norm.weight), norm.eps, as_array(out))
        self._waiting = self._nothing
        return out

    def of(self, tokens: Tensor) -> LoopedResidual:
        return LoopedResidual(self._x[tokens], self._waiting[tokens])


def looped_operators(shape: ModelShape, turns: Tensor) -> LoopedOperators | None:
    """Those of a CPU; None on a GPU, without numba, and where that finds no folder to keep what it compiles."""
    if turns.device.type != "cpu":
        return None
    try:
        return LoopedOperators(shape, turns)
    except (ImportError, RuntimeError):
        return None


def keys_values(shape: ModelShape, every: Tensor) -> Tensor:
    """The part of [tokens, queries, keys and values] that is cached, [tokens, 2 × kv_heads × head_dim]."""
    return every.narrow(1, shape.heads * shape.head_dim, 2 * shape.kv_heads * shape.head_dim)


def as_array(x: Tensor) -> np.ndarray[Any, Any]:
    """numpy's view of a tensor's memory; bf16 as its 16 bits."""
    return (x.view(torch.uint16) if x.dtype == torch.bfloat16 else x).numpy()
