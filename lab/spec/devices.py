"""Accelerators by their makers' figures: memory, its bandwidth, dense bf16 peak. Facts, nothing measured here.

Sources: NVIDIA's product pages (T4, L4, A100, H100, H200; sparse figures halved), Baseten's comparison of A10
and A10G, NVIDIA's DGX B200 page divided by eight, the Ada whitepaper for the RTX 4090.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Accelerator:
    """
    memory_bytes   in all
    bytes_per_s    peak read bandwidth of its memory
    flops          peak dense floating-point operations per second in bf16 (T4: fp16, it has no bf16 units)
    """

    name: str
    memory_bytes: float
    bytes_per_s: float
    flops: float


ACCELERATORS = {
    a.name: a
    for a in (
        Accelerator("T4", 16e9, 320e9, 65e12),
        Accelerator("L4", 24e9, 300e9, 121e12),
        Accelerator("A10G", 24e9, 600e9, 70e12),
        Accelerator("A100-40GB", 40e9, 1555e9, 312e12),
        Accelerator("A100-80GB", 80e9, 2039e9, 312e12),
        Accelerator("H100", 80e9, 3350e9, 989e12),
        Accelerator("H200", 141e9, 4800e9, 989e12),
        Accelerator("B200", 180e9, 8000e9, 2250e12),
        Accelerator("RTX 4090", 24e9, 1008e9, 165e12),
    )
}
