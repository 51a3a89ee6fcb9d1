"""Two languages, the same keys and fields, and a text for everything that the page may have to say."""

import re
import string

import pytest

from lab.report.words import FOLDER, LANGUAGES, Words, language_of, texts
from lab.run.line import Why
from lab.scheduling.policy import MODES
from lab.ui.knobs import BOUNDS
from lab.workload.scenarios import SCENARIOS


def fields(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def test_both_languages_have_the_same_keys():
    assert texts("en").keys() == texts("zh").keys()


def test_both_languages_fill_in_the_same_fields():
    assert {k: fields(v) for k, v in texts("en").items()} == {k: fields(v) for k, v in texts("zh").items()}


def test_no_text_is_empty_and_chinese_is_not_english():
    for language in LANGUAGES:
        assert [k for k, v in texts(language).items() if not v.strip()] == []
    spoken = {
        k: v for k, v in texts("zh").items() if re.search("[a-z]{4,}", re.sub(r"\{.*?\}", "", texts("en")[k]))
    }
    same = [k for k, v in spoken.items() if v == texts("en")[k] and not k.endswith("example")]
    assert same == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_everything_that_can_happen_has_a_text(language):
    words = Words(language)
    wanted = [f"why.{why}" for why in Why]
    wanted += [f"scenario.{name}.{part}" for name in SCENARIOS for part in ("name", "about")]
    wanted += [f"mode.{name}.{part}" for name in MODES for part in ("about", "rule")]
    wanted += [f"knob.{name}" for name in BOUNDS]
    assert [key for key in wanted if key not in words] == []


def test_every_key_that_the_code_names_exists_and_every_key_is_named_somewhere():
    files = [path for room in ("ui", "report") for path in (FOLDER.parents[1] / room).rglob("*.py")]
    files.append(FOLDER.parents[2] / "assets" / "report" / "report.html")
    code = "".join(path.read_text(encoding="utf-8") for path in files)
    named = set(re.findall(r'words\(\s*"([a-z0-9_.]+)"', code))
    assert named - texts("en").keys() == set()
    quoted = re.findall(r"[\"']([a-z][a-z0-9_]*\.[^\"'\s]+)[\"']", code)
    patterns = [re.compile(re.sub(r"\\\{.*?\\\}", "[a-z0-9_]+", re.escape(text))) for text in quoted]
    ours = [key for key in texts("en") if not key.startswith("stage.")]  # the stage reads its own in the browser
    unnamed = {key for key in ours if not any(p.fullmatch(key) for p in patterns)}
    assert unnamed == set()


@pytest.mark.parametrize(("language", "ends"), [("en", r"\.|\)"), ("zh", "。|）")])
def test_what_the_engine_says_stands_inside_a_sentence_that_has_an_end(language, ends):
    quoting = {key: text for key, text in texts(language).items() if "{detail}" in text}
    assert len(quoting) >= 6
    assert [key for key, text in quoting.items() if not re.search(rf"\{{detail\}}({ends})", text)] == []


@pytest.mark.parametrize(
    ("locale", "language"),
    [("zh-CN", "zh"), ("zh", "zh"), ("ZH-tw", "zh"), ("en-US", "en"), ("de", "en"), (None, "en"), ("", "en")],
)
def test_the_browser_says_which_language(locale, language):
    assert language_of(locale) == language
