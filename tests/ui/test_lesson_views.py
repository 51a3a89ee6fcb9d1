"""What steps of lessons add to their words, on recorded runs; without a browser."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from lab.experiments.recompiles import RECORDED, ROWS, read_recompiles
from lab.lesson.ladder import ladder
from lab.lesson.lesson import lesson_named, scenes
from lab.lesson.numbers import written
from lab.lesson.recorded import recorded_runs
from lab.report.words import LANGUAGES, Words
from lab.run.calibration import shipped


def only_lessons():
    from lab.ui.lessons import show_lessons

    show_lessons()


@pytest.fixture
def opened(device):
    """A step of a lesson, with its recorded run shown and explained."""

    def open_step(name, key, language="en"):
        steps = [step.key for step in lesson_named(name).steps]
        at = AppTest.from_function(only_lessons, default_timeout=60)
        for field, value in {"lesson": name, "step": str(steps.index(key) + 1), "lang": language}.items():
            at.query_params[field] = value
        at.run()
        for button in ("lesson_recorded", "reveal", "lesson_recorded"):
            if button in {b.key for b in at.button}:
                at.button(key=button).click().run()
        assert not at.exception
        return at

    return open_step


def tables(at, kind):
    return [e.proto.body for e in at.get("html") if f'class="lab {kind}"' in e.proto.body]


@pytest.mark.parametrize("language", LANGUAGES)
def test_compilations_are_shown_with_where_and_when_they_were_recorded(opened, language):
    at, words, found = (
        opened("continuous", "framework", language),
        Words(language),
        read_recompiles(RECORDED.read_text()),
    )
    [table] = tables(at, "compiles")
    assert table.count("<tr>") == 1 + len(ROWS) + 1
    anew = words("lesson.compiles.compiled", time="").strip(", ，")
    assert table.count(anew) == sum(c.compilations for c in (*found.fixed, *found.dynamic))
    said = [c.value for c in at.caption]
    assert any(found.device in c and found.created[:10] in c for c in said)


def test_both_ladders_are_drawn_with_what_each_rung_gained(opened):
    taken = recorded_runs()["ladder"]
    [step] = [s for s in lesson_named("putting-it-together").steps if s.key == "watch_order"]
    drawn = tables(opened("putting-it-together", "watch_order"), "ladder")
    assert len(drawn) == len(step.rungs) == 2
    for table, lanes in zip(drawn, step.rungs.values(), strict=True):
        for rung in ladder(lanes, taken):
            assert rung.lane in table
            assert written(rung.gained, "x") in table
            assert written(rung.urgent_wait, "s") in table
    first, second = (list(lanes) for lanes in step.rungs.values())
    assert (first[0], first[-1]) == (second[0], second[-1]) == ("none", "ordered16")
    assert {*first, *second} == set(scenes()["ladder"].lanes)


@pytest.mark.parametrize("language", LANGUAGES)
def test_runs_under_load_stand_on_a_predicted_curve(opened, language):
    at = opened("load", "watch_heavy", language)
    [chart] = at.get("plotly_chart")
    layout = json.loads(chart.proto.spec)["layout"]
    assert layout["xaxis"]["title"]["text"] == Words(language)("rates.rate")
    assert len(tables(at, "load")) == 1
    shown = json.dumps(layout, ensure_ascii=False)
    assert shipped().provenance.device in shown  # all runs are recorded, and so is what predicts them


def test_the_runs_that_ship_and_what_predicts_them_are_of_one_machine():
    machines = {taken.record.provenance.device for taken in recorded_runs().values()}
    assert machines == {shipped().provenance.device}
