"""`load --predicted` on a made-up calibration: the whole command in a moment."""

import csv
import json
from pathlib import Path

import pytest

from lab.analysis.load_tables import LOAD_COLUMNS
from lab.cli.main import main
from lab.engine.cost_model import KNOTS, CostModel
from lab.run.calibration import Calibration, keep
from lab.run.record import Provenance
from lab.spec.model_shape import WELL_KNOWN

COST = CostModel((0.008, 0.002, 0.001, 2e-6, 1e-7) + (0.0, 1e-3, 1e-3, 5e-4) + (4e-4,) * (len(KNOTS) - 4))


@pytest.fixture(scope="module")
def model(cache_of_the_tests):
    """The name of a model that nobody has, with a calibration."""
    shape = WELL_KNOWN["SmolLM2-135M"]
    source = Provenance(
        "measured", "made-up", "1", "fp32", "cpu", 2, (), "", "2026-01-01T00:00:00+00:00", 1, 23_040,
        reference_step_s=(0.01,),
    )  # fmt: skip
    keep(
        Calibration(
            COST, source, shape, fingerprint="made-up", folder="", free_bytes=10**10, flops_per_s=1e11, samples=100,
            held_out=20, error=0.05, device_type="cpu",
        )
    )  # fmt: skip
    return source.model


def load(model, *options):
    return main(["load", "--predicted", "--model", model, *options])


def test_open_loop_strict_json_a_table_and_a_file(model, capsys, tmp_path):
    assert load(model, "--repeats", "2", "--json", "--out", str(tmp_path)) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["provenance"]["kind"] == "predicted"
    assert (found["loop"], found["workload"]["seeds"], found["left_out"]) == ("open", [0, 1], 0)
    assert list(found["modes"]) == ["none", "static", "dynamic", "continuous"]
    for curve in found["modes"].values():
        rates = [cell["load"] for cell in curve["loads"]]
        assert rates == sorted(rates)
        assert curve["knee"]["load"] in rates
        assert all(one["error"] < 1e-9 for cell in curve["loads"] for one in cell["little"])
        assert not any(cell["window_is_pure_delay"] for cell in curve["loads"])
    none = [cell["e2e_s"][0]["p50"] for cell in found["modes"]["none"]["loads"]]
    assert none == sorted(none)
    with (tmp_path / "load.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(LOAD_COLUMNS)
    assert len(rows) == 2 * sum(len(curve["loads"]) + 1 for curve in found["modes"].values())
    assert {row["kind"] for row in rows} == {"predicted", ""}
    assert (tmp_path / "load.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_closed_loop_saturates_and_a_single_user_behind_a_window_is_told_of(model, capsys):
    assert load(model, "--closed-loop", "--modes", "dynamic,continuous", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["loop"] == "closed"
    for curve in found["modes"].values():
        assert [cell["load"] for cell in curve["loads"]] == [1, 2, 4, 8, 16]
        speeds = [cell["throughput_tok_s"][0] for cell in curve["loads"]]
        assert speeds[:4] == sorted(speeds[:4])
        assert speeds[4] == pytest.approx(speeds[3], rel=0.1)
    alone = found["modes"]["dynamic"]["loads"][0]
    assert alone["window_is_pure_delay"]
    assert alone["queue_delay_s"][0]["p50"] == pytest.approx(0.05)


def test_people_get_a_table_with_the_knee_and_the_hint(model, capsys):
    assert load(model, "--closed-loop", "--modes", "dynamic", "--users", "1,8") == 0
    out = capsys.readouterr().out
    assert "Predicted" in out
    assert out.count("◄ knee") == 1
    assert "mean batch" in out
    assert "Mean batch: requests that left together, on average over all dispatches." in out
    assert "the whole window of 50 ms for nobody" in out


def test_rates_by_hand_are_those_of_every_mode(model, capsys):
    assert load(model, "--rates", "4,1", "--modes", "none,static", "--scenario", "chat", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [[cell["load"] for cell in c["loads"]] for c in found["modes"].values()] == [[1, 4], [1, 4]]


def test_the_columns_are_documented():
    document = (Path(__file__).resolve().parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    missing = [name for name, meaning in LOAD_COLUMNS.items() if f"| `{name}` | {meaning} |" not in document]
    assert missing == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--repeats", "0"], "--repeats is 0; it must be at least 1"),
        (["--minutes", "0"], "--minutes is 0; it must be above 0"),
        (["--free-eos"], "--free-eos does not go with load"),
        (["--users", "1,2"], "--users is for a closed loop"),
        (["--closed-loop", "--rates", "1"], "leave out rates and requests"),
        (["--closed-loop", "--users", "100"], "100 users with"),
        (["--closed-loop", "--think-ms", "-1"], "--think-ms is -1; it must lie between 0 and"),
        (["--requests", "20"], "20 requests, of which a batch of 8 is cut at either end; give at least 24"),
    ],
)
def test_a_wrong_call_is_one_sentence(model, capsys, arguments, says):
    assert load(model, *arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err.strip().splitlines()[-1]


@pytest.mark.parametrize(
    "asked", [["--device", "cuda"], ["--dtype", "bf16"], ["--device", "cpu", "--dtype", "bf16"]]
)
def test_a_calibration_of_another_device_or_precision_does_not_answer(model, capsys, asked):
    for command in (["predict"], ["load", "--predicted"]):
        assert main([*command, "--model", model, *asked]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert f"there is no calibration of {model!r} with {' '.join(asked)}" in err
        assert "those kept are of made-up in fp32 on cpu (cpu)" in err
        assert f"python -m lab calibrate --model {model} {' '.join(asked)}" in err


def test_a_calibration_of_the_device_that_is_named_answers(model, capsys):
    assert main(["predict", "--model", model, "--device", "cpu", "--requests", "4"]) == 0
    assert "predicted" in capsys.readouterr().out


@pytest.mark.parametrize("rates", ["fast", "1,-2", "0", "inf", "1,,2"])
def test_what_is_no_rate_is_refused_with_its_value(model, capsys, rates):
    with pytest.raises(SystemExit) as left:
        load(model, f"--rates={rates}")
    assert left.value.code == 2
    assert repr(rates) in capsys.readouterr().err
