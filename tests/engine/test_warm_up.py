"""Cold steps are named, and a warm-up leaves none for the shapes it was told of."""

import pytest
import torch

from lab.engine.machine import free_memory
from lab.engine.step import ONE_STEP, Row, Step
from lab.engine.torch_executor import TorchExecutor


@pytest.fixture
def fresh(llama):
    """An executor that has run nothing yet."""
    executor = TorchExecutor(llama.executor.model, lambda: free_memory(torch.device("cpu")))
    executor.allocate(6, 128)
    return executor


def _prompts(*lengths, padded_to=None):
    return Step(tuple(Row(s, s, (5,) * n, 0, True, padded_to or n) for s, n in enumerate(lengths)))


def test_a_shape_is_cold_once(fresh):
    assert fresh.run(_prompts(20, 9), ONE_STEP).cold
    assert not fresh.run(_prompts(20, 9), ONE_STEP).cold


def test_lengths_that_round_to_one_size_share_its_set_up(fresh):
    fresh.run(_prompts(20), ONE_STEP)
    assert not fresh.run(_prompts(29), ONE_STEP).cold
    assert fresh.run(_prompts(33), ONE_STEP).cold


def test_another_number_of_rows_is_another_shape(fresh):
    fresh.run(_prompts(32), ONE_STEP)
    assert fresh.run(_prompts(16, 16), ONE_STEP).cold


@pytest.mark.parametrize(
    "step",
    [
        _prompts(7),
        _prompts(7, 23, 40),
        _prompts(7, 23, 40, 40, padded_to=40),
        Step((*_prompts(7).rows, Row(3, 3, (5,), 0, True, 1))),
    ],
)
def test_after_a_warm_up_no_step_of_its_rows_and_prompts_is_cold(fresh, step):
    fresh.warm_up(range(1, 5), [7, 23, 40])
    assert not fresh.run(step, ONE_STEP).cold


def test_a_warm_up_reaches_beyond_the_models_context(fresh):
    """Prompts of a step together may be longer than the context, which no single one may."""
    fresh.warm_up([4], [200, 256])
    fresh.allocate(4, 256)
    assert not fresh.run(_prompts(256, 256, 250, 200), ONE_STEP).cold


def test_a_second_warm_up_does_nothing_twice(fresh, monkeypatch):
    fresh.warm_up([1, 2], [30])
    monkeypatch.setattr(fresh.model, "set_up", lambda *_: pytest.fail("set up again"))
    fresh.warm_up([1, 2], [30])
    fresh.warm_up([], [])


def test_the_outcome_counts_what_rounding_added(fresh, monkeypatch):
    monkeypatch.setattr("lab.engine.batch.rows_alone_win", lambda *_: False)
    assert fresh.run(_prompts(20, 9), ONE_STEP).kernel_padding == 3
    rows = (Row(0, 0, (5,), 20, True, 1), Row(1, 1, (5,), 9, True, 1))
    assert fresh.run(Step(rows), ONE_STEP).kernel_padding == 11


def test_memory_that_really_runs_out_is_said_and_a_smaller_pool_can_be_made_afterwards(llama):
    executor = TorchExecutor(llama.executor.model, lambda: 2**62)  # it lies: the check before lets this through
    with pytest.raises(MemoryError, match="ran out while the KV pool was made; use a smaller batch size"):
        executor.allocate(2**22, 2**22)
    executor.allocate(2, 8)
