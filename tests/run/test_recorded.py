"""A lane run again with its recorded seconds decides everything as it did."""

from dataclasses import replace

import numpy as np
import pytest

from lab.run.recorded import departure, replay
from lab.scheduling.order import Order
from lab.scheduling.policy import MODES, Policy, mode
from lab.workload.request import Request, Workload

CONTEXT = 10_000
ORDER = Order(boundaries=(6,), by_priority=True, ageing=0.5)
POLICIES = [
    *(mode(name, 4, 0.05) for name in MODES),
    *(mode(name, 3, 0.2, ORDER) for name in MODES),
    Policy("ragged", 4, 0.1, refill=False, padded=False, window_starts_at="pickup", run_at_once_below=2),
]


def _workload(seed=3, follows=False) -> Workload:
    rng = np.random.default_rng(seed)
    arrivals = np.sort(rng.uniform(0, 2, 24))
    return Workload(
        "noisy",
        tuple(
            Request(
                i,
                float(arrivals[i]) if not follows or i < 8 else 0.05,
                int(n) + 3,
                prompt_ids=(1,) * int(rng.integers(1, 12)),
                output_tokens=int(n),
                priority=int(rng.integers(0, 3)),
                follows=i - 8 if follows and i >= 8 else None,
            )
            for i, n in enumerate(rng.integers(1, 20, 24))
        ),
    )


def _noisy(lanes, policy, workload, **options):
    rng = np.random.default_rng(5)
    return lanes.run(policy, workload, lambda step: float(rng.gamma(4, 0.004)), **options).record()


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: f"{p.name} {p.order.by_priority}")
@pytest.mark.parametrize("follows", [False, True], ids=["open loop", "closed loop"])
@pytest.mark.parametrize(
    "options",
    [{}, {"kv_budget": 60}, {"groups": 2}, {"groups": 2, "scattered": True}],
    ids=["plain", "little memory", "groups", "scattered"],
)
def test_recorded_step_times_reproduce_every_decision(lanes, policy, follows, options):
    workload = _workload(follows=follows)
    lane = _noisy(lanes, policy, workload, **options)
    assert replay(workload, lane, CONTEXT) == lane
    assert departure(workload, lane, CONTEXT) is None


def test_a_lane_of_long_runs_is_replayed_run_by_run(lanes):
    workload = _workload()
    lane = lanes.run(mode("continuous", 4), workload, many=True).record()
    assert departure(workload, lane, CONTEXT) is None


def test_a_decision_that_comes_out_otherwise_is_said(lanes):
    workload = _workload()
    lane = _noisy(lanes, mode("continuous", 4), workload)
    other = replace(lane, policy=replace(lane.policy, max_batch_size=3))
    assert "the record has" in departure(workload, other, CONTEXT)


def test_a_start_that_does_not_follow_from_the_seconds_is_said(lanes):
    workload = _workload()
    lane = _noisy(lanes, mode("static", 4), workload)
    starts = (*lane.columns.start[:-1], lane.columns.start[-1] + 1e-9)
    moved = replace(lane, columns=replace(lane.columns, start=starts))
    last = len(starts) - 1
    assert departure(workload, moved, CONTEXT) == f"start departs from the record at entry {last}"


def test_what_was_refused_is_refused_again(lanes):
    workload = _workload()
    lane = _noisy(lanes, mode("dynamic", 4), workload, kv_budget=20)
    assert lane.refused
    assert departure(workload, lane, CONTEXT) is None
    assert departure(workload, replace(lane, kv_budget=10), CONTEXT) is not None
