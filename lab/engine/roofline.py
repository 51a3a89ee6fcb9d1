"""What a step would take on an accelerator that is not here: its bytes and operations over stated shares of peak.

    seconds = host + max(weights / bandwidth, products / flops) + KV read / bandwidth + prompt attention / flops

Weights may be limited by either; a KV cache is always limited by bandwidth (jax-ml/scaling-book adds the two the
same way). Not validated by anything measured here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lab.engine.cost_model import Sizes
from lab.scheduling.memory_check import THRESHOLD
from lab.spec.devices import Accelerator
from lab.spec.flops import flops_of
from lab.spec.model_shape import ModelShape

BYTES = 2  # bf16
LEAST = 0.001  # of a peak: a step that takes longer than a thousand times the ideal one is a typing error


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Shares of the peaks that a real engine reaches, and what each step costs besides, in seconds.

    Decoding engines reach 60–80 % of the bandwidth, the best products about 80 % of the FLOPs (stas00,
    ml-engineering, MAMF); `host_s` is launching and bookkeeping.
    """

    bandwidth: float = 0.7
    flops: float = 0.6
    host_s: float = 0.001

    def __post_init__(self) -> None:
        if not (LEAST <= self.bandwidth <= 1 and LEAST <= self.flops <= 1 and 0 <= self.host_s < 1):
            raise ValueError(
                f"efficiency is {self.bandwidth} of bandwidth, {self.flops} of FLOPs and {self.host_s} s a step; "
                f"shares lie between {LEAST} and 1, seconds in [0, 1)"
            )


@dataclass(frozen=True, slots=True)
class Roofline:
    """A cost (see lab.engine.cost_model.Cost) from sizes of the model and peaks of the device; bf16 throughout.

    In seconds: `weights` to read them all, `per_position` to multiply them, `per_key` to read a cached position,
    `per_square` of a prompt's attention.
    """

    device: Accelerator
    shape: ModelShape
    efficiency: Efficiency = Efficiency()
    weights: float = field(init=False)
    per_position: float = field(init=False)
    per_key: float = field(init=False)
    per_square: float = field(init=False)

    def __post_init__(self) -> None:
        bandwidth = self.device.bytes_per_s * self.efficiency.bandwidth
        flops = self.device.flops * self.efficiency.flops
        work = flops_of(self.shape)
        object.__setattr__(self, "weights", self.shape.parameters_read_per_step * BYTES / bandwidth)
        object.__setattr__(self, "per_position", work.position / flops)
        object.__setattr__(self, "per_key", self.shape.kv_bytes_per_token(BYTES) / bandwidth)
        object.__setattr__(self, "per_square", work.square / flops)

    def seconds(self, sizes: Sizes) -> float:
        linear = max(self.weights, self.per_position * sizes.positions)
        attention = self.per_key * sizes.keys + self.per_square * sizes.squares
        return self.efficiency.host_s + linear + attention

    @property
    def memory_of_weights(self) -> int:
        """Bytes; the input embedding, of which a step reads a few rows, lies there as a whole."""
        return self.shape.parameters * BYTES

    @property
    def free_bytes(self) -> int:
        """Memory beside the weights."""
        return int(self.device.memory_bytes) - self.memory_of_weights

    @property
    def kv_bytes(self) -> float:
        """What 0.9 of the memory leaves beside the weights. ValueError where that is nothing."""
        limit = THRESHOLD * self.device.memory_bytes
        if limit <= self.memory_of_weights:
            raise ValueError(
                f"{self.shape.name} in bf16 takes {self.memory_of_weights / 1e9:.1f} GB and {THRESHOLD:g} of "
                f"{self.device.name}'s memory is {limit / 1e9:.1f} GB; choose a larger device or a smaller model"
            )
        return limit - self.memory_of_weights
