"""Does a setting fit the memory? Asked before anything is allocated, for the worst that the setting allows.

The honest sum: weights first, then tokens (never requests), then what a step computes in passing, then a margin.
The popular rule, memory over memory a request, stands beside it. Bytes throughout; knows no device and no torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lab.spec.model_shape import ModelShape

THRESHOLD = 0.9
MARGIN_BYTES = 200_000_000  # what torch, its kernels and a fragmented heap take besides
LOGIT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Setting:
    """The worst that a run may come to.

    slots        rows that may hold KV cache at once, over all lanes and groups
    slot_tokens  most tokens of a row: longest prompt and longest answer
    positions    most token positions of one step
    rows         most rows of one step
    """

    slots: int
    slot_tokens: int
    positions: int
    rows: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """What a setting takes, in bytes, against what there is: `available` for all of it, weights included."""

    weights: int
    kv: int
    activations: int
    logits: int
    margin: int
    available: int
    threshold: float = THRESHOLD

    @property
    def needed(self) -> int:
        return self.weights + self.kv + self.activations + self.logits + self.margin

    @property
    def fits(self) -> bool:
        return self.needed <= self.threshold * self.available


def plan(
    setting: Setting,
    shape: ModelShape,
    bytes_per_value: int,
    weight_bytes: int,
    available: int,
    threshold: float = THRESHOLD,
) -> MemoryPlan:
    """`available` is what is free now plus what the loaded weights hold."""
    s = shape
    # The residual stream (kept twice on a CPU), q, k and v, attention's result, and the two halves of the MLP.
    widest = 3 * s.hidden + (2 * s.heads + 2 * s.kv_heads) * s.head_dim + 3 * s.intermediate
    return MemoryPlan(
        weights=weight_bytes,
        kv=setting.slots * setting.slot_tokens * s.kv_bytes_per_token(bytes_per_value),
        activations=setting.positions * widest * bytes_per_value,
        logits=setting.rows * s.vocab * (LOGIT_BYTES + bytes_per_value),
        margin=MARGIN_BYTES,
        available=available,
        threshold=threshold,
    )


def largest_fitting(fits: Callable[[int], bool], asked: int) -> int:
    """The largest size below `asked` that fits, 0 if none does; `fits` never turns true again as sizes grow."""
    low, high = 0, asked
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def refusal(found: MemoryPlan, largest_batch: int) -> str:
    """A sentence with all the numbers."""
    limit = found.threshold * found.available
    way_out = (
        f"the largest batch size that fits is {largest_batch}"
        if largest_batch
        else "not even a batch size of 1 fits: use shorter requests, fewer groups or a smaller model"
    )
    return (
        f"the setting needs {mb(found.needed)}: weights {mb(found.weights)}, KV cache {mb(found.kv)}, "
        f"activations {mb(found.activations)}, logits {mb(found.logits)}, margin {mb(found.margin)}; "
        f"{found.threshold:g} of the {mb(found.available)} there are is {mb(int(limit))}; {way_out}"
    )


def simple_rule(memory_bytes: float, bytes_per_request: float) -> tuple[int, int]:
    """The popular rule: memory ÷ memory a request, then the next power of two below, "for headroom". (40, 32) for
    80 GB and 2 GB. It forgets the weights, and that a request's memory grows with its tokens.

    ValueError where a size is not above 0.
    """
    if not (memory_bytes > 0 and bytes_per_request > 0):
        raise ValueError(f"memory {memory_bytes} and {bytes_per_request} bytes a request; both must be above 0")
    count = int(memory_bytes // bytes_per_request)
    return count, 1 << (count.bit_length() - 1) if count else 0


def mb(size: float) -> str:
    """In millions of bytes, as the refusal writes them."""
    return f"{size / 1e6:,.0f} MB"
