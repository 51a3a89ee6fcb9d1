"""Where a run's numbers come from: what ran, on what, with which versions."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from lab import __version__
from lab.run.record import Provenance

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

_PACKAGES = ("torch", "transformers", "numpy", "numba")


def provenance_of(engine: Engine, reference: Sequence[float], free_eos: bool = False) -> Provenance:
    """A measured run on this engine; `reference` are the seconds of its reference steps.

    The read bandwidth is left open: it takes a second to measure, which a run spends at its end.
    """
    return Provenance(
        kind="measured",
        model=engine.model,
        revision=engine.revision,
        dtype=engine.dtype,
        device=engine.device,
        threads=engine.threads,
        versions=versions(),
        commit=commit(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        weight_bytes=engine.weight_bytes,
        kv_bytes_per_token=engine.kv_bytes_per_token,
        reference_step_s=tuple(reference),
        free_eos=free_eos,
    )


def versions() -> tuple[tuple[str, str], ...]:
    """(package, version) of what computes here, the lab itself first."""
    found = [("batching-lab", __version__), ("python", platform.python_version())]
    for package in _PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return tuple(found)


def commit() -> str:
    """The commit of this checkout, with a + where files differ from it; "" outside a checkout."""
    try:
        told = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return told.stdout.strip()
