"""What the commands that predict print: labelled, with what was assumed, without tokens that nobody computed."""

import json
from dataclasses import replace

import pytest

from lab.analysis.checks import check_lane
from lab.cli.main import main
from lab.cli.output import run_json, run_text
from lab.engine.roofline import Roofline
from lab.run.lanes import RunSpec
from lab.run.predict import what_if
from lab.scheduling.policy import mode
from lab.spec.devices import ACCELERATORS
from lab.spec.model_shape import WELL_KNOWN
from lab.workload.request import Request, Workload


@pytest.fixture
def record():
    roofline = Roofline(ACCELERATORS["L4"], WELL_KNOWN["Qwen3-0.6B"])
    requests = tuple(Request(i, 0.0, 4, prompt_ids=(1, 2), output_tokens=4) for i in range(5))
    return what_if(RunSpec(Workload("five", requests), (mode("static", 2), mode("continuous", 2))), roofline)


def test_a_prediction_shows_neither_answers_nor_identity_of_tokens(record):
    text = run_text(record, None)
    assert "predicted" in text
    assert "answers (" not in text
    assert "identical" not in text
    assert run_json(record, None)["tokens_identical"] is None


def test_a_measured_record_shows_both(record):
    measured = replace(record, provenance=replace(record.provenance, kind="measured"))
    assert "answers (static):" in run_text(measured, None)
    assert "identical" in run_text(measured, None)


def test_what_if_prints_peaks_with_the_shares_assumed_and_that_nothing_validates_them(capsys):
    assert main(["what-if", "--device", "h100", "--of", "llama-3.1-8b", "--requests", "4"]) == 0
    text = capsys.readouterr().out
    assert "not validated here: 3,350 GB/s peak × 0.7 assumed" in text
    assert "989 TFLOPS peak × 0.6 assumed" in text
    assert "weights 16.1 GB: 55.9 GB of KV cache" in text


def test_what_if_takes_the_options_of_a_run_and_its_json_says_what_was_assumed(capsys):
    arguments = ["what-if", "--modes", "none,static", "--requests", "6", "--bandwidth-share", "0.5", "--json"]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told["lanes"]) == ["none", "static"]
    assert told["what_if"]["validated"] is False
    assert told["what_if"]["assumed"]["bandwidth"] == 0.5
    assert told["provenance"]["kind"] == "predicted"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--device", "abacus"], "--device is 'abacus'; it must be one of T4, L4"),
        (["--of", "GPT-9"], "--of is 'GPT-9'; it must be one of SmolLM2-135M"),
        (["--flop-share", "1.5"], "shares lie between 0.001 and 1"),
        (["--bandwidth-share=1e-308"], "shares lie between 0.001 and 1"),
        (["--device", "T4"], "Llama-3.1-8B in bf16 takes 16.1 GB and 0.9 of T4's memory is 14.4 GB"),
        (["--kv-budget-mb", "1"], "a KV budget of 1 MB holds 7 tokens and every request needs more"),
    ],
)
def test_a_wrong_value_is_one_sentence(capsys, arguments, says):
    assert main(["what-if", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_the_lanes_of_a_what_if_obey_every_identity(record):
    for lane in record.lanes:
        check_lane(record.workload, lane, complete=True)
