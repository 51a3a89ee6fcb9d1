"""One style: fixed colours, dashes and markers, names on lines, units, settings below; nothing undefined drawn."""

import json

import pytest

from lab.analysis.series import Series
from lab.report.charts.labels import label_places
from lab.report.charts.record import charts
from lab.report.charts.steps import MOST_POINTS, thinned
from lab.report.charts.style import mode_dash, mode_symbol, picture_name, plain
from lab.report.document import metrics_of, record_charts
from lab.report.palette import MODES, mode_colour
from lab.workload.request import Request, Workload


def drawn(make, record):
    return {chart.name: chart for chart in charts(record, metrics_of(record), make.words)}


def test_a_mode_has_one_colour_dash_and_marker_in_every_chart_and_no_two_share_one(make):
    for look in (mode_colour, mode_dash, mode_symbol):
        assert len({look(name) for name in MODES}) == len(MODES)
    made = drawn(make, make.scenario("chat"))
    for name in ("ttft", "e2e", "tpot", "queue", "tokens"):
        for trace in made[name].figure.data:
            if trace.mode == "lines":
                assert (trace.line.color, trace.line.dash) == (mode_colour(trace.name), mode_dash(trace.name))
            else:
                assert (trace.marker.color, trace.marker.symbol) == (
                    mode_colour(trace.name),
                    mode_symbol(trace.name),
                )


def test_a_hybrid_looks_like_its_mode():
    assert mode_dash("static -padded") == mode_dash("static")
    assert mode_colour("static -padded") == mode_colour("static")


def test_axes_say_their_unit_and_every_chart_says_its_settings(make):
    for chart in drawn(make, make.scenario("chat")).values():
        told = " ".join(a.text for a in chart.figure.layout.annotations).replace("<br>", " ")
        assert "Chat · requests: 12 · seed 0 · batch 4 · window 50 ms · scripted · paper · fp32" in told
    made = drawn(make, make.scenario("chat"))
    assert made["ttft"].figure.layout.xaxis.title.text == "time to first token, s"
    assert made["ttft"].figure.layout.yaxis.title.text == "share of requests, %"
    assert made["kv"].figure.layout.yaxis.ticksuffix == " MB"


def test_an_answer_of_one_token_has_no_time_per_output_token_and_the_chart_leaves_it_out(make):
    """CASES: outputs of 1 and 5 tokens."""
    ids = (1, 2, 3)
    workload = Workload(
        "own",
        (Request(0, 0.0, 1, prompt_ids=ids, output_tokens=1), Request(1, 0.0, 5, prompt_ids=ids, output_tokens=5)),
    )
    record = make.record(workload, modes=("none",))
    [line, _] = drawn(make, record)["tpot"].figure.data
    assert len(line.x) == 2  # from 0, and the one request that has it
    assert line.x[1] == pytest.approx(0.021)
    only = make.record(Workload("own", workload.requests[:1]), modes=("none",))
    assert len(drawn(make, only)["tpot"].figure.data) == 0
    json.dumps(json.loads(drawn(make, only)["tpot"].figure.to_json()), allow_nan=False)


def test_names_stand_on_their_lines_and_apart(make):
    lines = [([0.0, 1.0, 10.0], [0.0, 50.0, 100.0]), ([0.0, 1.0, 10.0], [0.0, 10.0, 20.0])]
    one, other = label_places(lines)
    assert abs(one.y - other.y) >= 40
    for place, (x, y) in zip((one, other), lines, strict=True):
        assert place.y in y
        assert 0 <= place.x <= x[-1]
    assert label_places([([5.0], [1.0])]) == [(5.0, 1.0, "left")]


def test_a_long_line_is_thinned_and_keeps_its_peaks_and_its_end():
    count = 20_000
    values = [i % 7 for i in range(count)]
    values[12_345] = 99
    x, y = thinned(Series(tuple(float(i) for i in range(count)), tuple(values)), count + 5.0, scale=2.0)
    assert len(x) <= MOST_POINTS + 2
    assert y[x.index(12_345.0)] == 198.0
    assert (x[-1], y[-1]) == (count + 5.0, 2.0 * values[-1])
    assert x == sorted(x)


def test_names_of_files_are_safe_whatever_a_scenario_is_called():
    assert picture_name("chat", "ttft") == "batching-lab-chat-ttft"
    assert picture_name("../..\\<b> 聊天:*?", "kv") == "batching-lab-b-kv"
    assert picture_name("聊天", "kv") == "batching-lab-kv"


def test_text_in_a_figure_is_no_markup_and_turns_nothing_around_it():
    assert plain("<b>a</b>\n\u202eb & c") == "&lt;b&gt;a&lt;/b&gt; b &amp; c"


def test_a_comparison_has_bars_with_the_range_of_the_repeats_and_a_panel_a_mode(make):
    again = {"created": "2026-01-02T04:00:00+00:00"}
    a, b = make.scenario("equal"), make.scenario("equal", speed=1.25, **again)
    other = make.scenario("equal", batch=2, kind="predicted")
    made = {chart.name: chart for chart in record_charts([a, b, other], make.words)}
    bars = made["compare_throughput"].figure.data
    assert [bar.name for bar in bars] == ["A", "B (predicted)"]
    assert bars[0].error_y.visible
    assert not bars[1].error_y.visible
    values = [m.throughput for r in (a, b) for m in metrics_of(r) if m.lane == "none"]
    assert bars[0].y[0] == pytest.approx(sum(values) / 2)
    assert bars[0].error_y.array[0] == pytest.approx(max(values) - sum(values) / 2)
    assert list(bars[0].marker.color) == list(MODES.values())
    assert bars[0].marker.pattern.shape != bars[1].marker.pattern.shape
    lines = [t for t in made["compare_e2e"].figure.data if t.mode == "lines"]
    assert len(lines) == 3 * len(MODES)
