"""Pictures without a window: drawn where there is a browser, a sentence where there is none, never a hang."""

import os
import stat
import subprocess
import time
from xml.etree import ElementTree

import pytest

from lab.cli.main import main
from lab.report.browser import NoBrowser, dump, find_browser
from lab.report.charts.record import charts
from lab.report.document import metrics_of
from lab.report.pictures import pictures
from lab.run.record_file import load, save


@pytest.fixture
def saved(make, tmp_path):
    path = tmp_path / "record.json"
    save(make.scenario("chat", requests=4), path)
    return path


@pytest.fixture
def no_browser(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("lab.report.browser.PLACES", ())
    return tmp_path


def program(folder, name, script):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_each_chart_becomes_an_svg_and_a_png_in_the_size_of_a_slide(make, chromium_path):
    record = make.hostile()
    drawn = charts(record, metrics_of(record), make.words)
    made = pictures(drawn, ["svg", "png"], find_browser())
    assert set(made) == {(chart.name, format) for chart in drawn for format in ("svg", "png")}
    for (_, format), content in made.items():
        if format == "svg":
            picture = ElementTree.fromstring(content)
            assert (picture.get("width"), picture.get("height")) == ("960", "540")
            assert not [node for node in picture.iter() if node.tag.endswith("}script")]
            assert "<script>" in "".join(picture.itertext())
        else:
            assert [int.from_bytes(content[i : i + 4], "big") for i in (16, 20)] == [1920, 1080]


def test_without_a_browser_report_and_tables_are_written_and_a_sentence_says_what_is_missing(
    saved, no_browser, tmp_path, capsys
):
    out, data, slides = tmp_path / "r.html", tmp_path / "d", tmp_path / "c"
    code = main(["report", str(saved), "--out", str(out), "--data", str(data), "--charts", str(slides)])
    assert code == 2
    assert "pictures need a browser, and no Chrome or Chromium is found on this machine" in capsys.readouterr().err
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert sorted(p.name for p in data.iterdir()) == ["metrics.csv", "record.json", "requests.csv", "steps.csv"]
    assert load(data / "record.json") == load(saved)
    assert not slides.exists()


@pytest.mark.skipif(os.name == "nt", reason="shell scripts stand for browsers")
def test_a_browser_that_hangs_is_ended_with_all_that_it_started(no_browser):
    mark = no_browser / "pid"
    program(no_browser, "chromium", f"/bin/sleep 600 & echo $! > {mark}; wait")
    begin = time.monotonic()
    with pytest.raises(NoBrowser, match="did not answer within 1 s"):
        find_browser(seconds=1.0)
    assert time.monotonic() - begin < 60
    child = int(mark.read_text())
    state = subprocess.run(["/bin/ps", "-o", "stat=", "-p", str(child)], capture_output=True, text=True).stdout
    assert state.strip()[:1] in ("", "Z")


@pytest.mark.skipif(os.name == "nt", reason="shell scripts stand for browsers")
def test_the_next_browser_is_tried_where_one_opens_no_page(no_browser):
    program(no_browser, "chromium", "exit 3")
    good = program(no_browser, "google-chrome", "echo '<p id=\"here\">'")
    assert find_browser() == str(good)
    with pytest.raises(NoBrowser, match="ended with code 3"):
        dump(str(no_browser / "chromium"), "", 10)


def test_a_picture_that_is_not_drawn_is_a_sentence(make, no_browser):
    silent = program(no_browser, "chromium", "echo '<p id=\"here\">'")
    record = make.scenario("chat", requests=2)
    with pytest.raises(NoBrowser, match="did not draw all charts"):
        pictures(charts(record, metrics_of(record), make.words), ["png"], str(silent))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "nothing to write was named; give --out FILE, --charts DIR or --data DIR"),
        (["--charts", "c", "--format", "gif"], "--format is 'gif'; it must be svg or png"),
    ],
)
def test_a_wrong_call_is_a_sentence(saved, capsys, options, says):
    assert main(["report", str(saved), *options]) == 2
    assert says in capsys.readouterr().err
