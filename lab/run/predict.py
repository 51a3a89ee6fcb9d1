"""The same loop with predicted steps: a whole run in milliseconds, labelled as what it is.

Needs neither a model nor torch. Refuses to know how well it predicts (lab.experiments.validate).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from lab.engine.cost_model import PredictedExecutor
from lab.run.calibration import Calibration
from lab.run.lanes import RunSpec, build_lanes
from lab.run.race import race
from lab.run.record import RunRecord
from lab.spec.model_shape import ModelShape


@dataclass(frozen=True, slots=True)
class _Predicted:
    """What `build_lanes` asks of an engine."""

    executor: PredictedExecutor
    shape: ModelShape
    weight_bytes: int
    kv_bytes_per_token: int
    stop_ids: frozenset[int] = field(default=frozenset())

    @property
    def executors(self) -> tuple[PredictedExecutor, ...]:
        return (self.executor,)


def predict(spec: RunSpec, calibration: Calibration) -> RunRecord:
    """A record of kind "predicted". The workload must be tokenized, with every answer's length known.

    ValueError where it is not, or where the spec cannot run with this model and memory.
    """
    if not spec.workload.lengths_known:
        unknown = sum(r.output_tokens is None for r in spec.workload.requests)
        raise ValueError(f"the lengths of {unknown} answers are not known; a prediction needs all of them")
    engine = _Predicted(
        PredictedExecutor(calibration.cost, calibration.free_bytes),
        calibration.shape,
        calibration.provenance.weight_bytes,
        calibration.provenance.kv_bytes_per_token,
    )
    lanes = build_lanes(spec, spec.workload, engine)
    for _ in race(lanes):
        pass
    provenance = replace(
        calibration.provenance, kind="predicted", created=datetime.now(UTC).isoformat(timespec="seconds")
    )
    return RunRecord(provenance, spec.workload, tuple(lane.record() for lane in lanes))
