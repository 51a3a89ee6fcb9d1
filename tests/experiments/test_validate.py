"""A small validation of a dummy model: that every case is there, replayed and told. Not how good the fit is."""

import json

import pytest

from lab.analysis.accuracy import METRICS
from lab.cli.validation_text import validation_json, validation_text
from lab.engine.cost_model import KNOTS, CostModel
from lab.engine.loaded import load_engine
from lab.experiments.validate import validate
from lab.run.calibration import Calibration
from lab.run.provenance import provenance_of
from lab.scheduling.policy import MODES


def _silent(phase, done, total):
    return None


@pytest.fixture(scope="module")
def validation():
    engine = load_engine("dummy:SmolLM2-135M", device="cpu", dtype="bf16")
    calibration = Calibration(
        cost=CostModel((0.012, 0.0, 0.0, 0.0, 0.0, *[4e-4] * len(KNOTS))),  # of about the right size
        provenance=provenance_of(engine, engine.executor.reference_steps(3)),
        shape=engine.shape,
        fingerprint=engine.fingerprint,
        folder="",
        free_bytes=10**10,
        flops_per_s=1e11,
        samples=20,
        held_out=4,
        error=0.1,
    )
    return validate(engine, calibration, _silent, batch_size=4, requests=5, loads=(0.5,))


def test_every_mode_is_held_against_its_prediction_at_every_load_in_every_metric(validation):
    found = {(c.mode, c.load, c.metric) for c in validation.cells}
    assert found == {(name, 0.5, metric) for name in MODES for metric in METRICS}
    assert len(validation.cells) == len(found)


def test_every_measured_lane_was_run_again_with_its_own_seconds_and_decided_the_same(validation):
    assert validation.lanes == len(MODES) * 5
    assert validation.departures == ()


def test_no_batching_has_the_least_capacity_and_continuous_the_most(validation):
    capacity = validation.capacity
    assert capacity["none"] < capacity["static"] < capacity["continuous"]
    assert capacity["static"] == pytest.approx(capacity["dynamic"])  # saturated, they do the same


def test_its_json_is_strict_and_has_all_cells(validation):
    told = json.loads(json.dumps(validation_json(validation), allow_nan=False))
    assert len(told["cells"]) == len(validation.cells)
    assert set(told["cells"][0]) == {
        "mode", "load", "metric", "measured", "predicted", "error", "spread", "verdict"
    }  # fmt: skip
    assert set(told["median_abs_error"]) == set(METRICS)
    assert sum(told["verdicts"].values()) == len(told["cells"])
    assert told["replay"]["identical"] is True


def test_its_report_has_a_line_for_every_mode_and_load(validation):
    text = validation_text(validation)
    for name in MODES:
        assert text.count(f"| {name} | 0.5 |") == 2
    assert "with their own step times" in text
