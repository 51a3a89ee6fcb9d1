"""The threads on which torch's own operators run, for loops of ours: so the two never wait for each other.

They are GNU OpenMP's, as torch's wheels for Linux bring it. Refuses to know what is computed.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from llvmlite import ir
from numba import types
from numba.core import config
from numba.extending import intrinsic

if config.DISABLE_JIT:
    raise ImportError("numba was told not to compile")

SHARE = types.void(types.CPointer(types.intp))
"""What each thread of a team runs: a C function of an array of whole numbers. The first FIRST are addresses of what
it may call: `asked` of the first is the thread's number, of the second how many there are; `wait` takes the third.
"""
FIRST = 3
SOURCE = zlib.crc32(Path(__file__).read_bytes())
"""What is written here becomes part of functions elsewhere, and numba keeps those until *their* file changes: each
holds this number, so that it is compiled anew when this file does."""

_WHOLE, _INT = ir.IntType(64), ir.IntType(32)


class Team:
    """The threads of GNU OpenMP as this process has loaded it. LookupError where it has not."""

    def __init__(self) -> None:
        library = ctypes.CDLL(_loaded_openmp())
        self._run = library.GOMP_parallel
        self._run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
        self._run.restype = None
        calls = (library.omp_get_thread_num, library.omp_get_num_threads, library.GOMP_barrier)
        self._calls = tuple(ctypes.cast(call, ctypes.c_void_p).value or 0 for call in calls)

    def run(self, share: int, given: Sequence[int], threads: int) -> None:
        """The share at this address, with these numbers, on each of so many threads, this one among them."""
        numbers = (ctypes.c_ssize_t * (FIRST + len(given)))(*self._calls, *given)
        self._run(share, numbers, threads, 0)


@cache
def team() -> Team:
    """The one of this process, found once. LookupError as from `Team`."""
    return Team()


def _loaded_openmp() -> str:
    """torch's own copy, where there are two."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            paths = {line.split(maxsplit=5)[-1].strip() for line in maps if "libgomp" in line}
    except OSError:
        paths = set()
    for path in sorted(paths, key=lambda path: "torch" not in path):
        return path
    raise LookupError("GNU OpenMP is not loaded")


@intrinsic
def asked(_context, function):
    """What the C function `int function(void)` at this address says."""

    def emit(_, builder, __, args):
        kind = ir.FunctionType(_INT, [])
        said = builder.call(builder.inttoptr(args[0], kind.as_pointer()), [])
        return builder.sext(said, _WHOLE)

    return types.intp(types.intp), emit


@intrinsic
def wait(_context, barrier):
    """Until all of the team have come to this C function, `void barrier(void)`."""

    def emit(context, builder, __, args):
        kind = ir.FunctionType(ir.VoidType(), [])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), [])
        return context.get_dummy_value()

    return types.void(types.intp), emit


@intrinsic
def place(_context, address):
    """An address as a pointer, for numba's carray."""

    def emit(_, builder, __, args):
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.intp), emit
