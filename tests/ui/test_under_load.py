"""The curve of latency against throughput on the page: only when it is wanted, and said to be predicted."""

from lab.analysis.load import never_fills
from lab.report.words import Words
from lab.run.calibration import shipped
from lab.ui.knobs import Knobs
from lab.ui.under_load import _with_enough, sweep_of
from tests.ui.test_page import html, press_run, texts

EN = Words("en")


def opened(page, **query):
    at = page(**query)
    at.session_state["load_place"] = True
    return at.run()


def test_it_is_folded_and_costs_nothing_until_it_is_opened(page):
    at = page()
    assert EN("load.title") in [expander.label for expander in at.expander]
    assert not at.get("plotly_chart")


def test_opened_it_shows_both_charts_and_the_table_and_says_that_they_are_predicted(page):
    at = opened(page, modes="static,continuous", batch="2", requests="6")
    assert not at.exception
    assert "**Predicted** from step times measured on" in texts(at)
    assert "python -m lab load" in texts(at)
    assert len(at.get("plotly_chart")) == 2
    assert html(at).count("</mark>") == 2  # a knee a mode


def test_users_who_ask_again_are_swept_in_their_number_and_pure_delay_is_said(page):
    at = opened(page, scenario="closed_loop", modes="dynamic", batch="4")
    assert not at.exception
    assert "users: 8" in html(at)
    assert "a batch of 4 can never fill" in texts(at)
    assert never_fills(Knobs(batch=4).policy("dynamic"), 1)


def test_what_has_no_such_curve_is_a_sentence(page):
    at = page(scenario="own")
    at.text_area(key="own").set_value("one\ntwo")
    at.session_state["load_place"] = True
    assert "2 requests, of which a batch of 8 is cut at either end" in texts(at.run())
    assert not at.exception


def test_nothing_is_predicted_while_something_is_measured(page, device, wait_for):
    at = page(scenario="own", modes="none")
    at.text_area(key="own").set_value("slow\n" * 16).run()
    at = press_run(at)
    wait_for(lambda: device.measuring)
    at.session_state["load_place"] = True
    assert EN("load.not_now") in texts(at.run())


def test_a_mode_that_keeps_up_gives_as_much_as_arrives_and_takes_longer_the_more_comes(device, wait_for):
    wait_for(lambda: device.engine.facts)
    knobs = Knobs(modes=("continuous",))
    [curve] = sweep_of(_with_enough(knobs, knobs.spec([])), 0, shipped()).curves
    assert curve.at_once is not None
    assert [cell.load for cell in curve.cells] == sorted(cell.load for cell in curve.cells)
    assert curve.cells[0].mean_e2e < curve.cells[-1].mean_e2e < curve.at_once.mean_e2e
