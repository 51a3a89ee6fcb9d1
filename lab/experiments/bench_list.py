"""The fixed list of requests that every engine is timed on, and the ratio that the list itself allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from lab.engine.scripted import ScriptedExecutor
from lab.engine.step import Step
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.scheduling.policy import mode
from lab.workload.request import Request, Workload

REQUESTS = 40
BATCH_SIZE = 8
SHORT, LONG = 8, 96
SHORT_SHARE = 0.75
SEED = 0


def bench_workload(vocab: int, requests: int = REQUESTS) -> Workload:
    """All at t = 0; prompts of 16 to 64 random ids; answers of 8 tokens (75 %) and 96 (25 %), forced."""
    rng = np.random.default_rng(SEED)
    prompts = rng.integers(16, 65, requests)
    outputs = rng.permutation(
        [SHORT] * round(SHORT_SHARE * requests) + [LONG] * round((1 - SHORT_SHARE) * requests)
    )
    return Workload(
        "bench",
        tuple(
            Request(
                id=i,
                arrival=0.0,
                max_new_tokens=int(n),
                prompt_ids=tuple(int(t) for t in rng.integers(0, vocab, p)),
                output_tokens=int(n),
            )
            for i, (p, n) in enumerate(zip(prompts, outputs, strict=True))
        ),
        SEED,
    )


def bound(workload: Workload, step_s: Mapping[int, float], prefill_tokens_per_s: float) -> float:
    """The largest continuous / static ratio that the list allows, from step counts and measured step times.

    Both modes are played with a step that costs what was measured: decode rows between the measured batch
    sizes by interpolation, prompts by their (padded) tokens. What is lost beyond that is the engine's affair.
    """
    sizes = sorted(step_s)

    def seconds(step: Step) -> float:
        decodes = sum(not row.prefill for row in step.rows)
        prompt_tokens = sum(row.padded_to for row in step.rows if row.prefill)
        decode_s = float(np.interp(decodes, sizes, [step_s[b] for b in sizes])) if decodes else 0.0
        return decode_s + prompt_tokens / prefill_tokens_per_s

    return _makespan("static", workload, seconds) / _makespan("continuous", workload, seconds)


def _makespan(name: str, workload: Workload, seconds: Callable[[Step], float]) -> float:
    longest = max(r.prompt_tokens for r in workload.requests) + LONG
    executor = ScriptedExecutor(seconds)
    lane = Lane(mode(name, BATCH_SIZE), workload, executor, kv_budget=BATCH_SIZE * longest, context=longest)
    to_the_end([lane])
    return sum(lane.record().columns.seconds)
