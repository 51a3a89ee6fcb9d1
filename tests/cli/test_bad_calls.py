"""Every wrong call ends in one sentence that shows the value, with exit code 2 and nothing on stdout."""

import math
import subprocess
import sys

import pytest

from lab.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "--scenario", "nope"], "scenario is 'nope'; it must be one of chat"),
        (["run", "--modes", "none,turbo"], "mode is 'turbo'; it must be one of none, static"),
        (["run", "--modes", "none,none"], "each may be given once"),
        (["run", "--modes", ","], "no modes given"),
        (["run", "--max-batch-size", "0"], "max_batch_size is 0; it must be at least 1"),
        (["run", "--max-batch-size", "4097"], "--max-batch-size is 4097; it must be at most 4096"),
        (["what-if", "--max-batch-size", "1" + "0" * 20], "it must be at most 4096"),
        (["sweep", "--batch-sizes", "4,5000"], "--batch-sizes is 5000; it must be at most 4096"),
        (["validate", "--max-batch-size", "4097"], "--max-batch-size is 4097; it must be at most 4096"),
        (["run", "--max-queue-delay-ms", "-1"], "max_queue_delay is -0.001 s; it must be 0 or more"),
        (["run", "--max-queue-delay-ms", "nan"], "max_queue_delay is nan s; it must be 0 or more"),
        (["run", "--request-rate", "-3"], "rate is -3.0 requests per second"),
        (["run", "--request-rate", "nan"], "rate is nan requests per second"),
        (["run", "--requests", "0"], "requests is 0"),
        (["run", "--seed", "-1"], "seed is -1"),
        (["run", "--kv-budget-mb", "0"], "the KV budget is 0.0 MB; it must be more than 0"),
        (["run", "--buckets", "512,128"], "bucket boundaries are [512, 128]; they must be above 0 and increase"),
        (["run", "--buckets", "small", "--bucket-wait-limit-ms", "-1"], "bucket_wait_limit is -0.001 s"),
        (["run", "--order", "priority", "--ageing", "-2"], "ageing is -2.0 s; it must be 0 or more and finite"),
        (["run", "--urgent-share", "2"], "the share of urgent requests is 2.0; it must lie between 0 and 1"),
        (["run", "--slo-ttft-ms", "-5"], "the ttft promised is -0.005 s"),
        (["run", "--prompts", "missing.txt"], "missing.txt is not a file"),
        (["run", "--scenario", "own"], "there is no prompt"),
        (["run", "--model", "no-such-folder/"], "no-such-folder"),
        (["run", "--dtype", "int3"], "int3"),
        (["run", "--device", "abacus"], "abacus"),
        (["verify-clock", "--repeats", "2"], "--repeats is 2; it must be at least 5"),
        (["buckets", "--repeats", "2"], "--repeats is 2; it must be at least 5"),
        (["buckets", "--buckets", ""], "--buckets is empty; give boundaries such as 48,96"),
        (["sweep", "--modes", "static,none"], "--modes is 'static,none'; a sweep takes one of them at a time"),
        (["validate", "--repeats", "4"], "--repeats is 4; it must be at least 5"),
        (["validate", "--requests", "3"], "--requests is 3; it must be at least 8"),
        (["validate", "--report", "no/such/folder/x.md"], "no/such/folder is no folder"),
        (["sweep", "--repeats", "0"], "--repeats is 0; it must be at least 1"),
        (["tune", "--repeats", "0"], "--repeats is 0; it must be at least 1"),
        (["load", "--predicted", "--rates", "1e-300"], "--rates has 1e-300; a rate lies between 0.01 and 1000"),
        (["load", "--predicted", "--think-ms", "nan"], "--think-ms is nan; it must lie between 0 and 3,600,000"),
        (["load", "--predicted", "--repeats", "99999999999"], "--repeats is 99999999999; it must be at most 100"),
        (["verify-clock", "--repeats", "101"], "--repeats is 101; it must be at most 100"),
        (["predict", "--device", "tpu"], "device is 'tpu'; it must be 'auto', 'cpu' or 'cuda'"),
        (["scenarios", "nope"], "scenario is 'nope'"),
        (["scenarios", ""], "scenario is ''; it must be one of chat"),
        (["scenarios", "--requests", "0"], "--requests 0 changes the requests of a scenario; name one"),
        (["scenarios", "--request-rate", "2"], "--request-rate 2 changes the requests of a scenario; name one"),
        (["scenarios", "--seed", "7", "--json"], "--seed 7 changes the requests of a scenario; name one"),
        (["run", "--bucket-wait-limit-ms", "9"], "--bucket-wait-limit-ms 9 is of length buckets; name them"),
        (["run", "--ageing", "2"], "--ageing 2 is of priorities; add --order priority"),
        (["run", "--ageing", "off"], "--ageing off is of priorities; add --order priority"),
        (["sweep", "--requests", "0"], "requests is 0"),
        (["sweep", "--request-rate", "2"], "--request-rate 2 is of a scenario; name one"),
        (["tune", "--request-rate", "2"], "--request-rate 2 is of a scenario; name one"),
        (["sweep", "--batch-sizes", "1,2", "--max-batch-size", "9"], "--max-batch-size 9 ends doublings"),
        (["load", "--requests", "0"], "--requests is 0; it must be at least 1"),
        (["load", "--scenario", "equal", "--request-rate", "0"], "rate is 0.0 requests per second"),
        (["load", "--think-ms", "5"], "--think-ms is for a closed loop; add --closed-loop"),
        (["load", "--closed-loop", "--request-rate", "5"], "leave out rates and requests"),
        (["load", "--predicted", "--minutes", "1"], "--minutes is for measuring; a prediction takes none"),
        (["predict", "--free-eos"], "--free-eos needs a model that answers"),
        (["what-if", "--free-eos"], "--free-eos needs a model that answers"),
        (["bench", "--loop", "--repeats", "9"], "--repeats does not go with --loop"),
        (["bench", "--loop", "--model", "dummy:x"], "--model does not go with --loop"),
        (["report", "x.json", "--out", "x.html", "--format", "png"], "--format png is of pictures; name"),
        (["report", "x.json", "--data", "x", "--language", "zh"], "--language zh is of report and charts"),
    ],
)
def test_a_wrong_value_is_one_sentence_and_exit_code_two(capsys, arguments, says):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    last = err.strip().splitlines()[-1]
    assert last.startswith("lab: ")
    assert says in last


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["run", "--max-batch-size", "many"],
        ["run", "--buckets", "short"],
        ["run", "--ageing", "soon"],
        ["run", "--order", "random"],
        ["sweep", "--batch-sizes", "0,2"],
        ["sweep", "--batch-sizes", "1,two"],
        ["tune", "--rule", "luck"],
    ],
)
def test_what_argparse_refuses_ends_with_exit_code_two(arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2


@pytest.mark.parametrize(
    "arguments",
    [["run", "--out", ""], ["run", "--prompts", " "], ["fetch", "--to", ""], ["scenarios", "--prompts", ""]],
)
def test_an_empty_name_does_not_mean_this_folder(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert f"the name is {arguments[-1]!r}; name a file or folder" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["lab.cli.main", "numpy", "pydantic"])
def test_ctrl_c_in_the_middle_of_the_imports_is_a_word_and_exit_code_130(module):
    code = f"""
import os, runpy, signal, sys
def hook(event, arguments):
    if event == "import" and arguments[0] == {module!r}:
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(hook)
sys.argv[1:] = ["scenarios"]
runpy.run_module("lab", run_name="__main__")
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "lab: interrupted\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--out"],
        ["load", "--out"],
        ["report", "x.json", "--charts"],
        ["report", "x.json", "--data"],
        ["fetch", "--to"],
    ],
)
def test_a_folder_that_is_a_file_is_refused_before_anything_runs(tmp_path, capsys, arguments):
    file = tmp_path / "taken"
    file.write_text("mine")
    assert main([*arguments, str(file)]) == 2
    assert "which is a file; name a folder" in capsys.readouterr().err
    assert main([*arguments, str(file / "in" / "it")]) == 2
    assert f"{file} is a file; name another place" in capsys.readouterr().err
    assert file.read_text() == "mine"


@pytest.mark.parametrize("arguments", [["report", "x.json", "--out"], ["validate", "--report"]])
def test_a_file_that_is_a_folder_is_refused_before_anything_runs(tmp_path, capsys, arguments):
    assert main([*arguments, str(tmp_path)]) == 2
    assert f"{tmp_path}, which is a folder; name a file" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["report", "x.json", "--out"], ["validate", "--report"]])
def test_a_file_that_could_not_be_written_whole_is_refused_before_anything_runs(tmp_path, capsys, arguments):
    assert main([*arguments, str(tmp_path / ("n" * 252))]) == 2
    assert "a name too long; it may have 250 bytes" in capsys.readouterr().err
    (tmp_path / "mine.part").mkdir()
    assert main([*arguments, str(tmp_path / "mine")]) == 2
    assert f"{tmp_path / 'mine.part'}, and that is a folder; move it" in capsys.readouterr().err


def _code(arguments):
    """What the command ends with, also where argparse ends it."""
    try:
        return main(arguments)
    except SystemExit as left:
        return left.code


@pytest.mark.parametrize("arguments", [["run", "--requests", "9" * 5000], ["sweep", "--batch-sizes", "9" * 900]])
def test_what_was_given_is_shown_but_not_thousands_of_digits_of_it(capsys, arguments):
    assert _code(arguments) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "9" * 140 in said
    assert len(said) < 400


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tune", "--slo-tpot-ms", "nan"], "the tpot promised is nan s"),
        (["load", "--closed-loop", "--users", "999999"], "999999 users with"),
    ],
)
def test_what_cannot_be_done_is_said_before_a_model_is_loaded(monkeypatch, capsys, arguments, says):
    monkeypatch.setitem(sys.modules, "lab.engine.loaded", None)  # importing it would raise ImportError
    assert main(arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--modes", "turbo"],
        ["run", "--model", "no-such-folder/"],
        ["run", "--device", "abacus"],
        ["load", "--modes", "turbo"],
        ["load", "--requests", "20"],
        ["load", "--model", "no-such-folder/"],
        ["load", "--predicted", "--model", "no-such-model"],
        ["report", "missing.json"],
        ["report", "--language", "zh", "missing.json"],
    ],
)
def test_a_wrong_call_leaves_no_folder_behind(tmp_path, capsys, arguments):
    made = tmp_path / "one" / "two"
    places = ["--data", str(made), "--charts", str(made)] if arguments[0] == "report" else ["--out", str(made)]
    assert main([*arguments, *places]) == 2
    assert list(tmp_path.iterdir()) == []


def test_scenarios_lists_them_and_shows_the_requests_of_one(capsys):
    assert main(["scenarios"]) == 0
    assert "chat" in capsys.readouterr().out
    assert main(["scenarios", "chat", "--requests", "3", "--json"]) == 0
    import json

    shown = json.loads(capsys.readouterr().out)
    assert len(shown["requests"]) == 3
    assert math.isclose(shown["requests"][0]["arrival_s"], 0.0)
