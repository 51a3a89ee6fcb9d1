"""No term before its explanation: stage and tables of a lesson use only words that its texts explained."""

import re
from itertools import chain
from pathlib import Path
from typing import get_args

import pytest

from lab.lesson.lesson import Word, lesson_named, lessons, met
from lab.lesson.text import lesson_text
from lab.report.score import rows
from lab.report.words import LANGUAGES, texts

WORDS = get_args(Word)
STAGE = "\n".join(p.read_text("utf-8") for p in Path("assets/stage").glob("*.js"))
BOARD = dict(
    re.findall(r'^  (\w+): \{\s*word: "(\w+)"', (Path("assets/stage/board.js")).read_text("utf-8"), re.MULTILINE)
)
LEGEND = {"padding": "padding", "dead": "straggler", "used": "kv", "reserved": "kv", "budget": "kv"}
STATISTIC = re.compile(r",? ?(median|mean|p99|peak|中位数|平均|p99|峰值)$")


def read_by(word, language):
    """All that a learner has read, from the first lesson on, when the word is met: in one line, without marks."""
    said = []
    for lesson in lessons():
        sections = lesson_text(lesson.folder, language).sections
        for step in lesson.steps:
            said += [
                sections[key].heading + " " + sections[key].body
                for key in step.sections
                if key != f"{step.key}_why"
            ]
            if word in step.teaches:
                return plain(" ".join(said))
            said += [sections[key].body for key in (f"{step.key}_why",) if key in sections]
    raise AssertionError(f"no step teaches {word!r}")


def plain(text):
    return re.sub(r"[*\s-]+", " ", text).casefold()


def shown():
    """(key of the text that names it, the word that it needs) of all that a lesson may leave out."""
    yield from ((f"stage.board.{key}.name", word) for key, word in BOARD.items())
    yield from (
        (f"score.{row.key}.name", row.word) for row in rows(None) if row.word and row.key not in ("gain", "refused")
    )
    yield from ((f"stage.legend.{key}", word) for key, word in LEGEND.items() if key != "dead")


def test_every_word_is_taught_once():
    taught = list(chain.from_iterable(step.teaches for lesson in lessons() for step in lesson.steps))
    assert sorted(taught) == sorted(WORDS)


def test_stage_and_tables_ask_for_words_that_there_are_and_every_word_is_asked_for():
    asked = {
        *re.findall(r'knows\("(\w+)"\)', STAGE),
        *BOARD.values(),
        *(row.word for row in rows(None) if row.word),
    }
    assert asked <= set(WORDS)
    assert len(BOARD) == 7
    assert [word for word in WORDS if f'"{word}"' not in STAGE and word not in asked] == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("key", "word"), list(shown()), ids=lambda x: x)
def test_what_is_shown_was_named_in_a_text_before(key, word, language):
    shown_as = texts(language)[key]
    name, statistic = plain(STATISTIC.sub("", shown_as)), STATISTIC.search(shown_as)
    parts = re.findall(r"\w+", name) if word == "kv" else [name]  # memory's names are put together of several words
    known = read_by(word, language)
    assert statistic is None or statistic[1] in known
    assert [part for part in parts if part not in known] == []


def test_a_lesson_knows_the_words_of_those_before_it_and_of_its_own_steps_so_far():
    first, later = lessons()[0], lesson_named("static")
    assert met(first, 0) == ()
    assert met(first, len(first.steps)) == ("ttft", "tpot", "e2e", "kv")
    assert met(later, 0) == (*met(first, 99), "none", "batch", "throughput", "mbu", "static", "straggler")
    assert "padding" not in met(later, 1)
    assert "padding" in met(later, 2)
    assert set(met(lessons()[-1], 0)) == set(WORDS)


def test_tries_are_compared_by_metrics_that_there_are_and_that_were_explained():
    words_of = {row.key: row.word for row in rows(None)}
    for lesson in lessons():
        for i, step in enumerate(lesson.steps):
            assert bool(step.compares) == (step.kind == "try"), f"{lesson.name} {step.key}"
            assert {words_of[key] for key in step.compares} <= {*met(lesson, i), ""}, f"{lesson.name} {step.key}"
