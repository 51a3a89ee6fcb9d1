"""The same loop with predicted steps: a whole run in milliseconds, labelled as what it is.

Needs neither a model nor torch. Refuses to know how well it predicts (lab.experiments.validate).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from lab.engine.cost_model import PredictedExecutor
from lab.engine.roofline import BYTES, Roofline
from lab.engine.rounding import rounded
from lab.run.calibration import Calibration
from lab.run.fit import check_budget
from lab.run.lanes import RunSpec, build_lanes
from lab.run.provenance import commit, versions
from lab.run.race import to_the_end
from lab.run.record import LaneRecord, Provenance, RunRecord
from lab.spec.model_shape import ModelShape

NOT_VALIDATED = "not validated here"


@dataclass(frozen=True, slots=True)
class _Predicted:
    """What `build_lanes` asks of an engine."""

    executor: PredictedExecutor
    shape: ModelShape
    weight_bytes: int
    kv_bytes_per_token: int
    stop_ids: frozenset[int] = field(default=frozenset())

    @property
    def executors(self) -> Sequence[PredictedExecutor]:
        return (self.executor,)


def source_of(calibration: Calibration) -> Provenance:
    """Of what is predicted now from these measured steps."""
    return replace(calibration.provenance, kind="predicted", created=_now())


def predict(spec: RunSpec, calibration: Calibration) -> RunRecord:
    """A run on the machine that was calibrated, with the model it was calibrated for; see `what_if` for errors."""
    source = source_of(calibration)
    engine = _Predicted(
        PredictedExecutor(calibration.cost, calibration.free_bytes, rounded),
        calibration.shape,
        source.weight_bytes,
        source.kv_bytes_per_token,
    )
    return RunRecord(source, spec.workload, _run(spec, engine))


def what_if(spec: RunSpec, roofline: Roofline) -> RunRecord:
    """A run on a device that is not here. Each lane has it for itself: what 0.9 of the memory leaves beside the
    weights is its KV budget, unless the spec has a smaller one.

    A record of kind "predicted". ValueError where the workload is not tokenized or an answer's length is not known,
    or where the spec cannot run with this model and memory.
    """
    shape, device = roofline.shape, roofline.device
    room = roofline.kv_bytes
    if spec.kv_budget_mb is None:
        spec = replace(spec, kv_budget_mb=room / spec.groups / 1e6)
    source = Provenance(
        kind="predicted",
        model=shape.name,
        revision="dimensions only",
        dtype="bf16",
        device=f"{device.name} ({NOT_VALIDATED})",
        threads=0,
        versions=versions(),
        commit=commit(),
        created=_now(),
        weight_bytes=shape.parameters_read_per_step * BYTES,
        kv_bytes_per_token=shape.kv_bytes_per_token(BYTES),
        read_bytes_per_s=device.bytes_per_s,
    )
    engine = _Predicted(
        PredictedExecutor(roofline, roofline.free_bytes),
        shape,
        roofline.memory_of_weights,
        source.kv_bytes_per_token,
    )
    alone = [replace(spec, policies=(policy,)) for policy in spec.policies]
    return RunRecord(source, spec.workload, tuple(lane for one in alone for lane in _run(one, engine)))


def _run(spec: RunSpec, engine: _Predicted) -> tuple[LaneRecord, ...]:
    if not spec.workload.lengths_known:
        unknown = sum(r.output_tokens is None for r in spec.workload.requests)
        raise ValueError(f"the lengths of {unknown} answers are not known; a prediction needs all of them")
    check_budget(spec, spec.workload, engine.kv_bytes_per_token)
    lanes = build_lanes(spec, spec.workload, engine)
    to_the_end(lanes)
    return tuple(lane.record() for lane in lanes)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
