"""The real executor: runs a step on the device and measures it.

Only the step is timed, device synchronised before and after. Refuses to know policies, arrivals and the
lanes' clocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from lab.engine.batch import Batch, lay_out
from lab.engine.decode_graph import SHORTEST_CONTEXT, DecodeGraphs, Recorder
from lab.engine.kv import KvPool
from lab.engine.machine import memory_said
from lab.engine.model import Model
from lab.engine.rounding import rounded
from lab.engine.step import Horizon, Outcome, Row, Step
from lab.engine.step_check import check_step

REFERENCE_CONTEXT = 64
MEMORY_SHARE = 0.9
WARM_TOKENS = 2048


class _Pool(NamedTuple):
    """Room for KV, and the recordings of decode steps over it where the device has graphs."""

    kv: KvPool
    graphs: DecodeGraphs | None


class _Done(NamedTuple):
    """A step that was run: each row's token, and what Outcome says of the kernels."""

    tokens: tuple[int, ...]
    cold: bool
    kernel_padding: int


class TorchExecutor:
    """Runs steps of one model on one device, in one KV pool (see `allocate`).

    free_memory  gives the bytes that the device has free now
    recorder     makes decode graphs (lab.engine.decode_graph); None: every step is laid out and launched anew

    Where the device's memory runs out all the same, each method raises MemoryError with a sentence.
    """

    def __init__(self, model: Model, free_memory: Callable[[], int], recorder: Recorder | None = None) -> None:
        self.model = model
        self._free_memory = free_memory
        self._recorder = recorder
        self._pool: _Pool | None = None
        self._cached: list[int] = []  # tokens in each slot
        self._tokens_seen: set[int] = set()  # sizes of the flat list that have run
        self._rows_seen: set[int] = set()  # numbers of rows whose next tokens were computed

    @property
    def device(self) -> torch.device:
        return self.model.device

    def clear(self) -> int:
        """Let the KV pool go; returns the bytes that are free then."""
        self._pool, self._cached = None, []
        return self._free_memory()

    def allocate(self, slots: int, tokens_per_slot: int) -> None:
        """Make the KV pool, in place of the one before. ValueError, with the numbers, if it does not fit."""
        if slots < 1 or tokens_per_slot < 1:
            raise ValueError(f"a KV pool of {slots} slots of {tokens_per_slot} tokens; both must be at least 1")
        free = self.clear()
        needed = slots * tokens_per_slot * self._kv_bytes_per_token()
        if needed > MEMORY_SHARE * free:
            raise ValueError(
                f"a KV pool of {slots} slots × {tokens_per_slot} tokens takes {needed / 1e6:.0f} MB, and "
                f"{MEMORY_SHARE:g} of the {free / 1e6:.0f} MB free is {MEMORY_SHARE * free / 1e6:.0f} MB; "
                "run fewer or shorter requests at once"
            )
        with memory_said("the KV pool was made"):
            self._pool = self._new_pool(slots, tokens_per_slot)
        self._cached = [0] * slots

    def run(self, step: Step, horizon: Horizon) -> Outcome:
        """One step, whatever the horizon: measured steps are never assumed to repeat."""
        if self._pool is None:
            raise ValueError("there is no KV pool yet; call allocate(slots, tokens_per_slot) first")
        check_step(step, self._cached, self._pool.kv.tokens_per_slot, self.model.shape)
        with memory_said(f"a step was run (rows: {len(step.rows)})"):
            seconds, done = self._timed(step, self._pool)
        for row in step.rows:
            self._cached[row.slot] = row.past + len(row.ids)
        return Outcome((seconds,), (done.tokens,), done.cold, done.kernel_padding)

    def release(self, slots: Sequence[int]) -> None:
        for slot in slots:
            self._cached[slot] = 0

    def warm_up(self, batch_sizes: Iterable[int], prompt_lengths: Iterable[int]) -> None:
        """Set up, untimed, what decode steps of these many rows need, and prompts of these lengths in any number
        up to WARM_TOKENS tokens a step (a larger step dwarfs its set-up)."""
        sizes, lengths = sorted(set(batch_sizes)), sorted(set(prompt_lengths))
        steps = [Step(tuple(_decode_row(slot) for slot in range(size))) for size in sizes]
        if lengths:
            most = max(lengths[-1], min(WARM_TOKENS, lengths[-1] * max([1, *sizes])))
            totals = sorted({rounded(n) for n in range(lengths[0], most + 1)})
            steps += [Step(_prompt_rows(total, self.model.shape.context)) for total in totals]
        with memory_said("the model was warmed up"):
            for step in steps:
                self._set_up(step)
            if sizes and self._pool is not None and self._pool.graphs is not None:
                for bucket in self._pool.graphs.buckets(sizes[-1]):
                    self._pool.graphs.record(bucket)

    def reference_steps(self, count: int = 20) -> tuple[float, ...]:
        """Seconds of `count` equal decode steps of one row: how fast this machine is just now."""
        return self.decode_seconds(1, count)

    def decode_seconds(self, rows: int, count: int) -> tuple[float, ...]:
        """Seconds of `count` decode steps of so many rows, in a pool of their own; one untimed step goes before."""
        pool = self._new_pool(rows, REFERENCE_CONTEXT)
        step = Step(tuple(_decode_row(slot, REFERENCE_CONTEXT - 1) for slot in range(rows)))
        self._timed(step, pool)
        return tuple(self._timed(step, pool)[0] for _ in range(count))

    def logit_gap(self, ids: Sequence[int]) -> float:
        """How far apart the two largest logits lie after these tokens, computed alone."""
        if not ids:
            raise ValueError("no ids given; a logit gap needs at least one token to follow")
        batch = self._lay_out(Step((_prompt_row(0, ids),)))
        logits = self.model.forward(batch, self._new_pool(1, len(ids)).kv)
        first, second = logits[0].float().topk(2).values.tolist()
        return float(first - second)

    def _timed(self, step: Step, pool: _Pool) -> tuple[float, _Done]:
        """Run it, timed from the step's ids to tokens on the host."""
        self._synchronize()
        start = time.perf_counter()
        done = self._played(step, pool.graphs) or self._launched(step, pool.kv)
        self._synchronize()
        return time.perf_counter() - start, done

    def _played(self, step: Step, graphs: DecodeGraphs | None) -> _Done | None:
        """A step of decoding rows, as a recording; None where none fits it."""
        bucket = graphs.bucket(step.rows) if graphs else None
        if graphs is None or bucket is None:
            return None
        cold = not graphs.recorded(bucket)
        tokens = tuple(graphs.run(bucket, step.rows).tolist())
        return _Done(tokens, cold, bucket.rows * bucket.context - sum(row.past + 1 for row in step.rows))

    def _launched(self, step: Step, kv: KvPool) -> _Done:
        batch = self._lay_out(step)
        tokens = _greedy(self.model.forward(batch, kv))
        cold = self._is_cold(batch)
        self._remember(batch)
        return _Done(tokens, cold, batch.kernel_padding)

    def _set_up(self, step: Step) -> None:
        batch = self._lay_out(step)
        if self._is_cold(batch):
            slots, tokens = len(step.rows), max(row.past + row.padded_to for row in step.rows)
            self.model.set_up(batch, self._new_pool(slots, tokens).kv)
            self._remember(batch)

    def _is_cold(self, batch: Batch) -> bool:
        return len(batch.ids) not in self._tokens_seen or len(batch.last) not in self._rows_seen

    def _remember(self, batch: Batch) -> None:
        self._tokens_seen.add(len(batch.ids))
        self._rows_seen.add(len(batch.last))

    def _lay_out(self, step: Step) -> Batch:
        return lay_out(step, self.model.dtype, self.model.device, self.model.loop_cores)

    def _new_pool(self, slots: int, tokens: int) -> _Pool:
        shape, dtype, device = self.model.shape, self.model.dtype, self.model.device
        if self._recorder is None:
            return _Pool(KvPool(shape, slots, tokens, dtype, device), None)
        tokens = max(SHORTEST_CONTEXT, 1 << (tokens - 1).bit_length())  # so that equal steps round alike
        kv = KvPool(shape, slots + 1, tokens, dtype, device)
        return _Pool(kv, DecodeGraphs(self.model, kv, self._recorder))

    def _kv_bytes_per_token(self) -> int:
        return self.model.shape.kv_bytes_per_token(self.model.dtype.itemsize)

    def _synchronize(self) -> None:
        if self.model.device.type == "cuda":
            torch.cuda.synchronize(self.model.device)


def _greedy(logits: Tensor) -> tuple[int, ...]:
    """The token of the largest logit of each row; on a CPU by numpy, whose argmax is six times torch's speed.

    bf16 numbers above zero are in the order of their bits, so where a row's largest is one of these, none need be
    converted.
    """
    if logits.device.type != "cpu":
        return tuple(logits.argmax(dim=-1).tolist())
    if logits.dtype == torch.bfloat16:
        bits = logits.view(torch.int16).numpy()
        found = bits.argmax(axis=-1)
        if (np.take_along_axis(bits, found[:, None], axis=-1) > 0).all():
            return tuple(found.tolist())
    return tuple(logits.float().numpy().argmax(axis=-1).tolist())


def _decode_row(slot: int, past: int = 1) -> Row:
    return Row(slot, slot, ids=(0,), past=past, live=True, padded_to=1)


def _prompt_rows(tokens: int, longest: int) -> tuple[Row, ...]:
    """Prompts that together have so many tokens, none longer than the model's context."""
    lengths = [min(longest, tokens - start) for start in range(0, tokens, longest)]
    return tuple(_prompt_row(slot, (0,) * length) for slot, length in enumerate(lengths))


def _prompt_row(slot: int, ids: Sequence[int]) -> Row:
    return Row(slot, slot, tuple(ids), past=0, live=True, padded_to=len(ids))
