"""The KV cache: one pool on the device, cut into slots, each slot with contiguous room for one request.

Refuses to know requests and lanes: who may use which slot, and when, is the scheduler's affair.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.engine.batch import Batch
from lab.spec.model_shape import ModelShape


class KvPool:
    """Keys and values of every layer, [slots, 2 (key, value), kv_heads, tokens_per_slot, head_dim] each.

    A run of neighbouring slots is a view, so attention over them copies nothing. Zeros at first: a masked
    position counts nothing only if it is finite.
    """

    def __init__(
        self, shape: ModelShape, slots: int, tokens_per_slot: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.slots = slots
        self.tokens_per_slot = tokens_per_slot
        size = (slots, 2, shape.kv_heads, tokens_per_slot, shape.head_dim)
        self._layers = [torch.zeros(size, dtype=dtype, device=device) for _ in range(shape.layers)]

    @property
    def bytes(self) -> int:
        return sum(layer.nbytes for layer in self._layers)

    def write(self, layer: int, batch: Batch, kv: Tensor) -> None:
        """Keep `kv` [tokens, 2, kv_heads, head_dim], each token's in its slot; filler at the end has none."""
        kept = len(batch.slots)
        self._layers[layer][batch.slots, :, :, batch.positions[:kept]] = kv[:kept]

    def read(self, layer: int, first: int, rows: int, tokens: int) -> tuple[Tensor, Tensor]:
        """Keys and values of the first `tokens` positions of neighbouring slots, as views.

        Each [rows, kv_heads, tokens, head_dim].
        """
        block = self._layers[layer][first : first + rows, :, :, :tokens]
        return block[:, 0], block[:, 1]
