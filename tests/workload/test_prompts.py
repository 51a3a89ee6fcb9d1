import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.workload import prompts


def test_the_shipped_prompts_are_short_distinct_plain_english():
    questions, quick = prompts.shipped_lines("questions"), prompts.shipped_lines("quick")
    passages = prompts.shipped_passages()
    assert len(questions) == 64
    assert len(quick) == len(passages) == 24
    for pool in (questions, quick, passages, prompts.shipped_lines("equal")):
        assert len(set(pool)) == len(pool)
        assert all(text.isascii() and text == text.strip() for text in pool)
    assert max(map(len, questions + quick)) <= 60
    assert max(map(len, passages)) <= 600


def test_blank_lines_are_dropped_and_control_characters_removed():
    assert prompts.clean_prompts(["  ", "a\x00b\x1b[31m", "\t", "tab\there \u202eback"]) == (
        "ab[31m",
        "tab here back",
    )


@given(st.lists(st.text(max_size=60), max_size=16))
def test_whatever_is_typed_becomes_clean_lines_or_a_refusal(lines):
    if not any(map(prompts._clean, lines)):
        with pytest.raises(ValueError, match="there is no prompt"):
            prompts.clean_prompts(lines)
        return
    kept = prompts.clean_prompts(lines)
    assert all(text == text.strip() and len(text.splitlines()) == 1 for text in kept)
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs") for text in kept for c in text)
    assert prompts.clean_prompts(kept) == kept


def test_the_longest_prompt_is_taken_and_one_character_more_is_refused():
    assert prompts.clean_prompts(["x" * 1000]) == ("x" * 1000,)
    with pytest.raises(ValueError, match="prompt 2 has 1001 characters; at most 1000"):
        prompts.clean_prompts(["a", "x" * 1001])


def test_the_seventeenth_prompt_is_refused():
    assert len(prompts.clean_prompts(["a"] * 16)) == 16
    with pytest.raises(ValueError, match="there are 17 prompts; at most 16"):
        prompts.clean_prompts(["a"] * 17)


def test_a_file_is_read_line_by_line(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_bytes("\ufeffWho are you?\r\n\r\nWhat is 木?\n".encode())
    assert prompts.read_prompts_file(file) == ("Who are you?", "What is 木?")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"fine\n\xff\xfe", r"mine.txt is not UTF-8 text \(byte 5\)"),
        (b"\n \n", "there is no prompt"),
        (b"a\n" * 40_000, "mine.txt has more than 65536 bytes"),
    ],
)
def test_a_bad_file_is_refused_in_a_sentence(tmp_path, data, sentence):
    file = tmp_path / "mine.txt"
    file.write_bytes(data)
    with pytest.raises(ValueError, match=sentence):
        prompts.read_prompts_file(file)


def test_what_is_not_a_file_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "missing.txt"):
        with pytest.raises(ValueError, match="is not a file"):
            prompts.read_prompts_file(path)
