"""What the device under the model is: its name, its free memory, how fast its memory reads."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

READ_BYTES = 2**30
READ_REPEATS = 5
SIDE, PRODUCTS = 2048, 8  # of the square matrices whose products are timed, and how many of these


def pick_device(device: str) -> torch.device:
    """ "auto" is the first CUDA device if there is one, else the CPU."""
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device is {device!r}; it must be 'auto', 'cpu' or 'cuda'")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device is 'cuda' and this torch sees no CUDA device; use 'cpu' or 'auto'")
    return torch.device("cpu" if device == "cpu" or not torch.cuda.is_available() else "cuda")


def pick_devices(device: str, replicas: int) -> list[torch.device]:
    """A device for each replica, as far as there are CUDA devices; at least one. ValueError as pick_device."""
    first = pick_device(device)
    if replicas < 1:
        raise ValueError(f"replicas is {replicas}; it must be at least 1")
    if first.type != "cuda":
        return [first]
    return [torch.device("cuda", i) for i in range(min(replicas, torch.cuda.device_count()))]


def device_name(device: torch.device) -> str:
    """The device in its maker's words."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def device_id(device: torch.device) -> str | None:
    """What the device's tools call it; None for a CPU."""
    return f"GPU-{torch.cuda.get_device_properties(device).uuid}" if device.type == "cuda" else None


def free_memory(device: torch.device) -> int:
    """Bytes that could still be allocated.

    On Linux the smaller of available memory and what the container's limit leaves; on other systems, where
    nobody says without more packages, half of the physical memory.
    """
    if device.type == "cuda":  # what torch holds and nothing uses can be had, too
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + kept
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable"):
            return min(int(line.split()[1]) * 1024, _container_leaves())
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return _windows_memory()


@contextmanager
def memory_said(what: str) -> Iterator[None]:
    """MemoryError with a sentence in place of torch's own words, where memory runs out while `what`."""
    try:
        yield
    except (torch.OutOfMemoryError, RuntimeError) as error:
        if not isinstance(error, torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
            raise
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # what the failed step left behind
        raise MemoryError(
            f"the device's memory ran out while {what}; use a smaller batch size or fewer or shorter requests"
        ) from None


def read_bandwidth(device: torch.device) -> float:
    """Bytes a second that all threads together read from memory: the best of five reads of 1 GiB.

    Less than 1 GiB is read where half the free memory is less.
    """
    size = min(READ_BYTES, free_memory(device) // 2)
    data = torch.ones(size // 8, dtype=torch.int64, device=device)
    best = float("inf")
    for _ in range(READ_REPEATS):
        start = time.perf_counter()
        data.sum().item()
        best = min(best, time.perf_counter() - start)
    return data.nbytes / best


def matmul_flops(device: torch.device, dtype: torch.dtype) -> float:
    """Floating-point operations a second in products of large matrices: the best of a few."""
    a = torch.ones((SIDE, SIDE), dtype=dtype, device=device)
    best = float("inf")
    for _ in range(PRODUCTS):
        start = time.perf_counter()
        (a @ a)[0, 0].item()  # waits for the device
        best = min(best, time.perf_counter() - start)
    return 2 * SIDE**3 / best


def _container_leaves() -> int:
    """Bytes up to the control group's limit; without one, more than any machine has."""
    limit, used = (_lines(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
    return int(limit[0]) - int(used[0]) if limit and used and limit[0].isdigit() else 2**60


def _windows_memory() -> int:
    """Bytes of physical memory that Windows calls available (GlobalMemoryStatusEx, ullAvailPhys)."""
    import ctypes

    status = (ctypes.c_uint64 * 8)()  # MEMORYSTATUSEX: its length and load share the first eight bytes
    status[0] = ctypes.sizeof(status)
    getattr(ctypes, "windll").kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # noqa: B009 (absent elsewhere)
    return int(status[2])


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
