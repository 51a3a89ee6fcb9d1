"""What the lessons say: the same in both languages, with every number measured or with its source."""

import re
from itertools import chain

import pytest

from lab.lesson.lesson import FOLDER, check_names, lessons, scenes
from lab.lesson.text import PLACEHOLDER, lesson_text, placeholders
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
