"""The loop against queueing theory: each mode is a known queue, and its mean waits have formulas.

The device is scripted, the seeds are fixed. A mean agrees with its formula when it lies within three standard
errors (batch means, 25 batches), and those must be small enough for a wrong rule to be noticed.
Symbols: lam arrivals per second, m mean answer length, B seats, W window, t(b) seconds of a step of b rows.
"""

import heapq
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.analysis.checks import check_lane
from lab.analysis.series import batches
from lab.analysis.timeline import RequestTimes, request_times
from lab.engine.step import Horizon, Outcome, Step
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.run.record import LaneRecord
from lab.scheduling.policy import Policy, mode
from lab.workload import arrivals
from lab.workload.request import Request, Workload

WARM_UP = 500  # requests at the beginning, when the queue is still too short


class Predicted:
    """Runs as many steps as it may, each taking `seconds(step)`; gives no tokens."""

    def __init__(self, seconds: Callable[[Step], float]) -> None:
        self._seconds = seconds

    def run(self, step: Step, horizon: Horizon) -> Outcome:
        duration, steps = self._seconds(step), 1
        while steps < horizon.steps and steps * duration < horizon.seconds:
            steps += 1
        return Outcome((duration,) * steps, ((),) * steps)

    def release(self, slots: Sequence[int]) -> None: ...


def serve(
    policy: Policy, times: Sequence[float], lengths: Sequence[int], seconds: Callable[[Step], float]
) -> tuple[Workload, LaneRecord]:
    """Prompts of one token and room for all of them."""
    requests = (
        Request(i, float(t), int(n), prompt_ids=(1,), output_tokens=int(n))
        for i, (t, n) in enumerate(zip(times, lengths, strict=True))
    )
    workload = Workload("oracle", tuple(requests))
    lane = Lane(policy, workload, Predicted(seconds), kv_budget=10**9, context=10**9)
    to_the_end([lane])
    return workload, lane.record()


def served(*lane) -> tuple[RequestTimes, ...]:
    return request_times(*serve(*lane))


def assert_mean(values: Sequence[float], formula: float, *, error: float = 0.015, bias: float = 0.0) -> None:
    """The mean is the formula's within 3 standard errors, and one of these is at most `error` of it.
    `bias` is how far the formula itself may be off, as a fraction."""
    data = np.asarray(values)
    means = np.array([part.mean() for part in np.array_split(data, 25)])
    standard_error = means.std(ddof=1) / math.sqrt(len(means))
    assert standard_error <= error * formula, f"too noisy to test anything: {standard_error} of {formula}"
    assert abs(data.mean() - formula) <= 3 * standard_error + bias * formula, f"{data.mean()}, not {formula}"


LENGTHS = {
    "constant": lambda rng, m, n: np.full(n, m),
    "geometric": lambda rng, m, n: rng.geometric(1 / m, n),
    "uniform": lambda rng, m, n: rng.integers(1, 2 * m, n),
}


# ---- no batching: M/G/1


@pytest.mark.parametrize(("law", "variance", "requests"), [("constant", 0, 24_000), ("geometric", 10 * 9, 30_000)])
def test_without_batching_the_wait_is_that_of_an_mg1_queue(law, variance, requests):
    """Wq = lam E[S^2] / (2 (1 - rho)) with S = s + l t(1): Pollaczek and Khinchine."""
    rng = np.random.default_rng(11)
    lam, m, s, t = 1.0, 10, 0.1, 0.04
    times = arrivals.poisson(requests, lam, rng)
    lengths = LENGTHS[law](rng, m, len(times))
    done = served(mode("none"), times, lengths, lambda step: t + s * step.rows[0].prefill)
    mean = s + m * t
    second_moment = mean**2 + t**2 * variance
    waits = [r.queue_delay for r in done]
    assert_mean(waits[WARM_UP:], lam * second_moment / (2 * (1 - lam * mean)), error=0.03)
    assert waits == pytest.approx(lindley(times, s + t * lengths), abs=1e-6)


def lindley(times: Sequence[float], service: Sequence[float]) -> list[float]:
    """Each one waits for what is left of those before."""
    waits, free = [], 0.0
    for arrival, seconds in zip(times, service, strict=True):
        start = max(arrival, free)
        waits.append(start - arrival)
        free = start + seconds
    return waits


def test_without_batching_equal_answers_wait_as_erlang_said():
    """P(Wq <= x) = (1 - rho) sum_k (lam (kD - x))^k / k! exp(-lam (kD - x)), k from 0 to floor(x / D)."""
    lam, service = 0.5, 1.0
    times = arrivals.poisson(15_000, lam, np.random.default_rng(12))
    done = served(mode("none"), times, [4] * len(times), lambda step: service / 4)
    waits = np.array([r.queue_delay for r in done[WARM_UP:]])
    for x in (0.0, 0.5, 1.0, 3.0):
        terms = range(math.floor(x / service) + 1)
        expected = (1 - lam * service) * sum(
            (lam * (k * service - x)) ** k / math.factorial(k) * math.exp(-lam * (k * service - x)) for k in terms
        )
        assert np.mean(waits <= x + 1e-9) == pytest.approx(expected, abs=0.02)


# ---- forming a batch


def test_filling_a_static_batch_takes_b_minus_1_over_2_lam():
    """Request j of the batch waits for B - j more: Erlang(B - j, lam)."""
    lam, seats = 10.0, 8
    times = arrivals.poisson(24_000, lam, np.random.default_rng(13))
    done = served(mode("static", seats), times, [1] * len(times), lambda step: 0.0)
    waits = np.array([r.queue_delay for r in done])
    assert_mean(waits, (seats - 1) / (2 * lam))
    for j, column in enumerate(waits.reshape(-1, seats).T, start=1):
        left = seats - j
        assert column.mean() == pytest.approx(left / lam, rel=0.03, abs=1e-9)
        assert column.std() == pytest.approx(math.sqrt(left) / lam, rel=0.05, abs=1e-9)


def poisson_at_least(k: int, mean: float) -> float:
    return 1 - sum(math.exp(-mean + i * math.log(mean) - math.lgamma(i + 1)) for i in range(k))


@pytest.mark.parametrize(("lam", "mean_size", "wait"), [(20.0, 3.000, 0.0667), (200.0, 15.75, 0.0370)])
def test_a_window_from_the_first_arrival_makes_batches_of_the_stated_size_and_wait(lam, mean_size, wait):
    """N = min(B, 1 + Poisson(lam W)), free server; wait E[N (N - 1)] / (2 lam E[N])."""
    window, seats = 0.1, 16
    chances = [1.0, *(poisson_at_least(k, lam * window) for k in range(1, seats))]  # P(N > k)
    size = sum(chances)
    pairs = sum(2 * k * p for k, p in enumerate(chances))  # E[N (N - 1)]
    assert (size, pairs / (2 * lam * size)) == pytest.approx((mean_size, wait), rel=2e-3)

    times = arrivals.poisson(30_000, lam, np.random.default_rng(14))
    workload, lane = serve(mode("dynamic", seats, window), times, [1] * len(times), lambda step: 0.0)
    assert_mean([len(b) for b in batches(lane)][:-1], size)
    assert_mean([r.queue_delay for r in request_times(workload, lane)][:-seats], pairs / (2 * lam * size))


def test_a_window_without_a_cap_costs_all_of_it_alone_and_half_of_it_in_a_crowd():
    """Wait W (m' + 2) / (2 (m' + 1)) with m' = lam W."""
    window = 0.1
    for lam in (0.5, 20.0, 400.0):
        times = arrivals.poisson(6_000, lam, np.random.default_rng(15))
        done = served(mode("dynamic", 10_000, window), times, [1] * len(times), lambda step: 0.0)
        crowd = lam * window
        assert_mean([r.queue_delay for r in done][:-100], window * (crowd + 2) / (2 * (crowd + 1)))


@pytest.mark.parametrize(
    "policy",
    [mode("static", 5), mode("dynamic", 6, 0.2), mode("dynamic", 100, 0.05)],
    ids=["static", "capped window", "open window"],
)
def test_whatever_closes_a_batch_its_wait_follows_from_its_size(policy):
    """E[N (N - 1)] / (2 lam E[N]) whenever closing looks at no future and takes everyone: a batch of N has
    waited N (N - 1) / (2 lam) in all, on average, whatever the law of N."""
    lam = 25.0
    times = arrivals.poisson(24_000, lam, np.random.default_rng(16))
    workload, lane = serve(policy, times, [1] * len(times), lambda step: 0.0)
    done = request_times(workload, lane)
    expected = np.array([len(batch) * (len(batch) - 1) / (2 * lam) for batch in batches(lane)])
    waited = np.array([sum(done[i].queue_delay for i in batch) for batch in batches(lane)])
    assert_mean(waited - expected + expected.mean(), expected.mean())


# ---- greedy batches


def test_taking_whoever_waits_is_a_chain_with_batches_of_at_most_b():
    """X' = max(X, 1) - b + Poisson(lam D_b) with b = min(max(X, 1), B); E[T] = E[area] / (lam E[cycle])."""
    lam, seats = 5.0, 8
    formula = greedy_sojourn(lam, seats, lambda b: 0.5 + 0.05 * b)
    assert formula == pytest.approx(1.058, rel=2e-3)
    times = arrivals.poisson(24_000, lam, np.random.default_rng(17))
    done = served(mode("dynamic", seats, 0.0), times, [1] * len(times), lambda step: 0.5 + 0.05 * len(step.rows))
    assert_mean([r.e2e for r in done][WARM_UP:], formula)


def greedy_sojourn(lam: float, seats: int, duration: Callable[[int], float], most: int = 200) -> float:
    """Mean time in the system, from the stationary law of how many wait just after a departure."""
    move = np.zeros((most, most))
    area, cycle = np.zeros(most), np.zeros(most)
    for x in range(most):
        present = max(x, 1)
        batch = min(present, seats)
        seconds = duration(batch)
        for new in range(most):
            chance = math.exp(-lam * seconds + new * math.log(lam * seconds) - math.lgamma(new + 1))
            move[x, min(present - batch + new, most - 1)] += chance
        area[x] = present * seconds + lam * seconds**2 / 2
        cycle[x] = seconds + (1 / lam if x == 0 else 0)
    law = np.linalg.matrix_power(move / move.sum(axis=1, keepdims=True), 4096)[0]
    return float(law @ area / (lam * (law @ cycle)))


# ---- continuous: processor sharing


@pytest.mark.parametrize("law", LENGTHS)
def test_continuous_batching_is_processor_sharing_whatever_the_lengths(law):
    """t(b) = tau0 + alpha b, no cap: E[T] = m (tau0 + alpha) / (1 - rho), rho = alpha lam m, and N is negative
    binomial. Steps are finite, so an arrival also waits for the rest of one: t(E[N]) / 2, the device being busy."""
    tau0, alpha, lam, m = 0.03, 0.001, 13.0, 20
    rng = np.random.default_rng(18)
    times = arrivals.poisson(12_000, lam, rng)
    lengths = LENGTHS[law](rng, m, len(times))
    workload, lane = serve(mode("continuous", 12_000), times, lengths, lambda s: tau0 + alpha * len(s.rows))
    done = request_times(workload, lane)[WARM_UP:]
    rho = alpha * lam * m
    sharing = m * (tau0 + alpha) / (1 - rho)
    rest = (tau0 + alpha * lam * sharing) / 2
    assert_mean([r.e2e - r.queue_delay for r in done], sharing, bias=0.005, error=0.02)
    assert_mean([r.queue_delay for r in done], rest, bias=0.02)
    assert_mean([r.tpot for r in done if r.tpot is not None], (tau0 + alpha) / (1 - rho), bias=0.005)
    assert live_rows_law(lane)[:40] == pytest.approx(negative_binomial(rho, tau0 / alpha, 40), abs=0.012)


def negative_binomial(rho: float, r: float, most: int) -> list[float]:
    """P(N = n) = C(n + r, n) rho^n (1 - rho)^(r + 1)."""
    return [
        math.exp(
            math.lgamma(n + r + 1) - math.lgamma(n + 1) - math.lgamma(r + 1)
            + n * math.log(rho) + (r + 1) * math.log1p(-rho)
        )
        for n in range(most)
    ]  # fmt: skip


def live_rows_law(lane: LaneRecord) -> list[float]:
    """The share of the whole time during which so many rows are computed."""
    c = lane.columns
    seconds = np.add.reduceat(c.seconds, np.cumsum((0, *c.repeat[:-1])))
    shares = np.bincount(c.rows, weights=seconds, minlength=100)
    whole = c.start[-1] + seconds[-1]
    shares[0] = whole - seconds.sum()
    return list(shares / whole)


# ---- stragglers


@pytest.mark.parametrize("law", ["geometric", "uniform", "truncated"])
@pytest.mark.parametrize(("seats", "count"), [(4, 1800), (12, 600)])
def test_a_static_batch_takes_as_many_steps_as_the_longest_of_b_answers(law, seats, count):
    """E[max of B] = sum over t >= 0 of 1 - F(t)^B; "truncated" is exponential with mean 128, redrawn above 128."""
    rng = np.random.default_rng(19)
    support = np.arange(0, 2001)
    below = {
        "geometric": 1 - 0.95 ** np.arange(2001),
        "uniform": np.minimum(support, 39) / 39,
        "truncated": np.minimum((1 - np.exp(-support / 128)) / (1 - math.exp(-1)), 1),
    }[law]
    lengths = np.searchsorted(below, rng.random(count * seats))
    lane = serve(mode("static", seats), np.zeros(len(lengths)), lengths, lambda step: 1.0)[1]
    steps = np.diff([run.start for run in lane.runs() if run.prefill])
    assert_mean(steps, float((1 - below**seats).sum()), error=0.02)


def test_the_ratio_of_longest_to_mean_grows_as_harmonic_numbers_for_exponential_answers():
    """H_B: 1.50, 2.083, 2.718 and 3.381 for B = 2, 4, 8 and 16."""
    rng = np.random.default_rng(20)
    for seats, ratio, count in ((2, 1.5, 2000), (4, 2.083, 1200), (8, 2.718, 800), (16, 3.381, 500)):
        lengths = np.ceil(rng.exponential(200, count * seats)).astype(int)
        lane = serve(mode("static", seats), np.zeros(len(lengths)), lengths, lambda step: 1.0)[1]
        assert_mean(np.diff([run.start for run in lane.runs() if run.prefill]), 200 * ratio + 0.5, error=0.02)


# ---- bursts: exact step counts


bursts = st.lists(st.integers(1, 30), min_size=1, max_size=40)


@given(bursts, st.integers(1, 9))
def test_steps_of_a_burst_are_counted_exactly(lengths, seats):
    """All at once, a second a step: the sum; the longest of each batch; list scheduling, in Graham's bounds."""
    at_once = [0.0] * len(lengths)
    ends = {}
    for name in ("none", "static", "continuous"):
        workload, lane = serve(mode(name, seats), at_once, lengths, lambda step: 1.0)
        check_lane(workload, lane, complete=True)
        ends[name] = max(r.last_token for r in request_times(workload, lane))
    total, longest = sum(lengths), max(lengths)
    assert ends["none"] == total
    assert ends["static"] == sum(max(lengths[i : i + seats]) for i in range(0, len(lengths), seats))
    assert ends["continuous"] == list_scheduling(lengths, seats)
    assert max(-(-total // seats), longest) <= ends["continuous"]
    assert seats * ends["continuous"] <= total + (seats - 1) * longest  # whole numbers: the bound is met exactly
    assert ends["continuous"] <= ends["static"]


def list_scheduling(lengths: Sequence[int], seats: int) -> float:
    """The next in order takes the seat that is free first."""
    free = [0.0] * seats
    for n in lengths:
        heapq.heapreplace(free, free[0] + n)
    return max(free)
