"""How long will a run take, and how long must it wait? A guess from what runs here took, and it says so.

Not a model of the device: the work of a run is counted in tokens, less for those computed together, and its
price is what the latest finished runs paid. Before any run has finished nothing is known, and nothing is said.
"""

from __future__ import annotations

import math

from lab.run.lanes import RunSpec

SHARING = 0.75  # a step of 8 rows costs less than eight of one row, and more than one


def work_of(spec: RunSpec) -> float:
    """Steps it would take, in steps of one row, summed over the lanes; answers as long as allowed."""
    tokens = sum(r.output_tokens or r.max_new_tokens for r in spec.workload.requests)
    requests = len(spec.workload.requests)
    return sum(tokens / math.pow(min(p.max_batch_size, requests), SHARING) for p in spec.policies)


def seconds_per_work(finished: list[tuple[RunSpec, float]]) -> float | None:
    """The price of work, from (spec, seconds at work) of finished runs; None where there are none."""
    work = sum(work_of(spec) for spec, _ in finished)
    return sum(seconds for _, seconds in finished) / work if work else None
