"""The predicted curve over rates of arrival: where it is flat, where it turns, and that one run lies on it."""

from dataclasses import replace

import pytest

from lab.experiments.rates import RateCurve, RatePoint, rate_curves, rate_point
from lab.lesson.lesson import scenes
from lab.lesson.recorded import recorded_scene
from lab.report.charts.rates import RateRun, rate_chart
from lab.report.palette import mode_colour
from lab.report.words import LANGUAGES, Words
from lab.run.calibration import shipped
from lab.run.predict import predict

RATES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


@pytest.fixture(scope="module")
def workload():
    return recorded_scene("heavy").workload


@pytest.fixture(scope="module")
def curves(workload):
    return rate_curves(scenes()["heavy"].spec(), workload, shipped(), RATES)


def test_more_arrivals_never_make_the_mean_stay_shorter_one_by_one(curves):
    [alone] = [c for c in curves if c.lane == "none"]
    stays = [p.mean_e2e for p in alone.points]
    assert stays == sorted(stays)
    assert [p.rate for p in alone.points] == list(RATES)


def test_below_its_knee_a_lane_answers_what_comes_and_far_beyond_it_does_not(curves):
    [alone] = [c for c in curves if c.lane == "none"]
    assert alone.knee is not None
    assert alone.knee.answered == pytest.approx(alone.knee.rate, rel=0.25)
    assert alone.points[-1].answered < 0.7 * alone.points[-1].rate


def test_a_run_at_one_of_the_rates_lies_on_the_curve(curves, workload):
    spec = replace(scenes()["heavy"].spec(), workload=workload.at_rate(4.0))
    record = predict(spec, shipped())
    for curve in curves:
        assert rate_point(record, curve.lane, 4.0) == curve.points[RATES.index(4.0)]


def test_a_knee_at_an_end_is_none():
    rising = tuple(RatePoint(r, r, 1.0) for r in (1.0, 2.0, 3.0))
    assert RateCurve("none", rising).knee is None
    bent = (*rising, RatePoint(4.0, 3.0, 9.0))
    assert RateCurve("none", bent).knee == RatePoint(3.0, 3.0, 1.0)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_chart_has_a_line_and_points_a_lane_own_runs_filled_and_others_open(language):
    words = Words(language)
    bent = [RatePoint(1.0, 1.0, 1.0), RatePoint(2.0, 2.0, 1.0), RatePoint(4.0, 2.1, 6.0)]
    flat = [RatePoint(p.rate, p.rate, 0.5) for p in bent]
    runs = [RateRun("none", RatePoint(1.5, 1.5, 1.2), True), RateRun("none", RatePoint(3.0, 2.0, 4.0), False)]
    chart = rate_chart(
        [RateCurve("none", tuple(bent)), RateCurve("continuous", tuple(flat))], runs, "<i>cpu</i>", words
    )
    lines = [t for t in chart.figure.data if t.mode == "lines"]
    marks = [t for t in chart.figure.data if "markers" in t.mode]
    assert [list(line.y) for line in lines] == [[1.0, 1.0, 6.0], [0.5, 0.5, 0.5]]
    assert [(list(m.x), m.marker.symbol) for m in marks] == [
        ([2.0], "circle-open"),
        ([1.5], "circle"),
        ([3.0], "circle-open"),
    ]
    assert list(marks[0].text) == [words("load.knee")]
    assert {m.marker.color for m in marks} == {mode_colour("none")}
    assert "<i>" not in chart.figure.to_json().replace("&lt;i&gt;", "")
    assert words("rates.alt_knee", rate="2") in chart.alt
