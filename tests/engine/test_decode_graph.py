"""Recorded decode steps. Without a GPU at hand, a tape stands for its graphs: operators with fixed tensors."""

from functools import cache

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from lab.engine.decode_graph import ROW_BUCKETS, SHORTEST_CONTEXT, Bucket, DecodeGraphs, as_is
from lab.engine.kv import KvPool
from lab.engine.model import Model
from lab.engine.step import Row
from lab.engine.torch_executor import TorchExecutor
from lab.engine.weights import load_weights

FREE = 2**30
CPU = torch.device("cpu")


class Tape(TorchDispatchMode):
    """What a CUDA graph does, by hand: the same operators, on the same memory, and no Python between them."""

    recordings = 0

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, out))
        return out

    @torch.inference_mode()
    def play(self):
        for func, args, kwargs, out in self.calls:
            fresh = tree_flatten(func(*args, **kwargs))[0]
            for kept, new in zip(tree_flatten(out)[0], fresh, strict=True):
                if isinstance(kept, torch.Tensor):
                    kept.copy_(new)


def taped(work):
    Tape.recordings += 1
    tape = Tape()
    with tape:
        result = work()

    def play():
        tape.play()
        return result

    return play


@cache
def _model(folder):
    """With torch's products, as on a GPU: a tape hears of torch's operators only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lab.engine.linear._kind", lambda dtype: None)
        return Model(load_weights(str(folder)), torch.float32, CPU)


def _executor(pair, recorder, slots=6, tokens=100):
    executor = TorchExecutor(_model(pair.folder), lambda: FREE, recorder)
    executor.allocate(slots, tokens)
    return executor


def _decode(slot, past):
    return Row(slot, slot, (0,), past, True, 1)


@pytest.mark.parametrize("recorder", [as_is, taped])
def test_recorded_steps_give_the_answers_of_transformers(pair, driver, prompt, recorder):
    graphed = driver(_executor(pair, recorder), slots=6, tokens=100)
    prompts = {request: prompt(length) for request, length in enumerate((5, 17, 60, 30, 3))}
    graphed.step([(0, prompts[0], 5), (1, prompts[1], 0)])
    for _ in range(3):
        graphed.step()
    graphed.step([(2, prompts[2], 3)])
    for _ in range(6):
        graphed.step()
    graphed.leave(0)
    graphed.step([(3, prompts[3], 5), (4, prompts[4], 1)])
    for _ in range(4):
        graphed.step()
    for request, answer in graphed.answers.items():
        assert answer == pair.greedy(prompts[request], len(answer))
        assert len(answer) >= 5


def test_a_size_is_recorded_once_and_its_first_step_is_cold(llama, driver, prompt):
    executor = _executor(llama, taped)
    before = Tape.recordings
    lane = driver(executor, slots=6, tokens=100)
    lane.step([(0, prompt(5), 0), (1, prompt(9), 4)])
    assert [lane.step().cold for _ in range(4)] == [True, False, False, False]
    assert Tape.recordings == before + 1
    lane.leave(0)
    assert [lane.step().cold for _ in range(2)] == [True, False]


def test_after_a_warm_up_no_decode_step_is_cold(llama, driver, prompt):
    executor = _executor(llama, as_is)
    lane = driver(executor, slots=6, tokens=100)
    executor.warm_up(range(1, 4), [4, 60])
    for request, length in enumerate((4, 60, 7)):
        lane.step([(request, prompt(length), request)])
        assert not any(lane.step().cold for _ in range(10))


def test_rows_and_context_are_rounded_up_and_what_that_costs_is_counted(llama, driver, prompt):
    lane = driver(_executor(llama, as_is), slots=6, tokens=100)
    lane.step([(i, prompt(length), i) for i, length in enumerate((5, 50, 63))])
    assert lane.step().kernel_padding == 4 * 64 - (6 + 51 + 64)
    assert lane.step().kernel_padding == 4 * 128 - (7 + 52 + 65)


@pytest.fixture
def graphs(llama):
    kv = KvPool(llama.executor.model.shape, 80, 256, torch.float32, CPU)
    return DecodeGraphs(llama.executor.model, kv, as_is)


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 9, 33, 64])
@pytest.mark.parametrize("past", [1, 63, 64, 200])
def test_every_step_a_warm_up_prepares_for_finds_its_recording(graphs, rows, past):
    bucket = graphs.bucket([_decode(slot, past) for slot in range(rows)])
    assert bucket.rows >= rows
    assert bucket.context > past
    assert bucket in graphs.buckets(rows)
    assert bucket.rows < 2 * rows or rows == 1
    assert bucket.context <= max(SHORTEST_CONTEXT, 2 * past)


def test_there_are_no_more_recordings_than_rows_ask_for(graphs):
    assert graphs.buckets(1) == [Bucket(1, 64), Bucket(1, 128), Bucket(1, 256)]
    assert {bucket.rows for bucket in graphs.buckets(5)} == {1, 2, 4, 8}


def test_more_rows_than_the_largest_recording_are_launched_one_by_one(graphs):
    rows = [_decode(slot, 3) for slot in range(max(ROW_BUCKETS) + 1)]
    assert graphs.bucket(rows) is None
    assert graphs.bucket(rows[:-1]).rows == max(ROW_BUCKETS)


def test_a_step_with_a_prompt_in_it_is_never_recorded(graphs):
    assert graphs.bucket([_decode(0, 3), Row(1, 1, (5, 6), 0, True, 2)]) is None


def test_rows_that_nobody_asked_for_touch_no_slot_but_the_spare_one(llama):
    kv = KvPool(llama.executor.model.shape, 5, 64, torch.float32, CPU)
    graphs = DecodeGraphs(llama.executor.model, kv, as_is)
    rows = [_decode(slot, 9) for slot in (0, 2, 3)]
    graphs.run(graphs.bucket(rows), rows)
    written = [kv.read(slot, 1, 64)[0][0].abs().sum().item() > 0 for slot in range(5)]
    assert written == [True, False, True, True, True]


def test_a_new_pool_forgets_the_recordings_of_the_old_one(llama, driver, prompt):
    executor = _executor(llama, as_is)
    for _ in range(2):
        lane = driver(executor, slots=3, tokens=64)
        lane.step([(0, prompt(5), 0)])
        assert lane.step().cold


def test_memory_that_runs_out_while_recording_is_said_in_a_sentence(llama, driver, prompt):
    def full(work):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    lane = driver(_executor(llama, full), slots=3, tokens=64)
    lane.step([(0, prompt(5), 0)])
    with pytest.raises(MemoryError, match=r"ran out while a step was run \(rows: 1\); use a smaller batch size"):
        lane.step()
