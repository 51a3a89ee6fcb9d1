"""The report as a text: what it holds, how large it is, that nobody's text becomes markup."""

import re
from dataclasses import replace
from html import unescape

import pytest

from lab.report.document import report_html
from lab.report.words import Words
from lab.run.record_file import from_json, to_json
from lab.workload.request import MAX_REQUESTS
from lab.workload.scenarios import SCENARIOS


@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_holds_settings_provenance_score_reasons_and_glossary(make, language):
    record, words = make.scenario("chat"), Words(language)
    text = unescape(report_html([record], words))
    for said in (
        words("score.throughput.name"),
        words("score.mbu.means"),
        words("report.why"),
        words("report.settings"),
        words("provenance.recorded", time="")[:4],
        "2026-01-02T03:04:05+00:00",
        "python 3",
        "scripted",
    ):
        assert said in text
    assert f'<html lang="{language}">' in text


def test_the_same_record_gives_the_same_bytes_also_after_a_way_over_disk(make):
    record = make.scenario("chat")
    assert report_html([record], make.words) == report_html([from_json(to_json(record))], make.words)


def test_the_drawing_library_and_the_stage_are_in_it_once(make):
    text = report_html([make.scenario("chat"), make.scenario("chat", batch=2)], make.words)
    assert text.count('id="packed-plotly"') == text.count('id="packed-stage"') == 1


def test_two_hundred_requests_and_the_most_that_a_run_takes_fit_four_megabytes(make):
    for requests in (200, MAX_REQUESTS):
        record = make.scenario("mixed", requests=requests, batch=8)
        assert len(report_html([record], make.words).encode()) <= 4_000_000


def test_the_policy_lets_only_the_files_own_scripts_run_and_nothing_be_asked(make):
    policy = re.search(
        r'Content-Security-Policy" content="([^"]*)"', report_html([make.scenario("chat")], make.words)
    )[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
    assert "http" not in policy


def test_what_somebody_typed_is_never_markup(make):
    text = report_html([make.hostile()], make.words)
    assert "window.hacked = 1</script>" not in text
    assert "<img" not in text
    assert text.count("<script") == text.count("</script>") == 4  # three packed texts, what unpacks them
    assert make.evil in unescape(text)


def test_one_to_four_records_are_taken(make):
    record = make.scenario("chat", requests=2)
    with pytest.raises(ValueError, match="0 records were given; 1 to 4"):
        report_html([], make.words)
    with pytest.raises(ValueError, match="5 records were given; 1 to 4"):
        report_html([record] * 5, make.words)


def test_measured_against_predicted_says_so(make):
    one, other = make.scenario("chat"), make.scenario("chat", kind="predicted")
    mixed = make.words("compare.mixed")
    text = unescape(report_html([one, other], make.words))
    assert mixed in text
    assert "B (predicted)" in text
    assert mixed not in unescape(report_html([one, make.scenario("chat", batch=2)], make.words))


def test_settings_that_differ_are_marked_and_the_others_are_not(make):
    text = report_html([make.scenario("chat", batch=4), make.scenario("chat", batch=2)], make.words)
    marked = re.findall(r"<mark[^>]*>([^<]*)</mark>", text)
    assert marked == ["Max batch size"]


def test_repeats_are_pooled_with_their_spread(make):
    again = {"created": "2026-01-02T04:00:00+00:00"}
    records = [
        make.scenario("equal"),
        make.scenario("equal", speed=1.1, **again),
        make.scenario("equal", batch=2),
        make.scenario("equal", batch=2, speed=1.1, **again),
    ]
    text = unescape(report_html(records, make.words))
    assert "2 repeats of the same settings" in text
    assert "n = 2" in text
    assert "the repeats' spread" in text
    assert "C</" not in text


def test_every_scenario_has_its_name_on_it(make):
    for name in SCENARIOS:
        record = make.scenario(name, requests=None if name == "own" else 4)
        assert f"<bdi>{name}</bdi>" in report_html([record], make.words)


def test_random_weights_are_said_to_mean_nothing(make):
    record = make.scenario("chat")
    dummy = replace(record, provenance=replace(record.provenance, model="dummy:x"))
    assert make.words("provenance.random") in report_html([dummy], make.words)
