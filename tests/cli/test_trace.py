"""`trace` shows what `run --trace` replays; what is no trace ends in one sentence and exit code 2."""

import json

import pytest

from lab.cli.main import main, parser
from lab.cli.options import spec_of
from lab.workload.scenarios import TRACES

CONVERSATION = str(TRACES / "azure2023_conv_from_60s.csv")
CUT = ["--from", "10", "--to", "30", "--requests", "20", "--length-scale", "0.125", "--max-output-tokens", "30"]


def shown(capsys, *arguments):
    assert main(["trace", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_json_has_rows_unit_span_rate_and_lengths(capsys):
    seen = shown(capsys, CONVERSATION)
    assert (seen["format"], seen["unit"]) == ("Azure 2023 / 2024", "date and time")
    assert (seen["read"], seen["kept"], seen["dropped"]) == (256, 256, 0)
    assert seen["span_s"] == pytest.approx(57.795626)
    assert seen["rate"] == pytest.approx(256 / 57.795626)
    for lengths in (seen["prompt_tokens"], seen["output_tokens"]):
        assert set(lengths) == {"mean", "p50", "p95", "max", "total", "capped"}


def test_a_run_replays_what_the_preview_shows(capsys):
    seen = shown(capsys, CONVERSATION, *CUT)
    assert seen["read"] == seen["kept"] + seen["dropped"] == 256
    assert sum(seen["dropped_because"].values()) == seen["dropped"]
    workload = spec_of(parser().parse_args(["run", "--trace", CONVERSATION, *CUT])).workload
    assert len(workload.requests) == seen["kept"] == 20
    assert workload.requests[-1].arrival == pytest.approx(seen["span_s"])
    assert sum(r.prompt_length for r in workload.requests) == seen["prompt_tokens"]["total"]
    assert sum(r.output_tokens for r in workload.requests) == seen["output_tokens"]["total"]
    assert seen["output_tokens"]["capped"] == sum(r.output_tokens == 30 for r in workload.requests)
    assert seen["changed"] in workload.source


def test_an_empty_slice_is_shown_with_a_note_and_not_run(capsys):
    seen = shown(capsys, CONVERSATION, "--from", "1000")
    assert (seen["kept"], seen["rate"], seen["prompt_tokens"]) == (0, None, None)
    assert seen["notes"] == ["no request is left: take another slice"]
    assert main(["run", "--trace", CONVERSATION, "--from", "1000"]) == 2
    assert "0 requests of azure2023_conv_from_60s.csv are left" in capsys.readouterr().err


def test_people_read_the_reasons_and_what_a_run_will_take(tmp_path, capsys):
    file = tmp_path / "mine.csv"
    rows = "3,5,7\n1,5,7\nsoon,5,7\n9,0,7\n"
    file.write_text("arrived_at,num_prefill_tokens,num_decode_tokens\n" + rows)
    assert main(["trace", str(file)]) == 0
    out = capsys.readouterr().out
    assert "4 read = 2 kept + 2 dropped" in out
    assert "1 time unreadable" in out
    assert "1 no prompt tokens" in out
    assert "1 rows came before the row above them; the trace was sorted by time" in out
    assert "arrivals end after 2.0 s" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["trace", "missing.csv"], "missing.csv is not a file; give a trace"),
        (["trace", CONVERSATION, "--length-scale", "nan"], "the length scale is nan"),
        (["trace", CONVERSATION, "--speed-up", "0"], "the speed-up is 0.0"),
        (
            ["trace", CONVERSATION, "--from", "9", "--to", "3"],
            "the slice ends at 3 s; it must end after its start, 9 s",
        ),
        (["trace", __file__], "has the columns"),
        (["run", "--trace", CONVERSATION, "--scenario", "chat"], "--scenario chat does not go with --trace"),
        (["run", "--trace", CONVERSATION, "--request-rate", "2"], "--request-rate 2 does not go with --trace"),
        (
            ["run", "--scenario", "code", "--length-scale", "1"],
            "--length-scale cuts a trace; name one",
        ),
        (["run", "--trace", CONVERSATION, "--requests", "0"], "the number of requests is 0"),
    ],
)
def test_a_wrong_call_is_one_sentence_and_exit_code_two(capsys, arguments, says):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert len(err.strip().splitlines()) == 1
