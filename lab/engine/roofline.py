"""What a step would take on an accelerator that is not here: its bytes and operations over stated shares of peak.

    seconds = host + max(weights / bandwidth, products / flops) + KV read / bandwidth + prompt attention / flops

Weights may be limited by either; a KV cache is always limited by bandwidth (jax-ml/scaling-book adds the two the
same way). Not validated by anything measured here.
"""

from __future__ import annotations

from dataclasses import dataclass

from lab.engine.cost_model import Sizes
from lab.spec.devices import Accelerator
from lab.spec.model_shape import ModelShape

BYTES = 2  # bf16


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
        if not (0 < self.bandwidth <= 1 and 0 < self.flops <= 1 and 0 <= self.host_s < 1):
            raise ValueError(
                f"efficiency is {self.bandwidth} of bandwidth, {self.flops} of FLOPs and {self.host_s} s a step; "
                "shares lie in (0, 1], seconds in [0, 1)"
            )


@dataclass(frozen=True, slots=True)
class Roofline:
    """A cost (see lab.engine.cost_model.Cost) from sizes of the model and peaks of the device; bf16 throughout."""

    device: Accelerator
    shape: ModelShape
    efficiency: Efficiency = Efficiency()

    @property
    def weight_bytes(self) -> int:
        return self.shape.parameters_read_per_step * BYTES

    @property
    def per_key(self) -> float:
        return self.shape.kv_bytes_per_token(BYTES) / self._bandwidth

    def seconds(self, sizes: Sizes) -> float:
        s = self.shape
        flops = self.device.flops * self.efficiency.flops
        products = 2 * s.parameters_read_per_step * sizes.positions / flops
        attention = 2 * s.layers * s.heads * s.head_dim * sizes.squares / flops
        weights = self.weight_bytes / self._bandwidth
        return self.efficiency.host_s + max(weights, products) + sizes.keys * self.per_key + attention

    @property
    def free_bytes(self) -> int:
        """Memory that the weights leave. ValueError where they do not fit."""
        free = int(self.device.memory_bytes - self.weight_bytes)
        if free <= 0:
            raise ValueError(
                f"{self.shape.name} in bf16 takes {self.weight_bytes / 1e9:.1f} GB and {self.device.name} has "
                f"{self.device.memory_bytes / 1e9:.0f} GB; choose a larger device or a smaller model"
            )
        return free

    @property
    def _bandwidth(self) -> float:
        return self.device.bytes_per_s * self.efficiency.bandwidth
