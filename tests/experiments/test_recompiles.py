"""Compilations are counted with a backend that needs no C++ compiler: how often torch asks rests on shapes."""

import json
from dataclasses import asdict

import pytest

from lab.cli import recompiles as command
from lab.cli.main import main
from lab.cli.recompiles import recompiles_text
from lab.engine.compiling import Mlp, calls_compiled, start_compiler
from lab.experiments.recompiles import (
    RECORDED,
    ROWS,
    measure_recompiles,
    read_recompiles,
    recompiles_json,
)
from lab.spec.model_shape import WELL_KNOWN

SHAPE = WELL_KNOWN["SmolLM2-135M"]


def silent(phase, done, total):
    pass


@pytest.fixture(scope="module")
def found():
    return measure_recompiles(SHAPE, silent, backend="eager")


def compiled(calls):
    return [(call.rows, call.compilations) for call in calls]


def test_a_fixed_shape_is_compiled_anew_for_each_new_number_of_rows_and_known_ones_come_free():
    calls = calls_compiled(Mlp(8, 16), [1, 2, 3, 4, 3, 1], dynamic=False, backend="eager")
    assert compiled(calls) == [(1, 1), (2, 1), (3, 1), (4, 1), (3, 0), (1, 0)]


def test_a_shape_that_may_change_is_compiled_for_one_row_and_for_all_others():
    calls = calls_compiled(Mlp(8, 16), [1, 2, 3, 4, 3, 1], dynamic=True, backend="eager")
    assert compiled(calls) == [(1, 1), (2, 1), (3, 0), (4, 0), (3, 0), (1, 0)]


def test_what_was_compiled_earlier_does_not_help():
    twice = [calls_compiled(Mlp(8, 16), [2, 3], dynamic=False, backend="eager") for _ in range(2)]
    assert compiled(twice[0]) == compiled(twice[1]) == [(2, 1), (3, 1)]


def test_a_compiler_that_cannot_be_used_is_a_sentence(monkeypatch):
    def broken(graph, inputs):
        raise RuntimeError("\nC++ compile error\n  g++: cannot execute")

    monkeypatch.setattr("lab.engine.compiling.dynamo.lookup_backend", lambda name: broken)
    with pytest.raises(ValueError, match=r"cannot use this machine's C\+\+ compiler .*; check it, or \$CXX"):
        start_compiler()


def test_no_more_shapes_are_tried_than_torch_keeps():
    import torch._dynamo

    assert len(set(ROWS)) <= torch._dynamo.config.recompile_limit
    assert len(set(ROWS)) < len(ROWS), "some come again"


def test_the_experiment_calls_both_with_the_same_rows_and_says_where(found):
    assert [call.rows for call in found.fixed] == [call.rows for call in found.dynamic] == list(ROWS)
    assert sum(call.compilations for call in found.fixed) == len(set(ROWS))
    assert sum(call.compilations for call in found.dynamic) == 2
    assert found.model == "SmolLM2-135M"
    assert found.device
    assert found.threads >= 1


def test_a_record_is_read_as_it_was_written_and_nothing_else_is(found):
    assert read_recompiles(recompiles_json(found)) == found
    assert set(json.loads(recompiles_json(found))) == set(asdict(found))
    with pytest.raises(ValueError, match="not a record of recompilations"):
        read_recompiles("{}")


def test_the_record_that_ships_shows_what_the_lesson_says():
    shipped = read_recompiles(RECORDED.read_text(encoding="utf-8"))
    assert [call.rows for call in shipped.fixed] == list(ROWS)
    assert sum(call.compilations for call in shipped.fixed) == len(set(ROWS))
    assert sum(call.compilations for call in shipped.dynamic) == 2
    slow = [call.first_s for call in (*shipped.fixed, *shipped.dynamic) if call.compilations]
    free = [call.first_s for call in (*shipped.fixed, *shipped.dynamic) if not call.compilations]
    assert min(slow) > 10 * max(free)
    assert (shipped.device, shipped.created) > ("", "")


def test_the_command_prints_both_and_writes_the_record(found, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "measure_recompiles", lambda shape, report: found)
    monkeypatch.setattr(command, "cxx_compiler", lambda: "/usr/bin/g++")
    out = tmp_path / "new" / "recompiles.json"
    assert main(["recompiles", "--out", str(out)]) == 0
    assert read_recompiles(out.read_text(encoding="utf-8")) == found
    text = capsys.readouterr().out
    assert text.splitlines() == list(recompiles_text(found))
    assert "compiled for one shape at a time: 8 compilations in 10 batches" in text
    assert "told that it changes: 2 compilations in 10 batches" in text


def test_without_a_compiler_the_command_says_so_in_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(command, "cxx_compiler", lambda: None)
    assert main(["recompiles"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("torch.compile needs a C++ compiler, and none of clang++, g++, cl was found.")
