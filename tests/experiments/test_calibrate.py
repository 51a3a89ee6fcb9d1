"""The fit of step times: what it finds where the truth is known, and that a real engine can be calibrated."""

from dataclasses import replace

import numpy as np
import pytest

from lab.engine.cost_model import KNOTS, CostModel, Sizes, sizes_of
from lab.engine.loaded import load_engine
from lab.engine.rounding import rounded
from lab.experiments.calibrate import Sample, calibrate, fit, samples_of
from lab.run.calibration import keep, kept
from lab.run.lanes import RunSpec
from lab.run.predict import predict
from lab.run.record import LaneRecord
from lab.scheduling.policy import MODES, mode
from lab.workload.request import Request, Workload

TRUTH = CostModel((0.008, 0.002, 0.001, 2e-6, 1e-7) + (0.0, 1e-3, 1e-3, 5e-4) + (4e-4,) * (len(KNOTS) - 4))


def _samples(noise, seed=0, count=200):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        rows, prompts = int(rng.integers(0, 33)), int(rng.integers(0, 3))
        length = int(rng.integers(8, 200))
        sizes = Sizes(
            max(1, rows + prompts * length), rows * int(rng.integers(1, 300)), prompts, prompts * length * length
        )
        made.append(Sample(sizes, TRUTH.seconds(sizes) * float(rng.normal(1, noise))))
    return made


def test_without_noise_the_fit_predicts_steps_it_never_saw():
    found = fit(_samples(0.0))
    assert found.error < 0.002
    for sample in _samples(0.0, seed=1):
        assert found.cost.seconds(sample.sizes) == pytest.approx(sample.seconds, rel=0.02)


def test_with_noise_the_error_told_is_about_the_noise():
    found = fit(_samples(0.05))
    assert 0.02 < found.error < 0.06
    errors = [abs(found.cost.seconds(s.sizes) / s.seconds - 1) for s in _samples(0.0, seed=1)]
    assert np.median(errors) < 0.02


def test_too_few_steps_are_refused():
    with pytest.raises(ValueError, match="3 measured steps; a cost model needs at least 10"):
        fit(_samples(0.0, count=3))


@pytest.fixture(scope="module")
def calibrated():
    """(what was found, how many steps had been run at each report)."""
    engine = load_engine("dummy:SmolLM2-135M", device="cpu", dtype="bf16")
    run, steps, reported = engine.executor.run, [], []
    engine.executor.run = lambda step, horizon: steps.append(step) or run(step, horizon)
    found = calibrate(engine, lambda phase, done, total: reported.append(len(steps)))
    return found, [*reported, len(steps)]


@pytest.fixture(scope="module")
def calibration(calibrated):
    return calibrated[0]


def test_whoever_listens_is_asked_before_every_step(calibrated):
    assert max(np.diff([0, *calibrated[1]])) == 1


def test_a_real_engine_is_calibrated_and_the_file_loads_back(calibration):
    assert 0 < calibration.error < 1
    assert calibration.held_out >= 5
    assert all(c >= 0 for c in calibration.cost.coefficients)
    path = keep(calibration)
    assert calibration in kept()
    path.write_text("damaged")
    assert calibration not in kept()


def test_it_is_stale_when_the_machine_has_become_slower_or_faster(calibration):
    now = calibration.reference_step_s
    assert not calibration.stale(now * 1.05)
    assert calibration.stale(now * 1.2)
    assert calibration.stale(now * 0.8)


@pytest.mark.parametrize(
    ("error", "known", "replaces"),
    [(0.33, 0.04, False), (0.14, 0.04, True), (0.33, 0.4, True)],
)
def test_a_fit_made_on_a_busy_machine_does_not_replace_a_better_one(calibration, error, known, replaces):
    assert replace(calibration, error=error).replaces(replace(calibration, error=known)) == replaces


def _workload(lengths_known=True):
    rows = [(0.02 * i, 5 + i, 3 + (i * 7) % 20) for i in range(12)]
    return Workload(
        "test",
        tuple(
            Request(i, at, n, prompt_ids=(1,) * p, output_tokens=n if lengths_known else None)
            for i, (at, p, n) in enumerate(rows)
        ),
    )


def test_a_predicted_run_obeys_every_identity_and_says_what_it_is(calibration):
    from lab.analysis.checks import check_lane

    record = predict(RunSpec(_workload(), tuple(mode(name, 4) for name in MODES)), calibration)
    assert record.provenance.kind == "predicted"
    for lane in record.lanes:
        check_lane(record.workload, lane, complete=True)
        assert lane.answers() == {}
    none, static, _, continuous = record.lanes
    assert _end(continuous) <= _end(static) <= _end(none)


def test_a_prediction_of_answers_of_unknown_length_is_refused(calibration):
    with pytest.raises(ValueError, match="the lengths of 12 answers are not known"):
        predict(RunSpec(_workload(lengths_known=False), (mode("none"),)), calibration)


def test_steps_of_a_record_are_samples_too(calibration):
    record = predict(RunSpec(_workload(), (mode("continuous", 4),)), calibration)
    samples = samples_of(record)
    [lane] = record.lanes
    assert len(samples) == len(list(lane.runs()))
    assert samples[0].sizes == sizes_of(next(lane.runs()).rows, rounded)


def _end(lane: LaneRecord) -> float:
    return lane.columns.start[-1] + sum(lane.columns.seconds[-lane.columns.repeat[-1] :])
