"""How often torch.compile must compile one part of a model's step when the number of rows changes.

The part is a block's MLP, of the sizes that a model has, with weights of no meaning: what is compiled, and how long
that takes, depends on shapes alone. The lab itself compiles nothing; this is about frameworks that do.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from statistics import median
from typing import Any

import torch
import torch._dynamo as dynamo
import torch._inductor.config as inductor
import torch.nn.functional as F
from torch import Tensor

from lab.engine.compiled_call import CompiledCall
from lab.engine.machine import device_name

AGAIN = 5  # later calls of a shape, of which the middle one counts


class Mlp:
    """x + down(silu(gate x) × up x), as in every block of the Llama family."""

    def __init__(self, hidden: int, intermediate: int) -> None:
        self.hidden = hidden
        self._norm = torch.ones(hidden)
        self._gate_up = torch.randn(2 * intermediate, hidden)
        self._down = torch.randn(hidden, intermediate)

    def __call__(self, x: Tensor) -> Tensor:
        normed = F.rms_norm(x, self._norm.shape, self._norm, 1e-5)  # a literal: torch tries to vary what has a name
        gate, up = F.linear(normed, self._gate_up).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, self._down)


@torch.inference_mode()
def calls_compiled(
    mlp: Mlp, rows: Sequence[int], dynamic: bool, backend: str = "inductor"
) -> tuple[CompiledCall, ...]:
    """Call the compiled block with these numbers of rows, one after the other. `dynamic`: the compiler is told that
    the shape will change. `backend` is one of torch's; what was compiled before, by anyone, does not help."""
    dynamo.reset()
    counting = _Counting(backend)
    with inductor.patch(force_disable_caches=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that caches are off
        run = torch.compile(mlp.__call__, fullgraph=True, dynamic=dynamic, backend=counting)
        made = tuple(_call(run, torch.randn(n, mlp.hidden), counting) for n in rows)
    dynamo.reset()
    return made


def this_cpu() -> tuple[str, int]:
    """What computes here: its name, and the threads in use."""
    return device_name(torch.device("cpu")), torch.get_num_threads()


def start_compiler(backend: str = "inductor") -> None:
    """The first compilation of a process also loads the compiler; that is nobody's shape's fault.

    ValueError where there is a compiler and it cannot be used.
    """
    try:
        calls_compiled(Mlp(8, 8), [2], False, backend)
    except RuntimeError as error:  # torch's own errors of compiling are
        reason = next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)
        raise ValueError(
            f"torch.compile cannot use this machine's C++ compiler ({reason}); check it, or $CXX where that is set"
        ) from error


class _Counting:
    """A backend that counts what it is asked to compile."""

    def __init__(self, backend: str) -> None:
        self._compile: Any = dynamo.lookup_backend(backend)
        self.compilations = 0

    def __call__(self, graph: Any, inputs: Any, **options: Any) -> Any:
        self.compilations += 1
        return self._compile(graph, inputs, **options)


def _call(run: Any, x: Tensor, counting: _Counting) -> CompiledCall:
    before = counting.compilations
    first = _seconds(run, x)
    later = median(_seconds(run, x) for _ in range(AGAIN))
    return CompiledCall(len(x), counting.compilations - before, first, later)


def _seconds(run: Any, x: Tensor) -> float:
    start = time.perf_counter()
    run(x)
    return time.perf_counter() - start
