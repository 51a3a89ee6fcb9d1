"""What the lab's English prompts say, for Chinese readers."""

import re

import pytest

from lab.lesson.lesson import scenes
from lab.report.gloss import gloss
from lab.report.requests import requests_table
from lab.report.words import Words
from lab.workload.prompts import LINES, shipped_lines, shipped_passages, shipped_texts
from lab.workload.scenarios import SCENARIOS, build

CHINESE = re.compile(r"[\u4e00-\u9fff]")
SHIPPED = [*(line for name in LINES for line in shipped_lines(name)), *shipped_passages(), *shipped_texts()]


def test_every_prompt_that_ships_is_glossed_in_chinese_and_none_in_english():
    assert [prompt for prompt in SHIPPED if not CHINESE.search(gloss(prompt, "zh"))] == []
    assert {gloss(prompt, "en") for prompt in SHIPPED} == {""}
    assert gloss("What is a comet?", "zh") == "什么是彗星？"


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name not in ("conversation", "code", "own")])
def test_every_request_of_a_scenario_is_glossed(name):
    assert [r.prompt for r in build(name, seed=3).requests if not gloss(r.prompt, "zh")] == []


def test_every_request_of_a_lesson_is_glossed_however_it_was_cut():
    for scene in scenes().values():
        for request in scene.workload().requests:
            assert gloss(request.prompt, "zh"), request.prompt
    text = shipped_texts()[0]
    assert (
        gloss(text[:40], "zh")
        == gloss(text, "zh")
        == gloss(f"{text}\n\nand more", "zh")
        == "一段文字的开头：学校的菜园"
    )


@pytest.mark.parametrize("prompt", ["", "The", "What", "Is", "Tell me a joke.", "What is a comet"])
def test_what_a_visitor_types_has_none(prompt):
    assert gloss(prompt, "zh") == ""


def test_the_list_of_requests_has_the_gloss_beneath_the_prompt():
    workload = build("chat", seed=0, requests=1)
    [request] = workload.requests
    assert request.prompt in requests_table(workload, Words("zh"))
    assert f'<small class="gloss">{gloss(request.prompt, "zh")}</small>' in requests_table(workload, Words("zh"))
    assert "gloss" not in requests_table(workload, Words("en"))
