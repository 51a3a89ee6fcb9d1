"""How long will a run take, and how long must it wait? A guess from what runs here took, and it says so.

Not a model of the device: the work of a run is counted in tokens, less for those computed together, and its
price is what the latest finished runs paid. Before any run has finished nothing is known, and nothing is said.
"""

from __future__ import annotations

import math

from lab.run.lanes import RunSpec

SHARING = 0.75  # a step of 8 rows costs less than eight of one row, and more than one
PROMPT_TOKEN = 0.05  # of a one-row step: the tokens of a prompt are computed together
RECORDED_PRICE = 0.013  # seconds of a one-row step: SmolLM2-135M in bf16, recorded on two CPU cores


def work_of(spec: RunSpec) -> float:
    """Steps it would take, in steps of one row, summed over the lanes; answers as long as allowed, prompts as
    long as is known, without padding."""
    tokens = sum(r.output_tokens or r.max_new_tokens for r in spec.workload.requests)
    prompts = sum(r.prompt_tokens or r.prompt_length or 0 for r in spec.workload.requests)
    requests = len(spec.workload.requests)
    steps = sum(tokens / math.pow(min(p.max_batch_size, requests), SHARING) for p in spec.policies)
    return steps + len(spec.policies) * prompts * PROMPT_TOKEN


def seconds_per_work(finished: list[tuple[RunSpec, float]]) -> float | None:
    """The price of work, from (spec, seconds at work) of finished runs; None where there are none."""
    work = sum(work_of(spec) for spec, _ in finished)
    return sum(seconds for _, seconds in finished) / work if work else None
