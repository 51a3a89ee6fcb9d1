"""The report opened from disk in a real browser without a network."""

import pytest

from lab.report.document import report_html
from lab.report.words import Words
from lab.workload.scenarios import SCENARIOS

STAGE = "batchingStage.get('report')"


def plays(make, page):
    page.evaluate(f"{STAGE}.player.seek(0)")
    page.get_by_role("button", name="Play", exact=True).click()
    make.until(page, f"{STAGE}.player.time > 0.02 && {STAGE}.counters.frames > 1")


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_scenario_opens_offline_with_its_charts_and_its_stage_plays(make, open_offline, name):
    record = make.scenario(name, requests=None if name == "own" else 8)
    page = open_offline(report_html([record], make.words))
    assert page.evaluate("labReport.drawn") == 6
    assert page.locator(".js-plotly-plot .main-svg").count() >= 6
    plays(make, page)
    for lane, items in zip(record.lanes, page.locator("#why details").all(), strict=True):
        assert items.locator("li").count() == sum(run.prefill for run in lane.runs())
    assert not page.locator("#trouble").is_visible()


def test_hostile_text_shows_as_text(make, open_offline):
    page = open_offline(report_html([make.hostile()], make.words))
    plays(make, page)
    page.evaluate(f"{STAGE}.player.seek({STAGE}.player.end)")
    page.wait_for_timeout(300)
    assert page.evaluate("globalThis.hacked") is None
    assert page.evaluate("document.images.length + document.querySelectorAll('iframe, object, embed').length") == 0
    page.locator("summary", has_text=make.words("report.list")).click()
    shown = page.locator("body").inner_text()
    assert make.evil in shown
    figure = page.locator("#chart-ttft").inner_text()
    assert "<script>window.hacked = 1</script>" in figure
    assert "\u202e" not in figure
    assert make.evil in page.locator("#stage .prompt").first.evaluate("(e) => e.textContent")


def test_a_comparison_replays_the_run_that_is_chosen(make, open_offline):
    page = open_offline(report_html([make.scenario("chat"), make.scenario("chat", batch=2)], make.words))
    assert page.evaluate(f"{STAGE}.shown[1].lane.seats") == 4
    page.get_by_label(make.words("report.which")).select_option("B")
    make.until(page, f"{STAGE}.shown[1].lane.seats === 2")
    plays(make, page)
    assert page.locator("#why details").count() == 8


def test_a_charts_menu_saves_it_as_svg_and_png_under_a_sensible_name(make, open_offline):
    page = open_offline(report_html([make.scenario("chat")], make.words))
    for title, ending, start in (("SVG", "svg", b"<svg"), ("PNG", "png", b"\x89PNG")):
        page.locator("#chart-ttft").hover()
        with page.expect_download() as download:
            page.locator(f"#chart-ttft [data-title='Save as {title}']").click()
        assert download.value.suggested_filename == f"batching-lab-chat-ttft.{ending}"
        content = download.value.path().read_bytes()
        assert content.startswith(start)
        if ending == "png":  # a slide: 16 to 9
            assert [int.from_bytes(content[i : i + 4], "big") for i in (16, 20)] == [1920, 1080]


def test_on_paper_everything_is_open_and_no_chart_is_wider_than_the_page(make, open_offline):
    page = open_offline(report_html([make.scenario("chat")], make.words))
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    make.until(page, "document.querySelector('#chart-ttft .main-svg').getBoundingClientRect().width <= 690")
    assert page.locator("details:not([open])").count() == 0
    assert page.locator(".modebar").first.is_hidden()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#why details[open]").count() == 0


def test_the_chinese_report_is_chinese_to_the_stage(make, open_offline):
    page = open_offline(report_html([make.scenario("chat")], Words("zh")))
    page.get_by_role("button", name="播放", exact=True).wait_for()


def test_on_paper_the_replay_has_no_controls_and_scrolls_nothing_away_on_white(make, open_offline):
    page = open_offline(report_html([make.scenario("chat")], make.words))
    assert page.locator("#stage .transport").is_visible()
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("#stage .transport, #stage .tabs, #stage .score").evaluate_all(
        "parts => parts.every((part) => part.getClientRects().length === 0)"
    )
    panel = page.locator("#stage .panel")
    assert panel.locator(".request").count() == 12
    assert panel.evaluate("(e) => e.scrollHeight <= e.clientHeight + 1")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
