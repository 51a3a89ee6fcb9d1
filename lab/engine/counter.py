"""The device's own utilisation counter: the share of time in which some kernel ran, as `nvidia-smi` tells it.

Read by a process of its own while others work. Knows nothing of what runs.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

PERIOD_MS = 100
PROGRAM = "nvidia-smi"


class DeviceCounter:
    """Of the device with this id (such as "GPU-5f…"); see `device_counter`."""

    def __init__(self, device_id: str) -> None:
        self._command = [
            PROGRAM,
            f"--id={device_id}",
            "--query-gpu=utilization.gpu",
            "--format=csv,noheader,nounits",
            f"--loop-ms={PERIOD_MS}",
        ]

    @contextmanager
    def reading(self) -> Iterator[list[float]]:
        """A list that holds, once the block has ended, the shares (0 to 1) that were read meanwhile."""
        shares: list[float] = []
        process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            yield shares
        finally:
            process.terminate()
            told, _ = process.communicate()
            shares += [int(line) / 100 for line in told.split() if line.isdigit()]


def device_counter(device_id: str | None) -> DeviceCounter | None:
    """None for a device without one (a CPU), or where the program that tells it is missing."""
    return DeviceCounter(device_id) if device_id is not None and shutil.which(PROGRAM) else None
