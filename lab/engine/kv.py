"""The KV cache: one pool on the device, cut into slots, each slot with contiguous room for one request.

Refuses to know requests and lanes: who may use which slot, and when, is the scheduler's affair.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.engine.batch import Batch
from lab.spec.model_shape import ModelShape


class KvPool:
    """Keys and values, [layers, slots, 2 (key, value), kv_heads, tokens_per_slot, head_dim].

    Neighbouring slots are a view, so attention over them copies nothing. Zeros at first: a masked position
    counts nothing only if it is finite.
    """

    def __init__(
        self, shape: ModelShape, slots: int, tokens_per_slot: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.slots = slots
        self.tokens_per_slot = tokens_per_slot
        size = (shape.layers, slots, 2, shape.kv_heads, tokens_per_slot, shape.head_dim)
        self._pool = torch.zeros(size, dtype=dtype, device=device)
        self._layers = self._pool.unbind(0)

    @property
    def bytes(self) -> int:
        return self._pool.nbytes

    def write(self, layer: int, batch: Batch, kv: Tensor) -> None:
        """Keep `kv` [tokens, 2, kv_heads, head_dim], each token's in its slot; filler at the end has none."""
        kept = len(batch.slots)
        self._layers[layer][batch.slots, :, :, batch.positions[:kept]] = kv[:kept]

    def read(self, first: int, slots: int, tokens: int) -> list[tuple[Tensor, Tensor]]:
        """Keys and values of each layer, as views: the first `tokens` positions of neighbouring slots.

        Each [slots, kv_heads, tokens, head_dim].
        """
        block = self._pool[:, first : first + slots, :, :, :tokens]
        return list(zip(block[:, :, 0].unbind(0), block[:, :, 1].unbind(0), strict=True))
