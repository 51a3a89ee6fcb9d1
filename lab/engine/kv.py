"""The KV cache: one pool on the device, cut into slots, each slot with contiguous room for one request.

Refuses to know requests and lanes: who may use which slot, and when, is the scheduler's affair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.engine.array import as_array
from lab.engine.batch import Batch, DecodeRun
from lab.spec.model_shape import ModelShape


class KvPool:
    """Keys and values, [layers, slots, tokens_per_slot, 2 (key, value), kv_heads, head_dim]; `flat` are those of
    each layer, [slots × tokens_per_slot, 2 × kv_heads × head_dim].

    Neighbouring slots are a view, so attention over them copies nothing; a token's keys and values lie side by
    side, so writing them is one copy. Zeros at first: a masked position counts nothing only if it is finite.
    """

    def __init__(
        self, shape: ModelShape, slots: int, tokens_per_slot: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.slots = slots
        self.tokens_per_slot = tokens_per_slot
        self.dtype = dtype
        size = (shape.layers, slots, tokens_per_slot, 2, shape.kv_heads, shape.head_dim)
        self._pool = torch.zeros(size, dtype=dtype, device=device)
        self.flat = self._pool.view(shape.layers, slots * tokens_per_slot, -1).unbind(0)

    @property
    def bytes(self) -> int:
        return self._pool.nbytes

    @cached_property
    def arrays(self) -> list[np.ndarray[Any, Any]]:
        """`flat` for loops."""
        return [as_array(layer) for layer in self.flat]

    def places(self, batch: Batch) -> Tensor:
        """Where `write` puts each of the batch's tokens that have a slot."""
        return batch.slots * self.tokens_per_slot + batch.positions[: len(batch.slots)]

    def write(self, layer: int, places: Tensor, kv: Tensor) -> None:
        """Keep `kv` [tokens, 2 × kv_heads × head_dim] at `places`; tokens beyond those (filler) are not kept."""
        self.flat[layer].index_copy_(0, places, kv.narrow(0, 0, len(places)))

    def reader(self, run: DecodeRun) -> Callable[[int], tuple[Tensor, Tensor]]:
        """What a decoding run attends to: layer → keys and values, each [slots, kv_heads, context, head_dim]."""
        if run.gathered is None:
            return self.read(run.first_slot, run.slots, run.context).__getitem__
        slots, context = run.gathered, run.context

        def copied(layer: int) -> tuple[Tensor, Tensor]:
            keys, values = self._pool[layer, :, :context].index_select(0, slots).unbind(2)
            return keys.transpose(1, 2), values.transpose(1, 2)

        return copied

    def read(self, first: int, slots: int, tokens: int) -> list[tuple[Tensor, Tensor]]:
        """Keys and values of each layer, as views: the first `tokens` positions of neighbouring slots.

        Each [slots, kv_heads, tokens, head_dim].
        """
        block = self._pool[:, first : first + slots, :tokens]
        keys, values = (part.transpose(2, 3).unbind(0) for part in block.unbind(3))
        return list(zip(keys, values, strict=True))
