"""The real model in bf16, held to transformers: as close to its fp32 logits as transformers' own bf16 comes."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from lab.analysis.checks import check_lane
from lab.engine.batch import lay_out
from lab.engine.kv import KvPool
from lab.engine.loaded import load_engine
from lab.engine.step import Row, Step
from lab.run.job import RunSpec, run_job
from lab.scheduling.policy import MODES, mode
from lab.workload.request import Request, Workload

QUESTIONS = ("Why is the sky blue?", "Name a fruit.", "Say hello in three languages, then count from one to ten.")


@pytest.fixture(scope="module")
def bf16(cache_of_the_tests):
    return load_engine("smollm2-135m", device="cpu", dtype="bf16")


@pytest.fixture(scope="module")
def peers(bf16):
    """transformers on the same weights: (fp32, bf16)."""
    kinds = (torch.float32, torch.bfloat16)
    return [AutoModelForCausalLM.from_pretrained(bf16.folder, dtype=kind).eval() for kind in kinds]


@pytest.fixture(scope="module")
def answered(bf16):
    """The questions under four modes."""
    ids = [bf16.coder.encode(question) for question in QUESTIONS]
    requests = (Request(i, 0.02 * i, 16, prompt_ids=p, output_tokens=16 - i) for i, p in enumerate(ids))
    spec = RunSpec(Workload("test", tuple(requests)), tuple(mode(name, 2) for name in MODES))
    return run_job(spec, bf16)


def _logits(peer, ids):
    with torch.inference_mode():
        return peer(torch.tensor([ids])).logits[0].float()


@torch.inference_mode()
def _ours(engine, ids):
    """Logits after every token of `ids` but the first four: a prompt, then one decode step a token."""
    model = engine.executor.model
    kv = KvPool(model.shape, 1, len(ids), model.dtype, model.device)
    steps = [Row(0, 0, ids[:5], 0, True, 5)] + [Row(0, 0, (ids[n],), n, True, 1) for n in range(5, len(ids))]
    batches = [lay_out(Step((row,)), model.dtype, model.device) for row in steps]
    return torch.cat([model.forward(batch, kv) for batch in batches]).float()


@pytest.mark.parametrize("question", QUESTIONS)
def test_logits_are_as_near_to_fp32_as_those_of_transformers_in_bf16(bf16, peers, question):
    ids = bf16.coder.encode(question)
    exact, rounded = (_logits(peer, ids)[4:] for peer in peers)
    ours = _ours(bf16, ids)
    assert (ours - exact).abs().mean() <= 1.25 * (rounded - exact).abs().mean()
    assert (ours - exact).abs().max() <= 1.5 * (rounded - exact).abs().max()


def test_every_identity_of_a_run_holds_in_bf16(answered):
    for lane in answered.lanes:
        check_lane(answered.workload, lane, complete=True)
        assert [len(lane.answers()[i]) for i in range(3)] == [16, 15, 14]


def test_every_token_of_every_mode_is_one_that_fp32_finds_best_but_for_rounding(answered, peers):
    for request in answered.workload.requests:
        for answer in {tuple(lane.answers()[request.id]) for lane in answered.lanes}:
            ids = (*request.prompt_ids, *answer)
            exact, rounded = (_logits(peer, ids[:-1])[request.prompt_tokens - 1 :] for peer in peers)
            lost = exact.max(dim=-1).values - exact.gather(1, torch.tensor(answer).unsqueeze(1)).squeeze(1)
            assert lost.max() <= 2 * (rounded - exact).abs().max()
