"""A sweep over loads, drawn: the points are its numbers, the ring is its knee, and nothing becomes markup."""

import pytest

from lab.analysis.distribution import summarise
from lab.analysis.load import Cell, Curve, Little, Point, Sweep
from lab.report.charts.load import load_charts
from lab.report.load import load_html, load_remarks, load_table
from lab.report.words import LANGUAGES, Words
from lab.run.record import LaneRecord, Provenance, RunRecord
from lab.scheduling.policy import mode
from lab.workload.request import Request, Workload

SOURCE = Provenance("predicted", "<b>model</b>", "1", "fp32", "cpu", 1, (), "", "2026-01-01T00:00:00+00:00", 1, 1)


def cell(load, throughput, *latencies):
    points = [
        Point(throughput, summarise([x]), summarise([x / 2]), summarise([0.1]), Little(2.0, 1.0, 2.0), 1.5, 3.0)
        for x in latencies
    ]
    return Cell(load, tuple(points))


def sweep_of(loop="open", window=0.2):
    policies = (mode("none"), mode("dynamic", 8, window))
    loads = [(1.0, 10.0, 1.0), (2.0, 20.0, 1.1), (4.0, 21.0, 6.0)]
    curves = tuple(
        Curve(p, tuple(cell(a, b * (i + 1), c, c + 0.5) for a, b, c in loads), cell(None, 22.0, 9.0, 9.0))
        for i, p in enumerate(policies)
    )
    setting = RunRecord(SOURCE, Workload("<i>own</i>", (Request(0, 0.0, 1),)), tuple(map(lane_of, policies)))
    return Sweep(loop, setting, (3, 4), 8, curves, left_out=2, think_s=0.5)


def lane_of(policy):
    return LaneRecord(policy, 1, 100)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_chart_has_a_line_a_mode_and_a_ring_on_its_knee(language):
    for chart in load_charts(sweep_of(), Words(language)):
        lines = [t for t in chart.figure.data if t.mode == "lines+markers"]
        rings = [t for t in chart.figure.data if t.mode == "markers"]
        assert [list(line.x) for line in lines] == [[10, 20, 21], [20, 40, 42]]
        assert [list(line.y) for line in lines] == [[1.25, 1.35, 6.25]] * 2  # medians of two repeats
        assert [(ring.x[0], ring.y[0]) for ring in rings] == [(20, 1.35), (40, 1.35)]
        assert len({line.line.dash for line in lines}) == len({line.line.color for line in lines}) == 2
        assert list(lines[0].error_y.array) == pytest.approx([0.25] * 3)


def test_a_prediction_says_that_it_is_one_and_text_stays_text():
    made = load_html(sweep_of(), Words("en"))
    assert "Predicted" in made
    assert "<b>model</b>" not in made
    assert "<i>own</i>" not in made
    assert "&lt;i&gt;own&lt;/i&gt;" in made


def test_the_file_asks_nothing_of_the_network():
    made = load_html(sweep_of(), Words("en"))
    assert "<script src=" not in made
    assert "<link" not in made


def test_the_table_sets_the_two_sides_of_littles_law_side_by_side():
    made = load_table(sweep_of(), Words("en"))
    assert made.count("<td>2.000</td><td>1.000</td><td>2.000</td><td>2.000</td>") == 8  # (3 loads + at once) × 2
    assert made.count("<mark") == 2


def test_the_remarks_say_what_was_left_out_and_where_a_window_is_pure_delay():
    words = Words("en")
    said = " ".join(load_remarks(sweep_of("closed"), words))
    assert "Dynamic, number of users 1, 2, 4" in said or "dynamic, number of users 1, 2, 4" in said
    assert "window of 200 ms for nobody" in said
    assert "2 loads of each mode were left out" in said
    assert "for nobody" not in " ".join(load_remarks(sweep_of("open"), words))
    assert "for nobody" not in " ".join(load_remarks(sweep_of("closed", window=0.0), words))
