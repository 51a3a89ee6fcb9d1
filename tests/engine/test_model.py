"""The lab's forward pass against transformers', logit by logit."""

import pytest
import torch

from lab.engine.batch import lay_out
from lab.engine.kv import KvPool
from lab.engine.rounding import rounded
from lab.engine.step import Row, Step

CLOSE = {"atol": 1e-4, "rtol": 0.0}
CPU = torch.device("cpu")


@pytest.fixture
def logits_of(pair):
    """logits_of(rows) -> logits of one step; all steps of a test share one pool of 6 slots."""
    model = pair.executor.model
    kv = KvPool(model.shape, 6, 80, torch.float32, CPU)

    def run(*rows):
        return model.forward(lay_out(Step(rows), torch.float32, CPU), kv)

    return run


def _prompt(slot, ids, padded_to=None):
    return Row(slot, slot, tuple(ids), 0, True, padded_to or len(ids))


def _decode(slot, ids):
    """Feed the last of `ids`, the others being cached."""
    return Row(slot, slot, (ids[-1],), len(ids) - 1, True, 1)


def test_a_prompt_gives_the_logits_of_transformers(pair, logits_of, prompt):
    ids = prompt(23)
    torch.testing.assert_close(logits_of(_prompt(3, ids))[0], pair.logits(ids), **CLOSE)


def test_a_prompt_of_one_token_gives_the_logits_of_transformers(pair, logits_of):
    torch.testing.assert_close(logits_of(_prompt(0, [5]))[0], pair.logits([5]), **CLOSE)


def test_ten_decoded_tokens_give_the_logits_of_transformers(pair, logits_of, prompt):
    ids = list(prompt(9))
    logits_of(_prompt(1, ids))
    for token in prompt(10, seed=1):
        ids.append(token)
        torch.testing.assert_close(logits_of(_decode(1, ids))[0], pair.logits(ids), **CLOSE)


def test_prompts_of_different_lengths_in_one_step_do_not_see_each_other(pair, logits_of, prompt):
    prompts = [prompt(n) for n in (5, 31, 17, 17)]
    logits = logits_of(*(_prompt(slot, ids) for slot, ids in zip((4, 0, 5, 2), prompts, strict=True)))
    for got, ids in zip(logits, prompts, strict=True):
        torch.testing.assert_close(got, pair.logits(ids), **CLOSE)


def test_prompts_padded_to_a_rectangle_give_the_logits_of_each_alone(pair, logits_of, prompt):
    prompts = [prompt(n) for n in (5, 31, 1)]
    logits = logits_of(*(_prompt(slot, ids, padded_to=31) for slot, ids in enumerate(prompts)))
    for got, ids in zip(logits, prompts, strict=True):
        torch.testing.assert_close(got, pair.logits(ids), **CLOSE)


def test_decoding_after_a_padded_prompt_does_not_see_the_padding(pair, logits_of, prompt):
    ids = list(prompt(5))
    logits_of(_prompt(0, ids, padded_to=40), _prompt(1, prompt(40)))
    for token in prompt(3, seed=2):
        ids.append(token)
        torch.testing.assert_close(logits_of(_decode(0, ids))[0], pair.logits(ids), **CLOSE)


def test_a_step_may_mix_decoding_rows_and_prompts_in_any_slots(pair, logits_of, prompt):
    old = {slot: list(prompt(n)) for slot, n in ((5, 12), (0, 33), (3, 7), (4, 20))}
    for slot, ids in old.items():
        logits_of(_prompt(slot, ids))
    for slot, ids in old.items():
        ids.append(10 + slot)
    new = {1: prompt(18), 2: prompt(4)}
    rows = [_decode(5, old[5]), _prompt(1, new[1]), _decode(0, old[0]), _decode(3, old[3])]
    rows += [_prompt(2, new[2]), _decode(4, old[4])]
    for row, got in zip(rows, logits_of(*rows), strict=True):
        ids = new[row.slot] if row.prefill else old[row.slot]
        torch.testing.assert_close(got, pair.logits(ids), **CLOSE)


def test_padding_positions_give_no_nan(llama, prompt):
    model = llama.executor.model
    kv = KvPool(model.shape, 2, 64, torch.float32, CPU)
    rows = (_prompt(0, prompt(1), padded_to=64), _prompt(1, prompt(64)))
    assert model.forward(lay_out(Step(rows), torch.float32, CPU), kv).isfinite().all()
    assert all(keys.isfinite().all() and values.isfinite().all() for keys, values in kv.read(0, 2, 64))


def _runs(*rows):
    batch = lay_out(Step(rows), torch.float32, CPU)
    return [(run.first_slot, run.slots, run.rows, run.context) for run in batch.decodes], batch.kernel_padding


def test_rows_of_nearby_slots_attend_in_one_call_and_its_unused_keys_are_counted(prompt):
    together = _runs(_decode(0, prompt(10)), _decode(1, prompt(4)), _decode(3, prompt(30)))
    assert together == ([(0, 4, 3, 30)], 4 * 30 - 10 - 4 - 30)


def test_a_wide_gap_between_slots_is_not_attended_over(prompt):
    assert _runs(_decode(0, prompt(50)), _decode(12, prompt(50))) == ([(0, 1, 1, 50), (12, 1, 1, 50)], 0)


def test_a_neighbour_of_a_very_different_context_has_its_own_call():
    slots = _runs(*(_decode(slot, (5,) * n) for slot, n in enumerate((500, 20, 30, 500))))
    assert slots == ([(0, 1, 1, 500), (1, 2, 2, 30), (3, 1, 1, 500)], 10)


@pytest.mark.parametrize("call_in_keys", [0, 10**9])
def test_however_rows_are_put_into_calls_the_logits_are_those_of_transformers(
    pair, prompt, monkeypatch, call_in_keys
):
    monkeypatch.setattr("lab.engine.batch.CALL_IN_KEYS", call_in_keys)
    model, slots = pair.executor.model, (6, 1, 2, 4)
    kv = KvPool(model.shape, 7, 256, torch.float32, CPU)
    asked = dict(zip(slots, ([*prompt(n), 7] for n in (250, 8, 240, 40)), strict=True))
    prompts = Step(tuple(_prompt(slot, ids[:-1]) for slot, ids in asked.items()))
    model.forward(lay_out(prompts, torch.float32, CPU), kv)
    batch = lay_out(Step(tuple(_decode(slot, ids) for slot, ids in asked.items())), torch.float32, CPU)
    assert len(batch.decodes) == (1 if call_in_keys else 4)
    for got, ids in zip(model.forward(batch, kv), asked.values(), strict=True):
        torch.testing.assert_close(got, pair.logits(ids), **CLOSE)


def test_a_ragged_step_costs_its_tokens_and_a_padded_one_its_rectangle(prompt):
    ragged = lay_out(Step((_prompt(0, prompt(5)), _prompt(1, prompt(59)))), torch.float32, CPU)
    padded = lay_out(Step((_prompt(0, prompt(5), 59), _prompt(1, prompt(59)))), torch.float32, CPU)
    assert [(block.rows, block.length) for block in ragged.prompts] == [(1, 5), (1, 59)]
    assert [(block.rows, block.length) for block in padded.prompts[:1]] == [(2, 59)]
    assert (len(ragged.ids), ragged.kernel_padding) == (64, 0)
    assert (len(padded.ids), padded.kernel_padding) == (128, 10)


def test_decoding_alone_is_never_rounded(prompt):
    batch = lay_out(Step((_decode(0, prompt(9)), _decode(1, prompt(9)))), torch.float32, CPU)
    assert (len(batch.ids), batch.kernel_padding) == (2, 0)


def test_rounding_goes_up_wastes_little_and_leaves_few_sizes():
    sizes = {rounded(n) for n in range(1, 4097)}
    assert all(n <= rounded(n) < max(n + 16, n * 9 / 8) for n in range(1, 4097))
    assert all(rounded(n) == n for n in sizes)
    assert len(sizes) <= 16 * 5
