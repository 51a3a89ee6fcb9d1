"""What does it cost a compiled step when people get on and off? The same rows with a compiler that is told of one
shape at a time, and with one that is told that the shape will change.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lab.engine.compiled_call import CompiledCall
from lab.engine.loaded import let_waiting_threads_sleep
from lab.engine.progress import Progress
from lab.run.provenance import versions
from lab.spec.model_shape import ModelShape

ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 5, 2)
"""As seats fill, and as they empty again; no more numbers than torch keeps compiled by itself, which is eight."""

CXX = ("clang++", "g++", "cl")
RECORDED = Path(__file__).resolve().parents[2] / "assets" / "records" / "recompiles.json"


@dataclass(frozen=True, slots=True)
class Recompiles:
    """One MLP block of `model`, in fp32 on the CPU; `fixed` compiled for one shape at a time, `dynamic` for any."""

    model: str
    device: str
    threads: int
    torch: str
    created: str
    fixed: tuple[CompiledCall, ...]
    dynamic: tuple[CompiledCall, ...]


def cxx_compiler() -> str | None:
    """What torch would compile with; None where there is nothing."""
    return next(filter(None, map(shutil.which, CXX)), None)


def measure_recompiles(shape: ModelShape, report: Progress, backend: str = "inductor") -> Recompiles:
    """`report(phase, done, total)` is called between its parts; it takes about half a minute."""
    let_waiting_threads_sleep()  # before torch is imported
    from lab.engine.compiling import Mlp, calls_compiled, start_compiler, this_cpu

    report("compiling", 0, 3)
    start_compiler(backend)
    mlp = Mlp(shape.hidden, shape.intermediate)
    report("compiling", 1, 3)
    fixed = calls_compiled(mlp, ROWS, False, backend)
    report("compiling", 2, 3)
    dynamic = calls_compiled(mlp, ROWS, True, backend)
    report("compiling", 3, 3)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return Recompiles(shape.name, *this_cpu(), dict(versions())["torch"], created, fixed, dynamic)


_CHECKED = TypeAdapter(Recompiles)


def recompiles_json(found: Recompiles) -> str:
    return json.dumps(_CHECKED.dump_python(found), indent=1)


def read_recompiles(text: str) -> Recompiles:
    """Raises ValueError for anything else."""
    try:
        return _CHECKED.validate_json(text)
    except ValidationError as error:
        raise ValueError(f"not a record of recompilations: {error.errors(include_url=False)[0]['msg']}") from None
