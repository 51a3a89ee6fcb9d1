"""What the rooms behind the page say is said in Chinese on a Chinese page, with all its numbers."""

import io
import re
from dataclasses import replace
from unittest import mock

import pytest

from lab.report.words import Words, texts
from lab.run.engine_process import _why
from lab.run.fit import check_budget, check_fits
from lab.run.host import sentence_of
from lab.run.lanes import RunSpec
from lab.run.line import MOST_WAITING, Line
from lab.scheduling.memory_check import MemoryPlan, refusal
from lab.scheduling.policy import mode
from lab.spec.model_shape import WELL_KNOWN
from lab.ui.knobs import Knobs
from lab.workload.request import Request, Workload
from lab.workload.trace import reading, replay
from lab.workload.trace.reading import read_trace

ZH = Words("zh")
SPEC = RunSpec(Workload("one", (Request(0, 0.0, 50, prompt_ids=(1,) * 10),)), (mode("static"),))
SHAPE = WELL_KNOWN["SmolLM2-135M"]
TWO = b"arrived_at,num_prefill_tokens,num_decode_tokens\n1,5,7\n2,5,7\n"
TRACE = read_trace(io.BytesIO(TWO), "mine.csv")


def sentence(raises, *arguments, **options):
    try:
        raises(*arguments, **options)
    except ValueError as error:
        return str(error)
    pytest.fail("nothing was said")


def trace_of(content):
    return sentence(read_trace, io.BytesIO(content), "mine.csv")


def limited(module, name, value, raises, *arguments):
    """What is said at a limit, which is lowered for it."""
    with mock.patch.object(module, name, value):
        return sentence(raises, *arguments)


def fill_the_line():
    line = Line()
    for _ in range(MOST_WAITING + 1):
        line.join(SPEC, "me", 0.0)


SAID = {
    "line_full": lambda: sentence(fill_the_line),
    "out_of_memory": lambda: sentence_of(MemoryError("Unable to allocate")),
    "killed": lambda: _why(-9),
    "signal": lambda: _why(-11),
    "code": lambda: _why(3),
    "garbled": lambda: "it sent something that is no report (a frame cannot begin with b'x')",
    "mistake": lambda: sentence_of(RuntimeError("a tensor is gone")),
    "too_large": lambda: sentence(check_fits, SPEC, SPEC.workload, SHAPE, 2 * 10**8, 10**8),
    "budget_short": lambda: sentence(check_budget, replace(SPEC, kv_budget_mb=1), SPEC.workload, 20_000),
    "budget_none": lambda: sentence(check_budget, replace(SPEC, kv_budget_mb=1e-3), SPEC.workload, 20_000),
    "exclude": lambda: sentence(Knobs(turned=("continuous.padded",)).spec, []),
    "requests": lambda: sentence(Knobs(scenario="chat", requests=99_999).spec, []),
    "questions": lambda: sentence(Knobs(scenario="closed_loop", users=2, requests=9999).spec, []),
    "no_prompt": lambda: sentence(Knobs(scenario="own").spec, []),
    "many_prompts": lambda: sentence(Knobs(scenario="own").spec, ["why"] * 99),
    "long_prompt": lambda: sentence(Knobs(scenario="own").spec, ["why", "x" * 10**5]),
    "no_trace": lambda: sentence(Knobs(scenario="trace").spec, []),
    "slice": lambda: sentence(Knobs(scenario="trace", trace_start=9, trace_end=3).spec, [], TRACE),
    "none_left": lambda: sentence(Knobs(scenario="trace", trace_start=9).spec, [], TRACE),
    "many_tokens": lambda: limited(replay, "MOST_PROMPT_TOKENS", 1, Knobs(scenario="trace").spec, [], TRACE),
    "trace_rows": lambda: limited(reading, "MOST_ROWS", 1, read_trace, io.BytesIO(TWO), "mine.csv"),
    "trace_bytes": lambda: limited(
        reading, "MOST_BYTES", 2**20, read_trace, io.BytesIO(b"1,2\n" * 2**19), "mine.csv"
    ),
    "trace_unusable": lambda: trace_of(b"arrived_at,num_prefill_tokens,num_decode_tokens\n"),
    "trace_empty": lambda: trace_of(b""),
    "trace_binary": lambda: trace_of(b"\0\xff"),
    "trace_columns": lambda: trace_of(b"a,b\n1,2\n"),
}


@pytest.mark.parametrize("name", SAID)
def test_a_sentence_from_behind_the_page_is_said_in_chinese_with_its_values(name):
    english = SAID[name]()
    chinese = ZH.said(english)
    assert re.search("[\u4e00-\u9fff]", chinese), english
    assert set(re.findall(r"\d[\d,.]*\d|\d", english)) <= set(re.findall(r"\d[\d,.]*\d|\d", chinese))
    assert Words("en").said(english) == english
    assert "{" not in chinese


def test_what_a_sentence_quotes_is_put_into_chinese_too():
    assert ZH("said.none_fits") in ZH.said(SAID["too_large"]())
    plan = MemoryPlan(weights=1, kv=2, activations=3, logits=4, margin=5, available=6)
    assert ZH("said.largest", n=3) in ZH.said(refusal(plan, 3))
    assert ZH.said("mine.csv has no usable row: its first line is all there is").endswith("它只有第一行")


def test_words_that_nobody_knows_stay_as_they_are():
    assert ZH.said("a new kind of trouble {n}") == "a new kind of trouble {n}"


def test_each_of_these_texts_is_of_a_sentence_that_somebody_says():
    quoted = {"largest", "none_fits", "trace_one_line"}  # parts of others
    known = {key.removeprefix("said.") for key in texts("en") if key.startswith("said.")}
    assert known - SAID.keys() == quoted
