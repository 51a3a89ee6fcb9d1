"""What a forward pass does between its matrix products, in two ways that compute the same.

TorchOperators   torch's own, on any device and for any number of tokens: they use every core
LoopedOperators  lab.engine.loops, for the few tokens of a decode step on a CPU, where calling torch costs more than
                 what is computed. Without numba there are none
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from lab.engine.array import as_array
from lab.engine.attention import attend
from lab.engine.batch import Batch
from lab.engine.kv import KvPool
from lab.engine.norm import Residual, RmsNorm, residual
from lab.engine.rotary import turn_
from lab.spec.model_shape import ModelShape

if TYPE_CHECKING:
    from lab.engine.team import Team

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
        from lab.engine.team import team

        self._loops, self._shape = loops, shape
        self._turns = torch.view_as_real(turns).reshape(len(turns), shape.head_dim).numpy()
        try:
            self._team: Team | None = team()
        except LookupError:  # then attention stays on one core
            self._team = None

    @property
    def cores(self) -> int:
        """On how many it attends."""
        return torch.get_num_threads() if self._team else 1

    def residual(self, x: Tensor) -> Residual:
        return LoopedResidual(torch.zeros(x.shape), x)

    def attention(self, batch: Batch, pool: KvPool) -> Attention:
        s = self._shape
        out = torch.zeros(len(batch.ids), s.heads * s.head_dim, dtype=pool.dtype)
        cached = [pool.reader(run) for run in batch.decodes]
        looped = (self._by_team if self._team else self._by_calls)(batch, pool, out)

        def of(layer: int, every: Tensor) -> Tensor:
            looped(layer, every)
            if not (batch.decodes or batch.prompts):
                return out
            q = every.view(len(every), -1, s.head_dim).narrow(1, 0, s.heads)
            rest = attend(q, keys_values(s, every), batch, [read(layer) for read in cached])
            return torch.cat([out[: batch.alone], rest]) if batch.alone else rest

        return of

    def _by_calls(self, batch: Batch, pool: KvPool, out: Tensor) -> Callable[[int, Tensor], None]:
        """Turning, keeping and looking of the tokens that do so alone, into `out`, on one core."""
        s, loops, found = self._shape, self._loops, as_array(out)
        positions, places = batch.positions.numpy(), pool.places(batch).numpy()
        starts = (batch.slots[: batch.alone] * pool.tokens_per_slot).numpy()

        def of(layer: int, every: Tensor) -> None:
            seen, kept = as_array(every), pool.arrays[layer]
            sizes = (s.heads + s.kv_heads, s.head_dim, 0, len(seen))
            loops.turn_and_keep(seen, self._turns, positions, places, kept, *sizes)
            loops.attend(seen, kept, starts, positions, s.kv_heads, s.head_dim, found, 0, len(starts))

        return of

    def _by_team(self, batch: Batch, pool: KvPool, out: Tensor) -> Callable[[int, Tensor], None]:
        """The same, on as many cores as there are."""
        s, team = self._shape, self._team
        assert team is not None, "looked for before"
        share = self._loops.attention_share(8 * out.itemsize).address
        places, starts = pool.places(batch), batch.slots[: batch.alone] * pool.tokens_per_slot
        threads = torch.get_num_threads() if len(batch.ids) > 1 else 1
        rest = (
            out.data_ptr(), out.shape[1], self._turns.ctypes.data, len(self._turns), batch.positions.data_ptr(),
            places.data_ptr(), len(places), starts.data_ptr(), len(starts),
            s.heads + s.kv_heads, s.kv_heads, s.head_dim,
        )  # fmt: skip

        # What lies at the addresses in `rest` is held as long as they are used.
        def of(layer: int, every: Tensor, _held: object = (places, starts)) -> None:
            kept = pool.flat[layer]
            team.run(share, (every.data_ptr(), *every.shape, kept.data_ptr(), *kept.shape, *rest), threads)

        return of

    def gated(self, both: Tensor) -> Tensor:
        out = both.new_empty(len(both), self._shape.intermediate)
        self._loops.gate(as_array(both), as_array(out))
        return out


class LoopedResidual:
    """The sums in fp32, [tokens, hidden]; what was added last waits until they are next asked for.

    What `normed` returns holds until it is asked again.
    """

    def __init__(self, x: Tensor, waiting: Tensor) -> None:
        from lab.engine import loops

        self._add_and_normalise = loops.add_and_normalise
        self._x, self._sums = x, x.numpy()
        self._waiting = waiting
        self._nothing = torch.zeros_like(waiting)
        self._normed = torch.empty_like(waiting)
        self._written = as_array(self._normed)

    def add(self, x: Tensor) -> None:
        self._waiting = x if self._waiting is self._nothing else self._waiting + x

    def normed(self, norm: RmsNorm) -> Tensor:
        self._add_and_normalise(self._sums, as_array(self._waiting), norm.array, norm.eps, self._written)
        self._waiting = self._nothing
        return self._normed

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
