"""A model made ready on a device: what the rooms to the right ask for.

This module names torch's objects and imports torch only when a model is loaded, so that it can be imported
where torch is not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from lab.engine.coder import Coder
from lab.engine.counter import DeviceCounter, device_counter
from lab.engine.progress import Progress, silent
from lab.engine.text import Text
from lab.spec.model_shape import ModelShape

if TYPE_CHECKING:
    import torch

    from lab.engine.torch_executor import TorchExecutor
    from lab.engine.weights import Weights

DTYPES = {"fp32": 4, "bf16": 2}
MEASURING_ROUNDS = 4


class Engine:
    """One loaded model.

    executors           run steps, one on each device in use
    executor            the first of them
    text                its tokenizer; None for a dummy
    coder               prompts to token ids, with or without a tokenizer
    shape               its dimensions
    model, revision     its name for people, and which weights these are
    folder              where these lie; None for a dummy
    dtype               "fp32" or "bf16"
    device, threads     in words; CPU threads in use (on a GPU those that feed it)
    weight_bytes        bytes of weights that one decode step reads
    kv_bytes_per_token  bytes of KV cache per token of context
    fingerprint         differs where greedy answers may: weights and dtype
    """

    def __init__(
        self, executors: Sequence[TorchExecutor], weights: Weights, text: Text | None, dtype: str, threads: int
    ) -> None:
        from lab.engine import machine

        self.executors = executors
        self.executor = executors[0]
        self.text = text
        self.coder = Coder(text, weights.shape.vocab)
        self.shape: ModelShape = weights.shape
        self.model = weights.name
        self.revision = weights.revision
        self.folder = weights.folder
        self.dtype = dtype
        self.device = machine.device_name(self.executor.device)
        self.threads = threads
        self.weight_bytes = self.shape.parameters_read_per_step * DTYPES[dtype]
        self.kv_bytes_per_token = self.shape.kv_bytes_per_token(DTYPES[dtype])
        self._best_read = 0.0
        self.fingerprint = f"{weights.digest()}-{dtype}"

    @property
    def stop_ids(self) -> frozenset[int]:
        """Tokens that end an answer; none for a dummy."""
        return self.coder.stop_ids

    def read_bandwidth(self) -> float:
        """Bytes a second that the device's memory reads: the best that has been measured so far.

        Each call measures once more: while a neighbour is busy, no single measurement finds what memory can do.
        """
        from lab.engine import machine

        self._best_read = max(self._best_read, machine.read_bandwidth(self.executor.device))
        return self._best_read

    def counter(self) -> DeviceCounter | None:
        """The device's own utilisation counter, where it has one."""
        from lab.engine import machine

        return device_counter(machine.device_id(self.executor.device))

    def matmul_flops(self) -> float:
        """Operations a second that the device reaches in large products of this dtype; measured anew each time."""
        from lab.engine import machine

        return machine.matmul_flops(self.executor.device, self.executor.model.dtype)


def let_waiting_threads_sleep() -> None:
    """Tell OpenMP to spin for about 0.1 ms where threads wait for each other, then sleep.

    Left alone they spin for some 15 ms, and one other busy program (a browser that draws the page) makes a step
    twenty times slower. Read once, when torch is first imported: later calls have no effect.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "2000")


def load_engine(
    model: str,
    device: str = "auto",
    dtype: str = "auto",
    threads: int | None = None,
    on_progress: Progress | None = None,
    replicas: int = 1,
) -> Engine:
    """Load a model.

    model    see lab.engine.weights.load_weights
    device   "auto" (CUDA where there is one), "cpu" or "cuda"
    dtype    "fp32", "bf16", or "auto": bf16 on CUDA; on a CPU whichever decodes faster in a short measurement
    threads  CPU threads; None leaves torch's choice, the number of cores
    replicas of the model that groups will use: each gets a CUDA device of its own while there are any left;
             further ones, and all on a CPU, share

    Raises ValueError for a wrong argument or an unusable model, FetchError where it could not be had.
    """
    if dtype not in ("auto", *DTYPES):
        raise ValueError(f"dtype is {dtype!r}; it must be 'auto', 'fp32' or 'bf16'")
    if threads is not None and threads < 1:
        raise ValueError(f"threads is {threads}; it must be at least 1")
    let_waiting_threads_sleep()
    import torch

    from lab.engine import machine
    from lab.engine.weights import load_weights

    on_progress = on_progress or silent
    places = machine.pick_devices(device, replicas)
    if threads is not None:
        torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("highest")  # no TF32: fp32 answers are the same in every mode
    weights = load_weights(model, on_progress)
    executor, dtype = _executor(weights, places[0], dtype, on_progress)
    executors = [executor, *(_executor(weights, place, dtype, on_progress)[0] for place in places[1:])]
    text = Text.load(weights.folder) if weights.folder else None
    return Engine(executors, weights, text, dtype, torch.get_num_threads())


def _executor(
    weights: Weights, device: torch.device, dtype: str, on_progress: Progress
) -> tuple[TorchExecutor, str]:
    """The executor in the dtype asked for, or in the faster one."""
    import torch

    from lab.engine import machine
    from lab.engine.decode_graph import cuda_graph
    from lab.engine.model import Model
    from lab.engine.torch_executor import TorchExecutor

    recorder = partial(cuda_graph, device) if device.type == "cuda" else None

    def made(name: str) -> TorchExecutor:
        kind = {"fp32": torch.float32, "bf16": torch.bfloat16}[name]
        return TorchExecutor(Model(weights, kind, device), lambda: machine.free_memory(device), recorder)

    if dtype == "auto" and device.type == "cuda":
        dtype = "bf16"
    if dtype != "auto":
        return made(dtype), dtype
    candidates = {name: made(name) for name in DTYPES}
    faster = faster_dtype(candidates, on_progress)
    return candidates[faster], faster


def faster_dtype(candidates: Mapping[str, TorchExecutor], on_progress: Progress) -> str:
    """The dtype whose decode steps of one and of eight rows take less time together: the best of a few rounds,
    in turns, so that both see the same machine."""
    best = dict.fromkeys(candidates, float("inf"))
    for done in range(MEASURING_ROUNDS):
        on_progress("measure", done, MEASURING_ROUNDS)
        for name, executor in candidates.items():
            seconds = sum(min(executor.decode_seconds(rows, 3)) for rows in (1, 8))
            best[name] = min(best[name], seconds)
    return min(best, key=best.__getitem__)
