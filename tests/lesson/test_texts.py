"""What the lessons say: the same in both languages, with every number measured or with its source."""

import re
from dataclasses import replace
from itertools import chain

import pytest

from lab.lesson.expression import Taken
from lab.lesson.lesson import FOLDER, check_names, lessons, scenes
from lab.lesson.recorded import recorded_runs
from lab.lesson.text import PLACEHOLDER, conditionals, filled, lesson_text, placeholders
from lab.report.words import LANGUAGES

PAGES = ("teacher", "glossary", "modes")
LESSONS = lessons()


def body(lesson, language):
    return (lesson.folder / f"{language}.md").read_text(encoding="utf-8")


def page(name, language):
    return (FOLDER / f"{name}.{language}.md").read_text(encoding="utf-8")


EVERYTHING = [
    *(pytest.param(lesson.folder.name, body(lesson, language), id=f"{lesson.folder.name} {language}")
      for lesson in LESSONS for language in LANGUAGES),
    *(pytest.param(name, page(name, language), id=f"{name} {language}")
      for name in PAGES for language in LANGUAGES),
]  # fmt: skip


def test_there_are_eleven_lessons_of_ten_to_fifteen_minutes():
    assert [lesson.number for lesson in LESSONS] == list(range(11))
    assert [lesson.name for lesson in LESSONS if not 10 <= lesson.plan.minutes <= 15] == []


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_lesson_has_the_sections_that_its_steps_need_and_no_other(lesson, language):
    text = lesson_text(lesson.folder, language)
    assert list(text.sections) == sorted(text.sections, key=list(text.sections).index)
    assert set(text.sections) == set(chain.from_iterable(step.sections for step in lesson.steps))
    assert [key for key, section in text.sections.items() if not section.heading] == []
    silent = {step.key for step in lesson.steps if step.kind in ("predict", "run", "check")}  # the heading may do
    assert [k for k, section in text.sections.items() if not section.body and k not in silent] == []
    assert text.title
    assert text.about


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_both_languages_have_the_same_sections_in_the_same_order_and_the_same_numbers_in_each(lesson):
    english, chinese = (lesson_text(lesson.folder, language).sections for language in ("en", "zh"))
    assert list(english) == list(chinese)
    for key in english:
        numbers = [sorted(placeholders(text[key].body)) for text in (english, chinese)]
        assert set(map(str, numbers[0])) == set(map(str, numbers[1])), key
        hinges = [[c.condition for c in conditionals(text[key].body)] for text in (english, chinese)]
        assert hinges[0] == hinges[1], key
        assert len(english[key].choices) == len(chinese[key].choices), key


@pytest.mark.parametrize("name", PAGES)
def test_pages_have_the_same_headings_rows_and_numbers_in_both_languages(name):
    texts = [page(name, language) for language in LANGUAGES]
    for pattern in (r"^## (\w+):", r"\?lesson=[\w-]+(?:&step=\d+)?", PLACEHOLDER.pattern):
        found = [re.findall(pattern, text, re.MULTILINE) for text in texts]
        assert found[0] == found[1], pattern
    assert len(texts[0].splitlines()) == len(texts[1].splitlines())


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_question_offers_as_many_choices_as_it_parts_bands_and_a_check_has_its_right_one(lesson, language):
    sections = lesson_text(lesson.folder, language).sections
    for _, question in lesson.questions:
        wanted = len(question.edges) + 1 if question.edges else 0
        assert len(sections[question.key].choices) == wanted, question.key
        assert list(question.edges) == sorted(question.edges)
    for check in chain.from_iterable(step.checks for step in lesson.steps):
        assert 1 <= check.right <= len(sections[check.key].choices), check.key
        assert sections[check.key].after, f"{check.key} does not say why"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_placeholder_names_what_there_is_and_has_a_unit(language):
    for lesson in LESSONS:
        for step in lesson.steps:
            for key in step.sections:
                for expression, unit in placeholders(lesson_text(lesson.folder, language).sections[key].body):
                    check_names(expression, step.scene, scenes(), f"{lesson.name} {key}")
                    assert unit is not None, f"{lesson.name} {key}: {expression} needs a unit"
    for expression, unit in placeholders(page("modes", language)):
        check_names(expression, "", scenes(), "modes")
        assert unit is not None


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_condition_is_a_claim_of_the_lesson_or_a_comparison_and_says_something_either_way(language):
    for lesson in LESSONS:
        for step in lesson.steps:
            for key in step.sections:
                body = lesson_text(lesson.folder, language).sections[key].body
                found = list(conditionals(body))
                assert body.count("{if ") == body.count("{else}") == body.count("{end}") == len(found), key
                for condition, so, otherwise in found:
                    sides = condition.split(" > ")
                    assert len(sides) == 2 or condition in lesson.claims_by_key, f"{lesson.name} {key}: {condition}"
                    if len(sides) == 2:
                        for side in sides:
                            check_names(side, step.scene, scenes(), f"{lesson.name} {key}")
                    assert so.strip(), f"{lesson.name} {key}: {condition}"
                    assert otherwise.strip(), f"{lesson.name} {key}: {condition}"


NOT_SO = {"en": ("did not hold", "hardly showed"), "zh": ("不成立", "几乎看不出来")}


@pytest.mark.parametrize("language", LANGUAGES)
def test_prose_says_that_a_claim_did_not_hold_where_it_does_not_and_never_else(language):
    """Of each claim that prose hinges on: with bounds that no run meets, and with bounds that every run meets."""
    runs, hinged = recorded_runs(), 0
    for lesson in LESSONS:
        never = {k: (s, replace(c, least=float("inf"), most=None)) for k, (s, c) in lesson.claims_by_key.items()}
        always = {k: (s, replace(c, least=None, most=None)) for k, (s, c) in lesson.claims_by_key.items()}
        for step in lesson.steps:
            for key in step.sections:
                body = lesson_text(lesson.folder, language).sections[key].body
                for one in conditionals(body):
                    if one.condition not in lesson.claims_by_key:
                        continue
                    hinged += 1
                    part = f"{{if {one.condition}}}{one.so}{{else}}{one.otherwise}{{end}}"
                    fails = filled(part, runs, step.scene, never)
                    holds = filled(part, runs, step.scene, always)
                    assert any(words in fails for words in NOT_SO[language]), f"{lesson.name} {key}: {fails}"
                    assert not any(words in holds for words in NOT_SO[language]), f"{lesson.name} {key}: {holds}"
    assert hinged > 15


def test_a_pile_on_which_static_loses_is_not_told_that_sharing_gained():
    """The two lanes of the recorded run with their names changed over: what was faster is slower now."""
    lesson = next(x for x in LESSONS if x.name == "static")
    body = lesson_text(lesson.folder, "en").sections["watch_pile_why"].body
    scene, record = recorded_runs()["pile"].scene, recorded_runs()["pile"].record
    none, static = record.lanes
    turned = replace(
        record,
        lanes=(
            replace(none, columns=static.columns),
            replace(static, columns=none.columns),
        ),
    )
    told = [filled(body, {"pile": Taken(scene, r)}, "pile", lesson.claims_by_key) for r in (record, turned)]
    assert "Sharing the weights gained more" in told[0]
    assert "Sharing the weights gained more" not in told[1]
    assert "here it did not hold" in told[1]


MINUTES = {
    "five": 5, "ten": 10, "fifteen": 15, "twenty": 20, "twenty-five": 25, "forty-five": 45, "ninety": 90,
    "五": 5, "十": 10, "十五": 15, "二十": 20, "二十五": 25, "四十五": 45, "九十": 90,
}  # fmt: skip
HOW_LONG = {"en": r"([a-z-]+) minutes", "zh": r"([一二三四五六七八九十]+)分钟"}


def plans(language):
    """(what the heading says, [what its parts say]) of each plan of the teacher's page, in minutes."""
    for section in re.split(r"^## ", page("teacher", language), flags=re.MULTILINE):
        if section.startswith(("short:", "long:")):
            heading, _, parts = section.lower().partition("\n")
            [whole] = re.findall(HOW_LONG[language], heading)
            bold = re.findall(rf"^- \*\*{HOW_LONG[language]}\*\*", parts, re.MULTILINE)
            assert len(bold) == len(re.findall(r"^- ", parts, re.MULTILINE)), "a part without its minutes"
            yield MINUTES[whole], [MINUTES[part] for part in bold]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_teachers_plan_takes_as_long_as_it_says(language):
    (short, short_parts), (long, long_parts) = plans(language)
    assert (sum(short_parts), sum(long_parts)) == (short, long) == (45, 90)
    assert long_parts[0] == sum(short_parts[:3]), "the long plan begins with the first three parts of the short one"


def test_both_languages_plan_alike():
    assert list(plans("en")) == list(plans("zh"))


def unsourced(text):
    """Paragraphs with a number that is neither measured nor linked to a source nor part of an example.

    A digit in a word (SmolLM2, P99, bf16) is part of a name; a place in a link to a lesson is none.
    """
    found = []
    for paragraph in re.split(r"\n\s*\n|\n(?=- |\|)", text):
        if paragraph.startswith(("> Example:", "> 例：")):
            continue
        plain = PLACEHOLDER.sub("", re.sub(r"\(\?lesson=[^)]*\)", "", paragraph))
        plain = re.sub(r"[A-Za-z][\w.-]*\d\w*", "", re.sub(r"^#.*?: ", "", plain))
        if re.search(r"\d", re.sub(r"\]\([^)]*\)", "]", plain)) and "](http" not in paragraph:
            found.append(paragraph)
    return found


def test_the_search_for_numbers_without_a_source_finds_them():
    assert unsourced("It is 23 times faster.\n\nIt is {a.steps} times.\n\n> Example: 3 and 4.") == [
        "It is 23 times faster."
    ]
    assert unsourced("It is [23 times](https://example.org) faster, in bf16 on SmolLM2.") == []


@pytest.mark.parametrize(("name", "text"), EVERYTHING)
def test_every_number_in_prose_is_measured_or_has_its_source(name, text):
    assert unsourced(text) == []


@pytest.mark.parametrize(("name", "text"), EVERYTHING)
def test_links_are_to_sources_or_to_steps_that_exist(name, text):
    steps = {lesson.name: len(lesson.steps) for lesson in LESSONS}
    for link in re.findall(r"\]\(([^)]*)\)", text):
        if link.startswith("https://"):
            continue
        match = re.fullmatch(r"\?lesson=([\w-]+)(?:&step=(\d+))?", link)
        assert match, f"{name}: {link}"
        assert 1 <= int(match[2] or 1) <= steps[match[1]], f"{name}: {link}"


def test_chinese_is_not_english():
    for lesson in LESSONS:
        for key, section in lesson_text(lesson.folder, "zh").sections.items():
            assert re.search(r"[\u4e00-\u9fff]", section.heading), f"{lesson.name} {key}"
