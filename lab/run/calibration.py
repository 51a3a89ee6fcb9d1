"""What predictions stand on: steps that were measured on one machine with one model, as a fitted cost model.

Kept in the cache folder, one file for each model, precision, device and number of threads; one ships with the lab,
for tests and for lessons where nothing has been measured. Refuses to know how
steps are measured (lab.experiments.calibrate) and what is predicted from them (lab.run.predict).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pydantic import TypeAdapter, ValidationError

from lab.engine.cost_model import CostModel
from lab.engine.fetch import cache_folder
from lab.run.record import Provenance
from lab.run.record_file import write_whole
from lab.spec.model_shape import ModelShape

MOST_DRIFT = 0.1
MOST_ERROR = 0.15  # of the steps held out
SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "calibration" / "smollm2-135m-bf16.json"


@dataclass(frozen=True, slots=True)
class Calibration:
    """
    provenance        of the measured steps; its reference steps tell how fast the machine was
    fingerprint       of the model in its precision, see lab.engine.loaded.Engine
    folder            where its tokenizer lies; "" for a dummy
    free_bytes        memory that was free for KV cache
    device_type       "cpu" or "cuda"; "" in a file that does not say
    flops_per_s       operations a second in large products, measured; what shares of it are told by
    samples, held_out steps that were fitted, and of these how many the error was told on, in a fit without them
    error             the median of |predicted / measured − 1| over those held out
    """

    cost: CostModel
    provenance: Provenance
    shape: ModelShape
    fingerprint: str
    folder: str
    free_bytes: int
    flops_per_s: float
    samples: int
    held_out: int
    error: float
    device_type: str = ""

    @property
    def reference_step_s(self) -> float:
        return median(self.provenance.reference_step_s)

    def stale(self, reference_step_s: float) -> bool:
        """Has the machine become faster or slower by more than 10 % since?"""
        return abs(reference_step_s / self.reference_step_s - 1) > MOST_DRIFT

    def replaces(self, known: Calibration) -> bool:
        """Not where it predicts steps badly, as beside a busy neighbour, and the one that is known did better."""
        return self.error <= max(MOST_ERROR, known.error)


_CALIBRATION = TypeAdapter(Calibration)


def keep(calibration: Calibration) -> Path:
    """Write it; OSError where the cache folder cannot be written."""
    path = _folder() / f"{_name(calibration)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, _CALIBRATION.dump_json(calibration).decode())
    return path


def kept() -> list[Calibration]:
    """All that are kept here, the newest first; a damaged file counts as none."""
    return sorted(_readable(), key=lambda c: c.provenance.created, reverse=True)


def kept_of(fingerprint: str, device: str, threads: int) -> Calibration | None:
    """The one of this model on this machine."""
    for c in kept():
        if (c.fingerprint, c.provenance.device, c.provenance.threads) == (fingerprint, device, threads):
            return c
    return None


def shipped() -> Calibration:
    """The default model in bf16 on the machine that its provenance names; it knows no folder of a tokenizer."""
    return _CALIBRATION.validate_json(SHIPPED.read_bytes())


def _readable() -> Iterator[Calibration]:
    for path in _folder().glob("*.json"):
        try:
            yield _CALIBRATION.validate_json(path.read_bytes())
        except (OSError, ValidationError):
            continue


def _name(calibration: Calibration) -> str:
    p = calibration.provenance
    machine = hashlib.sha256(f"{p.device} {p.threads}".encode()).hexdigest()[:8]
    return f"{calibration.fingerprint}-{machine}"


def _folder() -> Path:
    return cache_folder() / "calibration"
