"""Decode steps recorded once and played again: on a GPU a small model's step is little but launching kernels.

A recording has fixed sizes, so rows and context are rounded up to a few buckets; rows that nobody asked for
work in a spare slot. Everything that differs from step to step lies in one tensor that is filled before playing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from lab.engine.batch import Batch, DecodeRun
from lab.engine.kv import KvPool
from lab.engine.model import Model
from lab.engine.step import Row

ROW_BUCKETS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128)
SHORTEST_CONTEXT = 64

Work = Callable[[], Tensor]
Recorder = Callable[[Work], Work]


class Bucket(NamedTuple):
    """The sizes of one recording: `rows` rows, each attending to the first `context` tokens of its slot."""

    rows: int
    context: int


def as_is(work: Work) -> Work:
    """The recorder for a device without graphs: the work itself, done again each time."""
    return work


def cuda_graph(device: torch.device, work: Work) -> Work:
    """Record `work` as a CUDA graph; what it returns is overwritten when it is played again."""
    with torch.cuda.device(device):
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # libraries set themselves up on first use, which cannot be recorded
            work()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = work()

    def play() -> Tensor:
        graph.replay()
        return result

    return play


class DecodeGraphs:
    """Recordings of decode steps over one KV pool, whose last slot is spare; gone with the pool."""

    def __init__(self, model: Model, kv: KvPool, recorder: Recorder) -> None:
        self._model, self._kv, self._recorder = model, kv, recorder
        self._recordings: dict[Bucket, _Recording] = {}

    def bucket(self, rows: Sequence[Row]) -> Bucket | None:
        """The smallest recording that these rows fit into; None if none does, or if one of them is a prompt."""
        if any(row.prefill for row in rows):
            return None
        context = max(row.past for row in rows) + 1
        enough = next((size for size in ROW_BUCKETS if size >= len(rows)), None)
        return None if enough is None else Bucket(enough, self._rounded(context))

    def buckets(self, most_rows: int) -> list[Bucket]:
        """All recordings that steps of up to so many rows may need in this pool."""
        sizes = [size for i, size in enumerate(ROW_BUCKETS) if i == 0 or ROW_BUCKETS[i - 1] < most_rows]
        contexts = {self._rounded(context) for context in range(1, self._kv.tokens_per_slot + 1)}
        return [Bucket(size, context) for size in sizes for context in sorted(contexts)]

    def recorded(self, bucket: Bucket) -> bool:
        return bucket in self._recordings

    def record(self, bucket: Bucket) -> None:
        if bucket not in self._recordings:
            self._recordings[bucket] = _Recording(self._model, self._kv, bucket, self._recorder)

    def run(self, bucket: Bucket, rows: Sequence[Row]) -> Tensor:
        """The greedy next token of each row, [rows], on the device."""
        self.record(bucket)
        return self._recordings[bucket].play(rows)

    def _rounded(self, context: int) -> int:
        return min(self._kv.tokens_per_slot, max(SHORTEST_CONTEXT, 1 << (context - 1).bit_length()))


class _Recording:
    """One bucket's tensors and the work on them."""

    def __init__(self, model: Model, kv: KvPool, bucket: Bucket, recorder: Recorder) -> None:
        rows, context = bucket
        device = model.device
        self._host = torch.zeros((3, rows), dtype=torch.int64, pin_memory=device.type == "cuda")
        self._spare = kv.slots - 1
        self._host[2] = self._spare
        self._fed = self._host.to(device)
        ids, positions, slots = self._fed.unbind(0)
        mask = torch.zeros((rows, 1, 1, context), dtype=model.dtype, device=device)
        places = torch.arange(context, device=device)
        decodes = DecodeRun(0, rows, 0, rows, context, mask, stand_ins=None, picked=None, gathered=slots)
        last = torch.arange(rows, device=device)
        batch = Batch(ids, positions, slots, last, prompts=(), decodes=(decodes,), kernel_padding=0)

        @torch.inference_mode()
        def work() -> Tensor:
            hidden = places > positions.unsqueeze(1)
            mask.zero_().masked_fill_(hidden.view(mask.shape), float("-inf"))
            return model.forward(batch, kv).argmax(dim=-1)

        self._play = recorder(work)

    def play(self, rows: Sequence[Row]) -> Tensor:
        unused = self._host.shape[1] - len(rows)
        columns = [
            [row.ids[0] for row in rows] + [0] * unused,
            [row.past for row in rows] + [0] * unused,
            [row.slot for row in rows] + [self._spare] * unused,
        ]
        self._host.copy_(torch.tensor(columns))
        self._fed.copy_(self._host, non_blocking=True)
        return self._play()[: len(rows)]
