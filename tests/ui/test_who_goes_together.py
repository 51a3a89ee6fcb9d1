"""On the page, without a browser: the order of the queue, groups, what fits the memory, users and traces."""

import re

import pytest

from lab.report.words import Words
from lab.ui.device import device as the_device
from tests.ui.test_page import as_read, finish, html, press_run, stage, texts

EN = Words("en")
TRACE = ["timestamp,Request tokens,Response tokens", *(f"{i},{16 * (i + 1)},{16 * (i % 3 + 1)}" for i in range(8))]


def upload(at, content):
    return at.file_uploader(key="trace_file").upload("mine.csv", content, "text/csv").run()


def ready(page, wait_for, **query):
    """A page that knows the engine's memory."""
    at = page(**query)
    wait_for(lambda: the_device().engine.facts)
    return at.run()


def orders(at):
    return [lane["policy"]["order"] for lane in stage(at)["expected"]["record"]["lanes"]]


def test_a_preset_of_buckets_is_the_order_of_every_lane_and_stands_in_the_address(page):
    at = page(scenario="mixed")
    assert {tuple(order["boundaries"]) for order in orders(at)} == {()}
    at.selectbox(key="preset_en").set_value("usual").run()
    assert {tuple(order["boundaries"]) for order in orders(at)} == {(128, 512)}
    assert at.query_params["buckets"] == "128,512"


def test_boundaries_of_ones_own_are_sliders_any_number_of_them(page):
    at = page(scenario="mixed", buckets="48,96")
    assert at.selectbox(key="preset_en").value == "small"
    at.selectbox(key="preset_en").set_value("own").run()
    assert [at.slider(key=f"edge_{i}").value for i in range(2)] == [48, 96]
    at.button(key="more_edges").click().run()
    at.slider(key="edge_0").set_value(400).run()
    assert tuple(orders(at)[0]["boundaries"]) == (96, 192, 400)
    at.button(key="fewer_edges").click().run()
    assert at.query_params["buckets"] == "96,192"


def test_priority_and_ageing_are_off_and_folded_until_they_are_wanted(page):
    at = page(scenario="mixed", requests="10")
    assert "urgent" not in [n.key for n in at.number_input]
    at.toggle(key="priority").set_value(True).run()
    at.number_input(key="urgent").set_value(30).run()
    assert {(order["by_priority"], order["ageing"]) for order in orders(at)} == {(True, 5.0)}
    requests = stage(at)["expected"]["record"]["workload"]["requests"]
    assert sorted(r["priority"] for r in requests) == [0] * 3 + [1] * 7
    at.toggle(key="aged").set_value(False).run()
    assert {order["ageing"] for order in orders(at)} == {None}
    assert EN("order.no_ageing") in texts(at)
    assert (at.query_params["priority"], at.query_params["aged"], at.query_params["urgent"]) == ("1", "0", "30")


def test_with_ageing_off_who_starved_is_named_and_with_ageing_nobody_is(page, wait_for):
    query = {"scenario": "corpus", "requests": "24", "modes": "none", "priority": "1", "urgent": "50"}
    at = finish(press_run(page(**query, aged="0")), wait_for)
    assert "starved, because ageing is off: " in texts(at)
    assert "starved" not in texts(finish(press_run(page(**query, ageing="2")), wait_for))


def test_groups_are_said_to_be_replicas_and_only_several_can_share_a_batch(page, wait_for):
    at = page(groups="2", scattered="1", requests="4", batch="2")
    assert EN("groups.honest") in texts(at)
    at = finish(press_run(at), wait_for)
    record = the_device().look(at.query_params["run"]).record
    assert {(lane.groups, lane.scattered) for lane in record.lanes} == {(2, True)}


def test_memory_is_summed_up_before_the_run_beside_the_popular_rule(page, wait_for):
    at = ready(page, wait_for, scenario="mixed")
    assert "270 MB" in html(at)  # weights
    assert "80 GB ÷ 2 GB = 40, take 32" in texts(at)
    assert EN("memory.fits").split("**")[1] in texts(at)
    assert not at.error


def test_what_does_not_fit_is_refused_with_its_numbers_and_the_largest_that_fits_is_a_press_away(page, wait_for):
    at = ready(page, wait_for, scenario="mixed", requests="64", groups="4", batch="32")
    [said] = [as_read(error.value) for error in at.error]
    assert "weights 270 MB" in said
    assert "0.9 of the 2,270 MB there are is 2,043 MB" in said
    at = press_run(at)
    assert at.session_state["board"].lanes == ()
    largest = int(at.button(key="take_largest").label.split()[-1])
    assert f"The largest batch size that fits is {largest}." in said
    at = at.button(key="take_largest").click().run()
    assert at.session_state["batch"] == largest
    assert not at.error
    assert at.session_state["board"].lanes


def test_a_kv_budget_that_holds_no_request_is_refused_before_the_run_and_one_that_does_is_a_press_away(
    page, wait_for
):
    at = ready(page, wait_for, scenario="chat", requests="6", kv="1")
    [said] = [as_read(error.value) for error in at.error]
    assert "a KV budget of 1 MB holds 43 tokens, and every request needs more" in said
    least, enough = re.search(r"the smallest needs (\d+)\. At least ([\d.]+) MB", said).groups()
    assert int(least) * 23_040 <= float(enough) * 1e6 < int(least) * 23_040 + 1e5
    at = press_run(at)
    assert at.session_state["board"].lanes == ()
    at = at.button(key="take_budget").click().run()
    assert at.session_state["kv"] >= float(enough)
    assert not at.error
    assert at.session_state["board"].lanes


def test_the_last_setting_that_ran_comes_back_at_once_with_its_lanes(page, wait_for):
    at = finish(press_run(ready(page, wait_for, scenario="mixed", requests="12", batch="2")), wait_for)
    measured = at.session_state["board"].lanes
    at.session_state["groups"], at.session_state["batch"], at.session_state["requests"] = 4, 32, 64
    at = press_run(at.run())
    assert at.error
    at = at.button(key="way_back").click().run()
    assert not at.error
    assert at.session_state["batch"] == 2
    assert at.session_state["board"].lanes == measured


def test_after_a_real_lack_of_memory_the_last_setting_that_ran_is_a_press_away(page, wait_for):
    at = page(scenario="own", batch="2")
    at.text_area(key="own").set_value("hello").run()
    at = finish(press_run(at), wait_for)
    at.session_state["batch"] = 3
    at.text_area(key="own").set_value("no memory").run()
    at = finish(press_run(at), wait_for)
    assert "the device ran out of memory" in as_read(at.error[0].value)
    assert at.button(key="way_back").click().run().session_state["batch"] == 2


def test_a_lack_of_memory_and_a_dead_engine_are_said_in_chinese_on_a_chinese_page(page, wait_for):
    at = page(lang="zh", scenario="own", batch="2")
    for prompt, said in (("no memory", "设备内存不足"), ("crash", "系统结束了它")):
        at.text_area(key="own").set_value(prompt).run()
        at = finish(press_run(at), wait_for)
        assert said in as_read(at.error[0].value)


def test_a_window_that_nobody_can_fill_is_said_to_be_pure_delay(page):
    at = page(scenario="closed_loop")
    assert "That is pure delay." in texts(at)
    at.number_input(key="users").set_value(8).run()
    assert "pure delay" not in texts(at)
    assert at.query_params["users"] == "8"
    assert "rate" not in [knob["name"] for knob in stage(at)["knobs"]["items"]]  # users bring no rate


def test_a_trace_is_previewed_cut_and_run(page, wait_for):
    at = page(scenario="trace")
    at = press_run(at)
    assert EN("notice.no_trace") in texts(at)
    at = upload(at, "\n".join([*TRACE, "7,x,1"]).encode())
    assert "mine.csv: BurstGPT, times in seconds" in html(at)
    assert "9 rows read = 8 kept + 1 dropped (1 × prompt tokens unreadable)" in html(at)
    at.number_input(key="trace_end").set_value(4.0).run()
    assert "9 rows read = 4 kept + 5 dropped" in html(at)
    assert at.query_params["trace_end"] == "4"
    at = finish(press_run(at), wait_for)
    assert not at.exception
    assert "4 of 4 answers are the same in all modes" in texts(at)
    assert "trace mine.csv" in texts(at)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "mine.csv is empty"),
        (b"\x00\xff\x13" * 99, "is not UTF-8 text"),
        (b"a,b\n1,2", "has the columns a, b"),
        (b"timestamp,Request tokens,Response tokens\nx,y,z", "has no usable row"),
    ],
)
def test_a_file_that_is_no_trace_is_one_sentence(page, content, said):
    at = upload(page(scenario="trace"), content)
    [sentence] = [as_read(error.value) for error in at.error]
    assert sentence.startswith("The file cannot be used: ")
    assert said in sentence
    assert not at.exception


def test_a_slice_that_ends_before_it_starts_is_one_sentence(page):
    at = upload(page(scenario="trace", trace_start="5", trace_end="2"), "\n".join(TRACE).encode())
    assert "the slice ends at 2 s; it must end after its start, 5 s" in texts(at)
    assert not at.exception
