"""Other engines on the same requests, each with the best settings it supports here: what the lab is held against.

Every peer is asked for the same prompts (token ids) and exactly as many tokens of each answer, on the same
weights, dtype and threads. Refuses to know how they are compared.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from lab.workload.request import Request

Peer = Callable[[Sequence[Request]], None]

SETTINGS = {
    "hf_one_by_one": "transformers generate, one request at a time, sdpa attention, dynamic cache",
    "hf_padded": "transformers generate, batches in order of arrival, padded on the left, until the longest answer",
    "hf_generate_batch": "transformers continuous batching through its manager: paged sdpa attention, one page a "
    "request, per-request lengths, as many requests at once as the batch size, no CUDA graphs on a CPU",
}


def transformers_peers(folder: Path, dtype: str, device: torch.device, batch_size: int) -> dict[str, Peer]:
    """The peers of SETTINGS by name; calling one answers all requests, or raises RuntimeError."""
    import transformers

    hf: Any = transformers
    hf.logging.set_verbosity_error()
    hf.logging.disable_progress_bar()
    logging.getLogger("ContinuousBatchingLogger").setLevel(logging.CRITICAL)
    kind = {"fp32": torch.float32, "bf16": torch.bfloat16}[dtype]
    model = hf.AutoModelForCausalLM.from_pretrained(folder, dtype=kind, attn_implementation="sdpa")
    model = model.to(device).eval()
    model.generation_config.eos_token_id = None  # answers have the list's lengths
    return {
        "hf_one_by_one": lambda requests: _padded(model, requests, 1),
        "hf_padded": lambda requests: _padded(model, requests, batch_size),
        "hf_generate_batch": lambda requests: _generate_batch(model, requests, batch_size),
    }


@torch.inference_mode()
def _padded(model: Any, requests: Sequence[Request], batch_size: int) -> None:
    for first in range(0, len(requests), batch_size):
        batch = requests[first : first + batch_size]
        width = max(r.prompt_tokens for r in batch)
        tokens = max(_length(r) for r in batch)
        ids = torch.tensor([[0] * (width - r.prompt_tokens) + list(r.prompt_ids) for r in batch])
        mask = torch.tensor([[0] * (width - r.prompt_tokens) + [1] * r.prompt_tokens for r in batch])
        model.generate(
            ids.to(model.device),
            attention_mask=mask.to(model.device),
            max_new_tokens=tokens,
            do_sample=False,
            pad_token_id=0,
        )


@torch.inference_mode()
def _generate_batch(model: Any, requests: Sequence[Request], batch_size: int) -> None:
    import transformers

    hf: Any = transformers
    longest = max(r.prompt_tokens + _length(r) for r in requests)
    page = 32 * -(-longest // 32)
    rules = hf.GenerationConfig(max_new_tokens=longest, do_sample=False, eos_token_id=-1, pad_token_id=0)
    room = hf.ContinuousBatchingConfig(
        page_size=page,
        num_blocks=batch_size + 2,
        max_batch_tokens=max(512, batch_size * max(r.prompt_tokens for r in requests)),
        max_requests_per_batch=batch_size,
        allow_block_sharing=False,
    )
    manager = model.init_continuous_batching(generation_config=rules, continuous_batching_config=room)
    manager.start()
    try:
        for request in requests:
            manager.add_request(list(request.prompt_ids), max_new_tokens=_length(request), eos_token_id=-1)
        left = len(requests)
        while left:
            result = manager.get_result(timeout=1)
            if result is not None and result.is_finished():
                left -= 1
            elif not manager.is_running():
                raise RuntimeError("transformers' continuous batching stopped before all answers were done")
    finally:
        manager.stop(block=True, timeout=10)
        manager.destroy()


def _length(request: Request) -> int:
    assert request.output_tokens is not None, "peers are given requests of known length"
    return request.output_tokens
