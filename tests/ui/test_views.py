"""What a record looks like: spans of seats, figures, tables; whatever a visitor typed stays text."""

import pytest

from lab.analysis.metrics import lane_metrics
from lab.report.charts.kv import kv_alt, kv_figure
from lab.report.charts.record import charts
from lab.report.identity import identity_line
from lab.report.provenance import provenance_line
from lab.report.requests import requests_table
from lab.report.score import score_table
from lab.report.words import Words
from lab.run.record import Columns, LaneRecord, RunRecord
from lab.scheduling.policy import MODES
from lab.ui.knobs import DEFAULTS
from lab.ui.views.modes import modes_table

EN = Words("en")
EVIL = "<img src=x onerror=alert(1)> & \"quotes\" '</td>'"


def metrics_of(record):
    return [lane_metrics(record, lane) for lane in record.lanes]


def test_the_kv_chart_reaches_the_peaks_of_the_metrics(make_record):
    record = make_record([4, 8], prompts=[10, 30])
    metrics = metrics_of(record)
    figure = kv_figure(record, EN)
    reserved = [max(t.y) for t in figure.data if t.legendgroup == "reserved"]
    used = [max(t.y) for t in figure.data if t.legendgroup == "used"]
    assert reserved == pytest.approx([m.kv_peak_reserved_bytes / 1e6 for m in metrics])
    assert used == pytest.approx([m.kv_peak_used_bytes / 1e6 for m in metrics])
    assert "none 0.0 / 0.0 MB" in kv_alt(record, metrics, EN)


def test_the_score_leaves_undefined_blank_and_names_a_maximum(make_record):
    table = score_table(metrics_of(make_record([1, 1])), EN)
    tpot = table.split("TPOT, mean")[1].split("</tr>")[0]
    assert tpot.count("<td>–</td>") == 4
    p99 = table.split("TTFT, p99")[1].split("</tr>")[0]
    assert p99.count("max of 2") == 4


def test_a_p99_of_a_hundred_samples_is_no_maximum(make_record):
    table = score_table(metrics_of(make_record([2] * 100, batch=8, modes=["continuous"])), EN)
    assert "max of" not in table.split("TTFT, p99")[1].split("</tr>")[0]


def test_the_best_of_a_row_is_marked_and_never_all_of_them(make_record):
    table = score_table(metrics_of(make_record([5, 5, 5])), EN)
    throughput = table.split("Throughput")[1].split("</tr>")[0]
    assert 1 <= throughput.count('class="best"') < 4
    one = score_table(metrics_of(make_record([5], modes=["none"])), EN)
    assert 'class="best"' not in one


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_a_visitor_typed_stays_text(make_record, language):
    words = Words(language)
    said = EVIL.encode().hex()
    record = make_record([1, 1], texts={0: EVIL, 1: "plain"})
    tokens = {t for lane in record.lanes for t in lane.columns.token}
    record = RunRecord(
        record.provenance, record.workload, record.lanes, (), tuple((t, said) for t in sorted(tokens))
    )
    html = requests_table(record.workload, words)
    assert "<img" not in html
    assert "&lt;img" in html
    assert "</td>'" not in html


def test_the_identity_of_answers_is_said_with_the_first_difference(make_record):
    record = make_record([2, 2])
    words = {t: f" w{t}".encode().hex() for lane in record.lanes for t in lane.columns.token}
    same = RunRecord(record.provenance, record.workload, record.lanes, (), tuple(words.items()))
    assert identity_line(same, EN) == "Token identity: 2 of 2 answers are the same in all modes."
    other = _with_last_token(same, "static", request=1, token=424242)
    parted = RunRecord(other.provenance, other.workload, other.lanes, ((1, 0.5),), (*words.items(), (424242, "21")))
    line = identity_line(parted, EN)
    assert "1 of 2 answers are the same in all modes, 0 differ by a tie" in line
    assert "First difference: request 1, token 2, none against static." in line


def test_one_mode_alone_has_nothing_to_compare(make_record):
    assert "nothing to compare" in identity_line(make_record([2], modes=["none"]), EN)


def test_provenance_says_measured_on_what_and_under_which_knobs(make_record):
    record = make_record([2], model="SmolLM2")
    line = provenance_line(record, metrics_of(record), EN)
    for part in (
        "Measured here at 2026-01-0",
        "SmolLM2",
        "no device",
        "fp32",
        "threads: 2",
        "batch 2",
        "window 50 ms",
    ):
        assert part in line
    without = make_record([2], modes=["none", "static"])
    assert "window" not in provenance_line(without, metrics_of(without), EN)


def test_the_four_modes_are_explained_with_the_window_as_it_is_set():
    assert "waits 50 ms at most" in modes_table(DEFAULTS, EN)


def _with_last_token(record, name, request, token):
    def changed(lane):
        c = lane.columns
        i = max(i for i, r in enumerate(c.request) if r == request)
        tokens = (*c.token[:i], token, *c.token[i + 1 :])
        columns = Columns(**{f: getattr(c, f) for f in Columns.__dataclass_fields__ if f != "token"}, token=tokens)
        return LaneRecord(lane.policy, lane.groups, lane.kv_budget, lane.refused, columns)

    lanes = tuple(changed(lane) if lane.name == name else lane for lane in record.lanes)
    return RunRecord(record.provenance, record.workload, lanes, record.logit_gaps, record.token_bytes)


def test_every_chart_has_a_line_a_mode_a_caption_and_words_for_what_it_shows(make_record):
    record = make_record([2, 5])
    made = charts(record, metrics_of(record), EN)
    assert [chart.name for chart in made] == ["ttft", "e2e", "tpot", "queue", "tokens", "kv"]
    for chart in made[:-1]:
        assert [trace.name for trace in chart.figure.data if trace.mode == "lines"] == list(MODES)
        assert [trace.text for trace in chart.figure.data if trace.mode != "lines"] == [(name,) for name in MODES]
    assert all(chart.caption and chart.alt for chart in made)
    tokens = {trace.name: trace.y[-1] for trace in made[4].figure.data if trace.mode == "lines"}
    assert tokens == dict.fromkeys(MODES, 7)
