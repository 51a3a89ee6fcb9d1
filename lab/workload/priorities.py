"""Which requests are urgent: a seeded share of any workload. Knows no order of a queue."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lab.workload.request import Workload

URGENT, NORMAL = 0, 1


def with_urgent(workload: Workload, share: float) -> Workload:
    """The same workload with `share` of its requests urgent (rounded to whole ones, drawn by the workload's seed)
    and the others normal. Raises ValueError for a share outside 0 to 1."""
    if not 0 <= share <= 1:
        raise ValueError(f"the share of urgent requests is {share}; it must lie between 0 and 1")
    count = len(workload.requests)
    drawn = np.random.default_rng((workload.seed, count)).permutation(count)[: round(share * count)]
    urgent = {int(i) for i in drawn}
    made = (replace(r, priority=URGENT if r.id in urgent else NORMAL) for r in workload.requests)
    return replace(workload, requests=tuple(made))
