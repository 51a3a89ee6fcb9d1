"""The compiled loops, held to torch's own operators."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from lab.engine import loops
from lab.engine.array import as_array
from lab.engine.batch import MOST_LOOPED, lay_out, rows_alone_win
from lab.engine.kv import KvPool
from lab.engine.norm import RmsNorm, residual
from lab.engine.operators import LoopedOperators, TorchOperators, looped_operators
from lab.engine.rotary import turns
from lab.engine.step import Row, Step
from lab.engine.torch_executor import _greedy
from lab.spec.model_shape import WELL_KNOWN

CPU = torch.device("cpu")
SHAPE = WELL_KNOWN["SmolLM2-135M"]
DTYPES = [torch.float32, torch.bfloat16]
CLOSE = {torch.float32: {"atol": 1e-5, "rtol": 1e-5}, torch.bfloat16: {"atol": 0.05, "rtol": 0.02}}


@pytest.fixture(scope="module")
def both():
    turned = turns(SHAPE)
    return LoopedOperators(SHAPE, turned), TorchOperators(SHAPE, turned)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("value", [1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8, 1 + 2**-9, 3.0e38, 1e-38, 0.0])
def test_bf16_is_rounded_as_torch_rounds_it(value):
    """SiLU(100) is 100 and SiLU(0) is 0: a gate multiplies, and what it stores is a product rounded once."""
    pair = torch.tensor([[100.0, value / 100]], dtype=torch.bfloat16)
    out = torch.empty(1, 1, dtype=torch.bfloat16)
    loops.gate(as_array(pair), as_array(out))
    assert out.item() == (pair[0, 0].float() * pair[0, 1].float()).bfloat16().item()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tokens", [1, 3, 64])
def test_sums_and_norms_are_torchs(both, dtype, tokens):
    looped, plain = both
    x, first, second = (torch.randn(tokens, SHAPE.hidden).to(dtype) for _ in range(3))
    norm = RmsNorm(torch.randn(SHAPE.hidden).to(dtype), 1e-5)
    streams = [looped.residual(x), plain.residual(x)]
    for stream in streams:
        stream.add(first)
        stream.add(second)
    some = torch.tensor([tokens - 1, 0])
    for ours, theirs in (streams, [stream.of(some) for stream in streams]):
        torch.testing.assert_close(ours.normed(norm), theirs.normed(norm), **CLOSE[dtype])


def test_what_was_added_last_is_added_once_however_often_the_sums_are_asked_for(both):
    x, added, norm = torch.randn(2, 64), torch.randn(2, 64), RmsNorm(torch.ones(64), 1e-5)
    stream, plain = both[0].residual(x), residual(x)
    stream.add(added)
    plain.add(added)
    stream.normed(norm)
    torch.testing.assert_close(stream.normed(norm), plain.normed(norm))


@pytest.mark.parametrize("dtype", DTYPES)
def test_gates_are_torchs_from_far_below_zero_to_far_above(both, dtype):
    looped, plain = both
    pair = torch.randn(5, 2 * SHAPE.intermediate) * 8
    pair[0, :6] = torch.tensor([-200.0, -88.0, -1e-30, 0.0, 88.0, 200.0])
    pair = pair.to(dtype)
    torch.testing.assert_close(looped.gated(pair), plain.gated(pair), **CLOSE[dtype])


def _row(slot, past, fed=1):
    return Row(slot, slot, (3,) * fed, past, True, fed)


STEPS = {
    "one row": [_row(0, 5)],
    "rows of one length": [_row(slot, 16) for slot in range(4)],
    "rows of many lengths, with gaps between them": [_row(6, 1), _row(0, 90), _row(3, 13), _row(4, 30)],
    "prompts": [_row(1, 0, 9), _row(2, 0, 9), _row(5, 0, 30)],
    "prompts beside decoding rows": [_row(1, 0, 9), _row(0, 40), _row(5, 0, 7), _row(6, 2)],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize(("one_by_one", "squares"), [(True, 10**9), (True, 0), (False, 0)])
def test_attention_and_what_it_keeps_are_torchs(both, monkeypatch, dtype, rows, one_by_one, squares):
    monkeypatch.setattr("lab.engine.batch.rows_alone_win", lambda *_: one_by_one)
    monkeypatch.setattr("lab.engine.batch.MOST_SQUARES", squares)
    layer = 1
    shape = replace(SHAPE, layers=2)
    cache = torch.randn(2, 8, 100, 2, SHAPE.kv_heads, SHAPE.head_dim).to(dtype)
    given, results = None, []
    for operators, loops_there in zip(both, (True, False), strict=True):
        pool = KvPool(shape, 8, 100, dtype, CPU)
        pool._pool.copy_(cache)
        batch = lay_out(Step(tuple(rows)), dtype, CPU, loops_there)
        if given is None:
            given = torch.randn(len(batch.ids), (SHAPE.heads + 2 * SHAPE.kv_heads) * SHAPE.head_dim).to(dtype)
        attended = operators.attention(batch, pool)(layer, given.clone())
        results.append((attended[: sum(len(row.ids) for row in rows)], pool._pool.clone()))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, **CLOSE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", STEPS.values(), ids=STEPS)
def test_on_however_many_cores_attention_comes_out_the_same_to_the_last_bit(both, monkeypatch, dtype, rows):
    monkeypatch.setattr("lab.engine.batch.rows_alone_win", lambda *_: True)
    monkeypatch.setattr("lab.engine.batch.MOST_SQUARES", 10**9)
    batch = lay_out(Step(tuple(rows)), dtype, CPU, 1)
    cache = torch.randn(1, 8, 100, 2, SHAPE.kv_heads, SHAPE.head_dim).to(dtype)
    given = torch.randn(len(batch.ids), (SHAPE.heads + 2 * SHAPE.kv_heads) * SHAPE.head_dim).to(dtype)
    before, team, results = torch.get_num_threads(), both[0]._team, []
    try:
        for threads in (0, 1, 2, 3, 16):
            monkeypatch.setattr(both[0], "_team", team if threads else None)
            torch.set_num_threads(threads or 1)
            pool = KvPool(replace(SHAPE, layers=1), 8, 100, dtype, CPU)
            pool._pool.copy_(cache)
            results.append((both[0].attention(batch, pool)(0, given.clone()).clone(), pool._pool))
    finally:
        torch.set_num_threads(before)
    for found in results[1:]:
        assert torch.equal(found[0], results[0][0])
        assert torch.equal(found[1], results[0][1])


def test_rows_that_attend_one_by_one_have_no_unused_keys():
    step = Step((_row(0, 20), _row(1, 9)))
    assert lay_out(step, torch.float32, CPU, loop_cores=0).kernel_padding == 11
    alone = lay_out(step, torch.float32, CPU, loop_cores=1)
    assert (alone.kernel_padding, alone.decodes, alone.alone) == (0, (), 2)


def test_short_prompts_attend_token_by_token_and_long_ones_in_blocks():
    short = lay_out(Step((_row(0, 20), _row(1, 0, 9))), torch.float32, CPU, loop_cores=1)
    assert (short.alone, short.prompts, len(short.ids)) == (10, (), 16)
    long = lay_out(Step((_row(0, 20), _row(1, 0, 90))), torch.float32, CPU, loop_cores=1)
    assert (long.alone, [block.length for block in long.prompts]) == (1, [90, 5])


@pytest.mark.parametrize("largest", [3.0, 0.0, -0.5])
def test_the_largest_logit_is_found_whatever_its_sign(largest):
    logits = torch.full((3, 1000), -7.0)
    logits[:, 100] = -1.0
    logits[0, 400] = logits[1, 3] = logits[2, 999] = largest
    logits[0, 500] = largest  # of equals the first
    for dtype in DTYPES:
        assert _greedy(logits.to(dtype)) == (400, 3, 999)


def test_many_tokens_and_devices_without_loops_are_left_to_torch():
    few, many = Step((_row(0, 0, MOST_LOOPED),)), Step((_row(0, 0, MOST_LOOPED + 1),))
    assert lay_out(few, torch.float32, CPU, loop_cores=1).looped
    assert not lay_out(many, torch.float32, CPU, loop_cores=1).looped
    assert not lay_out(few, torch.float32, CPU, loop_cores=0).looped
    assert looped_operators(SHAPE, torch.zeros(1, device="meta")) is None


@pytest.mark.parametrize(
    ("keys", "threads", "cores", "alone"),
    [(8000, 2, 1, True), (64_000, 2, 1, True), (500, 16, 1, True), (64_000, 16, 1, False), (64_000, 16, 16, True)],
)
def test_loops_attend_unless_they_have_one_core_and_torch_has_many(keys, threads, cores, alone):
    assert rows_alone_win(keys, torch.bfloat16, threads, cores) == alone


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_prompt_far_into_the_context_turns_as_far_as_in_torch(both, dtype):
    looped, plain = both
    pools = [KvPool(replace(SHAPE, layers=1), 1, SHAPE.context, dtype, CPU) for _ in both]
    given = torch.randn(1, (SHAPE.heads + 2 * SHAPE.kv_heads) * SHAPE.head_dim).to(dtype)
    last = Step((_row(0, SHAPE.context - 1),))
    for operators, pool, there in zip((looped, plain), pools, (True, False), strict=True):
        operators.attention(lay_out(last, dtype, CPU, there), pool)(0, given.clone())
    torch.testing.assert_close(pools[0]._pool, pools[1]._pool, **CLOSE[dtype])


def test_the_exponential_is_right_to_its_last_digits():
    """Through the gate: SiLU(x) × 1 = x / (1 + e^-x)."""
    x = np.linspace(-80, 80, 100_001, dtype=np.float32)
    pair = np.stack((x, np.ones_like(x)), axis=1)
    out = np.empty((len(x), 1), np.float32)
    loops.gate(pair, out)
    exact = x.astype(float) / (1 + np.exp(-x.astype(float)))
    some = x != 0
    assert np.abs(out[some, 0] / exact[some] - 1).max() < 5e-6


def test_without_numba_answers_are_computed_by_torch(pair, prompt, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "lab.engine.loops")
    monkeypatch.delattr("lab.engine.loops", raising=False)
    assert looped_operators(pair.executor.model.shape, turns(pair.executor.model.shape)) is None
