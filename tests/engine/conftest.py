"""Small random models of every family, transformers' own answers to hold ours against, and a driver of steps."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from lab.engine.machine import free_memory
from lab.engine.model import Model
from lab.engine.step import ONE_STEP, Row, Step
from lab.engine.torch_executor import TorchExecutor
from lab.engine.weights import load_weights

VOCAB = 97
EOS = 2
FAMILIES = ("llama", "qwen2", "qwen3")


def _reference(family):
    """A transformers model small enough to run in milliseconds; uneven sizes, so that mixed-up axes show."""
    common = {
        "vocab_size": VOCAB,
        "hidden_size": 96,
        "intermediate_size": 160,
        "num_hidden_layers": 3,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "max_position_embeddings": 256,
        "eos_token_id": EOS,
        "rope_parameters": {"rope_type": "default", "rope_theta": 5000.0},
    }
    torch.manual_seed(7)
    if family == "llama":
        model = LlamaForCausalLM(LlamaConfig(**common, tie_word_embeddings=True))
    elif family == "qwen2":
        model = Qwen2ForCausalLM(Qwen2Config(**common, tie_word_embeddings=False))
    else:
        model = Qwen3ForCausalLM(Qwen3Config(**common, head_dim=16, tie_word_embeddings=True))
    with torch.no_grad():
        for parameter in model.parameters():  # biases and norms too: zeros and ones would hide a missing one
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


@dataclass
class Pair:
    """The same weights in transformers (`reference`) and in the lab (`executor`), saved in `folder`."""

    folder: Path
    reference: PreTrainedModel
    executor: TorchExecutor
    known: dict = field(default_factory=dict)

    def logits(self, ids):
        """transformers' logits after these tokens, alone and without a cache."""
        with torch.no_grad():
            return self.reference(torch.tensor([ids])).logits[0, -1]

    def greedy(self, prompt, count):
        """transformers' greedy answer, recomputed from the start for each token (and kept for the next test)."""
        answer = self.known.setdefault(tuple(prompt), [])
        while len(answer) < count:
            answer.append(int(self.logits([*prompt, *answer]).argmax()))
        return answer[:count]


@pytest.fixture(scope="session")
def pairs(tmp_path_factory):
    def pair(family):
        folder, reference = tmp_path_factory.mktemp(family), _reference(family)
        reference.save_pretrained(folder)
        cpu = torch.device("cpu")
        model = Model(load_weights(str(folder)), torch.float32, cpu)
        return Pair(folder, reference, TorchExecutor(model, lambda: free_memory(cpu)))

    return {family: pair(family) for family in FAMILIES}


@pytest.fixture(params=FAMILIES)
def pair(request, pairs):
    return pairs[request.param]


@pytest.fixture(scope="session")
def llama(pairs):
    return pairs["llama"]


class Driver:
    """Plays a lane by hand: requests join and leave when the test says so."""

    def __init__(self, executor, slots=8, tokens=128):
        executor.allocate(slots, tokens)
        self.executor = executor
        self.prompts = {}
        self.answers = {}
        self.slot = {}
        self.running = []

    def step(self, join=(), padded_to=None):
        """One step of all running requests and `join`: (request, prompt, slot) each."""
        rows = [self._decode(r) for r in self.running]
        for request, prompt, slot in join:
            self.prompts[request], self.slot[request], self.answers[request] = tuple(prompt), slot, []
            rows.append(Row(slot, request, tuple(prompt), 0, True, padded_to or len(prompt)))
            self.running.append(request)
        outcome = self.executor.run(Step(tuple(rows)), ONE_STEP)
        for request, token in zip(self.running, outcome.tokens[0], strict=True):
            self.answers[request].append(token)
        return outcome

    def _decode(self, request):
        past = len(self.prompts[request]) + len(self.answers[request]) - 1
        return Row(self.slot[request], request, (self.answers[request][-1],), past, True, 1)

    def leave(self, request):
        self.running.remove(request)
        self.executor.release([self.slot[request]])

    def alone(self, prompt, count):
        """The answer of a request that nothing else runs beside."""
        assert not self.running
        self.step([("alone", prompt, 0)])
        while len(self.answers["alone"]) < count:
            self.step()
        self.leave("alone")
        return self.answers.pop("alone")


@pytest.fixture(scope="session")
def driver():
    return Driver


@pytest.fixture(scope="session")
def prompt():
    """prompt(n, seed) -> n token ids of the tiny models, never end-of-text."""

    def make(length, seed=0):
        generator = torch.Generator().manual_seed(1000 * length + seed)
        return tuple(torch.randint(3, VOCAB, (length,), generator=generator).tolist())

    return make
