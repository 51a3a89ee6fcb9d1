"""The sweep over loads on scripted devices: against the theory of queues, and against figures reckoned by hand."""

import math

import numpy as np
import pytest

from lab.analysis.load import never_fills
from lab.engine.scripted import ScriptedExecutor
from lab.experiments.load import SHARES, closed_loop, cut_of, open_loop
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.run.record import Provenance
from lab.scheduling.policy import MODES, mode
from lab.workload import arrivals
from lab.workload.request import Request, Workload

ORIGIN = Provenance("measured", "m", "1", "fp32", "cpu", 1, (), "", "2026-01-01T00:00:00+00:00", 1, 1)


def step_seconds(step) -> float:
    """A step costs 20 ms, and 2 ms more for each row."""
    return 0.02 + 0.002 * len(step.rows)


class Served:
    """A scripted device, which remembers what it was asked."""

    def __init__(self, seconds=step_seconds):
        self.seconds = seconds
        self.asked = []

    def __call__(self, policy, workload):
        executor = ScriptedExecutor(self.seconds, many=True)
        lane = Lane(policy, workload, executor, kv_budget=10**9, context=10**9)
        to_the_end([lane])
        self.asked.append((policy.name, workload))
        return lane.record()


def requests(count=96, seed=1, length=lambda rng: int(rng.integers(4, 20))):
    rng = np.random.default_rng(seed)
    times = arrivals.poisson(count, 1.0, rng)
    lengths = [length(rng) for _ in times]
    made = (
        Request(i, t, n, prompt_ids=(1,), output_tokens=n)
        for i, (t, n) in enumerate(zip(times, lengths, strict=True))
    )
    return Workload("poisson", tuple(made), seed)


def loop_of(users, seed, questions=96, think=0.0, tokens=10):
    made = (
        Request(i, think if i >= users else 0.0, tokens, prompt_ids=(1,), output_tokens=tokens,
                follows=i - users if i >= users else None)
        for i in range(max(questions // users, 6) * users)
    )  # fmt: skip
    return Workload("closed", tuple(made), seed)


def silent(phase, done, total):
    pass


def swept(*names, workloads=None, seats=8, window=0.05, serve=None, **options):
    policies = [mode(name, seats, window) for name in names]
    return open_loop(policies, workloads or [requests()], serve or Served(), ORIGIN, silent, **options)


def test_littles_law_holds_in_every_cell_of_every_mode():
    sweep = swept(*MODES)
    points = [p for c in sweep.curves for cell in (*c.cells, c.at_once) for p in cell.points]
    assert len(points) == 4 * (len(SHARES) + 1)
    assert max(p.little.error for p in points) < 1e-9
    assert all(p.little.present > 0 for p in points)


def test_without_batching_no_latency_falls_as_the_rate_grows():
    """On common random numbers this holds request by request, so it holds for every percentile."""
    [curve] = swept("none").curves
    for value in (lambda p: p.e2e.p50, lambda p: p.e2e.p99, lambda p: p.e2e.mean, lambda p: p.queue_delay.max):
        found = [cell.middle(value) for cell in curve.cells]
        assert found == sorted(found)
        assert found[0] < found[-1]


def test_without_batching_latency_is_that_of_an_mg1_queue():
    """E[T] = E[S] + lam E[S^2] / (2 (1 - rho)), Pollaczek and Khinchine."""
    workload = requests(1000, seed=5)
    service = np.array([0.022 * r.output_tokens for r in workload.requests])
    rates = [share / service.mean() for share in (0.3, 0.5, 0.6)]
    [curve] = swept("none", workloads=[workload], rates=rates).curves
    for rate, cell in zip(rates, curve.cells, strict=True):
        rho = rate * service.mean()
        expected = service.mean() + rate * (service**2).mean() / (2 * (1 - rho))
        assert cell.mean_e2e == pytest.approx(expected, rel=0.05)
        assert cell.throughput == pytest.approx(rate * service.mean() / 0.022, rel=0.05)


def test_the_knee_of_equal_work_one_at_a_time_lies_where_theory_says():
    workload = requests(600, seed=6, length=lambda rng: 10)
    capacity = 1 / 0.22
    shares = [0.2, 0.3, 0.4, 0.5, 0.586, 0.7, 0.8, 0.9, 1.2]
    [curve] = swept("none", workloads=[workload], rates=[s * capacity for s in shares]).curves
    assert shares[curve.knee] in (0.5, 0.586, 0.7)  # flat at its top: 2 - sqrt(2)
    assert curve.knee_is_inside


def test_rates_are_shares_of_what_each_mode_gives_with_all_requests_at_once():
    serve = Served()
    sweep = swept("none", "continuous", serve=serve)
    none, continuous = sweep.curves
    assert none.capacity == pytest.approx(1 / 0.022)  # one row a step
    assert continuous.capacity == pytest.approx(8 / 0.036, rel=0.03)  # eight, without the draining end
    mean = np.mean([r.output_tokens for r in requests().requests])
    for curve in sweep.curves:
        assert [c.load for c in curve.cells] == pytest.approx(
            [s * curve.capacity / mean for s in sorted(SHARES)], rel=0.01
        )


def test_below_saturation_a_mode_gives_what_is_asked_and_above_it_its_capacity():
    for curve in swept("none", "static", "continuous", workloads=[requests(240)]).curves:
        mean = np.mean([r.output_tokens for r in requests(240).requests])
        for cell in curve.cells:
            asked = cell.load * mean
            if asked < 0.75 * curve.capacity:
                assert cell.throughput == pytest.approx(asked, rel=0.12)
            assert cell.throughput < 1.05 * curve.capacity
        assert curve.cells[-1].throughput == pytest.approx(curve.capacity, rel=0.1)


def test_every_rate_has_the_same_requests_at_stretched_times():
    serve = Served()
    swept("none", "static", serve=serve, rates=[1.0, 4.0])
    contents = {tuple((r.id, r.output_tokens) for r in w.requests) for _, w in serve.asked}
    assert len(contents) == 1
    gaps = [np.diff([r.arrival for r in w.requests]) for _, w in serve.asked if w.requests[-1].arrival]
    assert gaps[0] == pytest.approx(4 * gaps[2])
    assert len(gaps) == 4


def test_repeats_have_their_own_seeds_and_a_cell_is_their_median():
    sweep = swept("none", workloads=[requests(seed=s) for s in (1, 2, 3)], rates=[2.0])
    assert sweep.seeds == (1, 2, 3)
    [cell] = sweep.curves[0].cells
    assert len(cell.points) == 3
    assert cell.mean_e2e == sorted(p.e2e.mean for p in cell.points)[1]


def test_when_time_runs_out_the_ends_of_the_curve_are_there_and_it_says_what_is_not():
    whole = swept("none")
    spent = whole.curves[0].at_once.points[0].busy_s  # every run without batching takes as long
    some = swept("none", budget_s=5.5 * spent)
    assert (len(whole.curves[0].cells), whole.left_out) == (len(SHARES), 0)
    assert (len(some.curves[0].cells), some.left_out) == (4, len(SHARES) - 4)
    few = swept("none", budget_s=0.0)
    assert [c.load for c in few.curves[0].cells] == pytest.approx(
        [s * few.curves[0].capacity / 11.2 for s in (0.5, 0.9, 2.0)], rel=0.1
    )


def test_progress_counts_every_run_and_says_how_long_it_will_take():
    told = []
    open_loop([mode("none")], [requests()], Served(), ORIGIN, lambda *args: told.append(args), rates=[1.0, 2.0])
    assert [done for _, done, _ in told] == [0, 1, 2]
    assert {total for _, _, total in told} == {3}
    busy = sum(0.022 * r.output_tokens for r in requests().requests)
    assert [phase for phase, _, _ in told] == [
        "load",
        f"load, about {2 * busy:.0f} s left",
        f"load, about {busy:.0f} s left",
    ]


def test_a_rate_that_is_none_is_refused():
    with pytest.raises(ValueError, match="rate is -1"):
        swept("none", rates=[-1.0])


def test_a_batch_of_the_largest_mode_is_cut_at_either_end():
    assert cut_of([mode("none"), mode("static", 8)], 32) == 8
    assert cut_of([mode("none")], 32) == 4


def looped(*names, users, seats=8, window=0.2, think=0.0):
    policies = [mode(name, seats, window) for name in names]
    return closed_loop(
        policies, lambda n, seed: loop_of(n, seed, think=think), [0], Served(), ORIGIN, silent,
        users=users, think_s=think,
    )  # fmt: skip


def test_in_a_closed_loop_throughput_rises_with_the_users_and_stays_at_the_capacity():
    none, static, continuous = looped("none", "static", "continuous", users=[1, 2, 4, 8, 16, 32]).curves
    assert [c.throughput for c in none.cells] == pytest.approx([1 / 0.022] * 6, rel=0.01)
    found = [c.throughput for c in continuous.cells]
    assert found[:4] == pytest.approx([n / (0.02 + 0.002 * n) for n in (1, 2, 4, 8)], rel=0.05)
    assert found[4:] == pytest.approx([8 / 0.036] * 2, rel=0.05)
    assert static.capacity == pytest.approx(8 / 0.036, rel=0.05)
    assert all(p.little.error < 1e-9 for curve in (none, static, continuous) for c in curve.cells for p in c.points)


def test_in_a_closed_loop_users_divide_among_thinking_and_waiting():
    """Little's law for the house and for those at home: N = X (R + Z), within the rounds that are cut."""
    think = 0.5
    [curve] = looped("none", users=[1, 2, 4], think=think).curves
    for users, cell in zip((1, 2, 4), curve.cells, strict=True):
        assert cell.throughput / 10 * (cell.mean_e2e + think) == pytest.approx(users, rel=0.06)


def test_a_single_user_waits_the_whole_window_for_nobody_and_eight_do_not_wait():
    alone, eight = looped("dynamic", users=[1, 8]).curves[0].cells
    assert never_fills(mode("dynamic", 8, 0.2), alone.load)
    assert alone.points[0].batch == 1
    assert alone.points[0].queue_delay.p50 == pytest.approx(0.2)
    assert alone.mean_e2e == pytest.approx(0.2 + 10 * 0.022)  # pure delay
    assert not never_fills(mode("dynamic", 8, 0.2), eight.load)
    assert eight.points[0].batch == 8
    assert eight.points[0].queue_delay.max == pytest.approx(0.0, abs=1e-9)


def test_the_setting_of_a_sweep_is_its_requests_and_modes_without_steps():
    sweep = swept("none", "static")
    assert [lane.name for lane in sweep.setting.lanes] == ["none", "static"]
    assert all(lane.columns.start == () for lane in sweep.setting.lanes)
    assert (sweep.setting.workload, sweep.setting.provenance) == (requests(), ORIGIN)
    assert (sweep.loop, sweep.cut, math.isinf(sweep.left_out)) == ("open", 12, False)
