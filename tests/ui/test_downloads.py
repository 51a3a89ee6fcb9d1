"""Files to take along: whole, the same each time, built once, and none of them disturbs the page."""

import csv
import io
from concurrent.futures import ThreadPoolExecutor

import pytest

import lab.ui.exports
from lab.run.record_file import from_json
from lab.ui.exports import Exports
from tests.ui.visitor import SCRIPTED, served

FILES = ["report.html", "record.json", "metrics.csv", "requests.csv", "steps.csv"]


def test_each_file_is_built_once_however_many_ask_at_the_same_time(make_record, monkeypatch):
    built = []
    make = lab.ui.exports.report_html
    monkeypatch.setattr(lab.ui.exports, "report_html", lambda *given: built.append(1) or make(*given))
    made = Exports([make_record([2, 3])], "en")
    assert list(made.names) == FILES
    assert built == []
    with ThreadPoolExecutor(8) as pool:
        files = list(pool.map(made.file, ["report.html"] * 16))
    assert len(built) == 1
    assert all(file is files[0] for file in files)


def test_each_file_says_under_what_it_was_made(make_record):
    record = make_record([2, 3], model="a model")
    made = Exports([record], "en")
    assert from_json(made.file("record.json").decode()) == record
    for name in ("metrics.csv", "requests.csv", "steps.csv"):
        first = next(csv.DictReader(io.StringIO(made.file(name).decode())))
        assert (first["scenario"], first["seed"], first["model"], first["threads"]) == ("own", "0", "a model", "2")
    assert "a model" in made.file("report.html").decode()


def test_a_run_can_be_kept_and_set_beside_another(page, wait_for):
    at = page(requests="2")
    at.button(key="run").click().run()
    wait_for(lambda: at.run() and at.get("plotly_chart"))
    assert [b.proto.label for b in at.get("download_button")][1:] == FILES[1:]
    at.text_input(key="keep_name").set_value("first").run()
    at.button(key="keep_this").click().run()
    at.session_state["batch"] = 2
    at.run()
    at.button(key="run").click().run()
    wait_for(lambda: at.run() and len(at.multiselect(key="compare_with").options) == 1)
    at.multiselect(key="compare_with").set_value(["first"]).run()
    assert not at.exception
    assert [b.proto.label for b in at.get("download_button")][-1] == "Compare"
    [one, other] = at.session_state["exports_compared"].key[0]
    assert one != other


@pytest.fixture
def tab(chromium):
    """On a server with a scripted engine."""
    with served(SCRIPTED) as (_, host):
        page = chromium.new_page(viewport={"width": 1280, "height": 900}, accept_downloads=True)
        page.goto(f"http://{host}/?scenario=own&batch=2")
        yield page
        page.close()


def test_ten_of_ten_downloads_while_a_run_is_live_give_the_same_whole_file(tab):
    going = "batchingStage.get('stage').shown.some(({ run }) => !run.over)"
    prompts = tab.locator(".st-key-own textarea")
    prompts.fill("slow\n" * 16)
    prompts.press("Control+Enter")
    tab.locator("table.requests td", has_text="slow").first.wait_for()
    tab.locator(".st-key-run button").press("Enter")
    tab.locator(".st-key-origin").wait_for(timeout=120_000)
    batch = tab.get_by_role("slider", name="Max batch size")
    batch.focus()
    tab.keyboard.press("ArrowLeft")  # all but none run anew, with one seat; what none gave stays on the page
    tab.wait_for_function(going, timeout=60_000)
    tab.locator(".st-key-keep").get_by_role("button", name="Download").click()
    for key, ending in (("report", b"</html>\n"), ("record", b"}")):
        files = []
        for _ in range(5):
            with tab.expect_download(timeout=60_000) as download:
                tab.locator(f".st-key-get_{key} button").click()
            files.append(download.value.path().read_bytes())
        assert tab.evaluate(going), "the run has ended too soon to say anything"
        assert files[0].endswith(ending)
        assert set(files) == {files[0]}
