"""Predicted lanes against queueing theory: the cost model that a formula assumes goes in, the formula comes out.

Every lane here is run by the predicted executor with a cost built for its formula: fixed seeds, stated tolerances.
Symbols: lam arrivals per second, m mean answer length, B seats, t(b) = tau0 + alpha b seconds of a step of b rows.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest

from lab.analysis.timeline import request_times
from lab.engine.cost_model import KNOTS, Cost, CostModel, PredictedExecutor, Sizes
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.run.record import LaneRecord
from lab.scheduling.order import Order
from lab.scheduling.policy import Policy, mode
from lab.workload import arrivals
from lab.workload.request import Request, Workload

WARM_UP = 500


def linear(tau0: float, alpha: float) -> CostModel:
    return CostModel((tau0, 0.0, 0.0, 0.0, 0.0, *[alpha] * len(KNOTS)))


def predicted(policy: Policy, times, lengths, cost: Cost, prompts=None) -> tuple[Workload, LaneRecord]:
    prompts = [1] * len(times) if prompts is None else prompts
    requests = tuple(
        Request(i, float(t), int(n), prompt_ids=(1,) * int(p), output_tokens=int(n))
        for i, (t, n, p) in enumerate(zip(times, lengths, prompts, strict=True))
    )
    workload = Workload("oracle", requests)
    lane = Lane(policy, workload, PredictedExecutor(cost, 10**12), kv_budget=10**9, context=10**9)
    to_the_end([lane])
    return workload, lane.record()


def sojourns(*lane) -> np.ndarray:
    return np.array([r.e2e for r in request_times(*lane)])[WARM_UP:]


# ---- static, Poisson arrivals: an exact chain


def static_sojourn(lam: float, seats: int, duration: float, most: int = 160) -> float:
    """X' = max(X - B, 0) + Poisson(lam D); E[T] = E[area] / (lam E[cycle]), X waiting just after a departure.

    Area of a cycle: the fill, sum of j / lam for j from X to B - 1; then max(X, B) D + lam D^2 / 2.
    """
    new = [math.exp(-lam * duration + k * math.log(lam * duration) - math.lgamma(k + 1)) for k in range(most)]
    move = np.zeros((most, most))
    area, cycle = np.zeros(most), np.zeros(most)
    for x in range(most):
        left = max(x - seats, 0)
        for k, chance in enumerate(new):
            move[x, min(left + k, most - 1)] += chance
        fill = sum(j / lam for j in range(x, seats))
        area[x] = fill + max(x, seats) * duration + lam * duration**2 / 2
        cycle[x] = max(seats - x, 0) / lam + duration
    law = np.linalg.matrix_power(move / move.sum(axis=1, keepdims=True), 4096)[0]
    return float(law @ area / (lam * (law @ cycle)))


def test_static_batches_under_poisson_arrivals_are_an_exact_chain():
    lam, seats = 5.0, 8
    formula = static_sojourn(lam, seats, 0.5 + 0.05 * seats)
    assert formula == pytest.approx(1.616, abs=0.001)
    times = arrivals.poisson(24_000, lam, np.random.default_rng(31))
    found = sojourns(*predicted(mode("static", seats), times, [1] * len(times), linear(0.5, 0.05)))
    assert found.mean() == pytest.approx(formula, rel=0.015)


# ---- continuous with a cap: birth and death


def capped_sojourn(lam: float, m: int, seats: int, step: Callable[[int], float], most: int = 400) -> float:
    """Death rate min(n, B) / (m t(min(n, B))); to it an arrival's wait for the rest of a step, busy or not."""
    law = [1.0]
    for n in range(1, most):
        at_work = min(n, seats)
        law.append(law[-1] * lam * m * step(at_work) / at_work)
    shares = np.array(law) / sum(law)
    number = float(shares @ np.arange(most))
    busy = 1 - shares[0]
    return number / lam + busy * step(round(min(number, seats))) / 2


@pytest.mark.parametrize(("lam", "seats", "checked"), [(2.5, 8, 2.791), (4.0, 16, 2.766), (4.8, 16, 3.590)])
def test_continuous_batching_with_a_cap_is_a_birth_and_death_chain(lam, seats, checked):
    """Geometric answers, m = 64, 30 ms + 1 ms a row."""
    m = 64
    formula = capped_sojourn(lam, m, seats, lambda b: 0.03 + 0.001 * b)
    assert formula == pytest.approx(checked, rel=0.02)
    rng = np.random.default_rng(32)
    times = arrivals.poisson(10_000, lam, rng)
    lengths = rng.geometric(1 / m, len(times))
    found = sojourns(*predicted(mode("continuous", seats), times, lengths, linear(0.03, 0.001)))
    assert found.mean() == pytest.approx(formula, rel=0.05)


def test_prompts_that_stall_the_batch_stretch_everybodys_time():
    """E[T] is about s + m (tau0 + alpha) / (1 - lam s - alpha lam m); known to be a few percent low."""
    tau0, alpha, lam, m, prompt = 0.03, 0.001, 4.0, 40, 41
    s = alpha * (prompt - 1)  # what a prompt costs beyond the row that it becomes
    formula = s + m * (tau0 + alpha) / (1 - lam * s - alpha * lam * m)
    rng = np.random.default_rng(33)
    times = arrivals.poisson(8_000, lam, rng)
    lengths = rng.geometric(1 / m, len(times))
    policy = Policy("continuous", 1000, 0.0, refill=True, padded=False, max_num_batched_tokens=10**6)
    found = sojourns(*predicted(policy, times, lengths, linear(tau0, alpha), [prompt] * len(times)))
    assert 0.99 < found.mean() / formula < 1.06


# ---- a budget of tokens a step


class Staircase:
    """t(b) = c + a ceil(b / b0): CodeLlama-34B on an A100-80GB, from Dai et al."""

    per_key = 0.0
    c, a, b0 = 0.01128, 0.03547, 128

    def seconds(self, sizes: Sizes) -> float:
        return self.c + self.a * math.ceil(sizes.positions / self.b0)


BUDGET, PROMPT, ANSWER = 512, 8, 9  # a request is 16 tokens of steps: its prompt, and 8 tokens that are fed again
FASTEST = BUDGET / 0.15316  # tokens per second with every step full


def _budgeted(load: float, requests: int) -> tuple[Workload, LaneRecord]:
    lam = load * FASTEST / (PROMPT + ANSWER - 1)
    policy = Policy("continuous", BUDGET, 0.0, refill=True, padded=False, max_num_batched_tokens=BUDGET)
    times = arrivals.poisson(requests, lam, np.random.default_rng(34))
    return predicted(policy, times, [ANSWER] * requests, Staircase(), [PROMPT] * requests)


def test_below_the_boundary_of_a_token_budget_the_queue_stays_short():
    workload, lane = _budgeted(0.9, 12_000)
    waits = [r.queue_delay for r in request_times(workload, lane)]
    assert max(sum(row.fed for row in run.rows) for run in lane.runs()) <= BUDGET
    assert np.mean(waits[8000:]) < 2 * np.mean(waits[2000:6000]) + 0.2


@pytest.mark.parametrize("load", [1.1, 1.2])
def test_above_it_the_backlog_grows_at_the_rate_that_exceeds_it(load):
    """By lam (m_p + m_d) - b_max / t(b_max) tokens per second, but for what a whole prompt leaves of a budget."""
    workload, lane = _budgeted(load, 16_000)
    last_arrival = workload.requests[-1].arrival
    start, end = 0.2 * last_arrival, 0.95 * last_arrival
    fed = sum(
        len(run.seconds) * sum(row.fed for row in run.rows) for run in lane.runs() if start <= run.start < end
    )
    rate = fed / (end - start)
    assert FASTEST * (BUDGET - PROMPT + 1) / BUDGET * 0.99 < rate < FASTEST * 1.01
    arrived = sum(start <= r.arrival < end for r in workload.requests) * (PROMPT + ANSWER - 1)
    backlog = (arrived - fed) / (end - start)
    assert backlog == pytest.approx((load - 1) * FASTEST, abs=0.04 * FASTEST)


# ---- capacities


TAU0, ALPHA, SEATS, MOST = 0.03, 0.002, 8, 40
LONGEST = MOST * SEATS / (SEATS + 1) + 0.5  # mean longest of 8 uniform answers, nearly


def _capacity(policy: Policy, count: int = 2400) -> float:
    """Requests per second of a burst."""
    lengths = np.random.default_rng(35).integers(1, MOST + 1, count)
    workload, lane = predicted(policy, [0.0] * count, lengths, linear(TAU0, ALPHA))
    return count / max(r.last_token for r in request_times(workload, lane))


def test_capacities_are_seats_over_what_a_batch_takes():
    """none 1 / (m t(1)); static B / (E[max] t(B)), without its dead rows B / (tau0 E[max] + alpha B m);
    continuous B / (tau0 m + alpha B m)."""
    m = (1 + MOST) / 2
    longest = MOST - sum((k / MOST) ** SEATS for k in range(1, MOST))
    assert longest == pytest.approx(LONGEST, rel=0.01)
    ragged = Policy("static -padded", SEATS, math.inf, refill=False, padded=False)
    found = {p.name: _capacity(p) for p in (mode("none"), mode("static", SEATS), ragged, mode("continuous", SEATS))}
    expected = {
        "none": 1 / (m * (TAU0 + ALPHA)),
        "static": SEATS / (longest * (TAU0 + ALPHA * SEATS)),
        "static -padded": SEATS / (TAU0 * longest + ALPHA * SEATS * m),
        "continuous": SEATS / (TAU0 * m + ALPHA * SEATS * m),
    }
    assert found == pytest.approx(expected, rel=0.02)
    assert found["continuous"] / found["static"] == pytest.approx(longest / m, rel=0.02)


def test_what_continuous_gains_over_static_shrinks_where_rows_cost_more_than_steps():
    def gain(tau0, alpha):
        ragged = Policy("ragged", SEATS, math.inf, refill=False, padded=False)
        lengths = np.random.default_rng(36).integers(1, MOST + 1, 2000)
        ends = {}
        for policy in (ragged, mode("continuous", SEATS)):
            lane = predicted(policy, [0.0] * 2000, lengths, linear(tau0, alpha))
            ends[policy.name] = max(r.last_token for r in request_times(*lane))
        return ends["ragged"] / ends["continuous"]

    assert gain(0.03, 0.0) > 1.6
    assert gain(0.001, 0.01) == pytest.approx(1.0, abs=0.03)


# ---- bins of known length


@pytest.mark.parametrize(("seats", "bins", "quoted"), [(8, 3, 0.41), (32, 3, 0.48), (32, 8, 0.74)])
def test_bins_of_known_length_gain_what_order_statistics_say(seats, bins, quoted):
    """Saturated static batches, uniform answers, k equal bins: (1 + g) / (1 + g / k), g = (B - 1) / (B + 1).
    Prompts are as long as answers here, and cost nothing, so that bins of prompts are bins of answers."""
    longest, count = 240, seats * 100
    lengths = np.random.default_rng(37).integers(1, longest + 1, count)
    edges = tuple(longest * i // bins for i in range(1, bins))
    order = Order(boundaries=(edges[0] + 1, *edges[1:]), bucket_wait_limit=1e9)
    steps = linear(1.0, 0.0)
    policies = mode("static", seats), mode("static", seats, order=order)
    ends = [
        max(r.last_token for r in request_times(*predicted(p, [0.0] * count, lengths, steps, lengths)))
        for p in policies
    ]
    g = (seats - 1) / (seats + 1)
    formula = (1 + g) / (1 + g / bins)
    assert formula - 1 == pytest.approx(quoted, abs=0.01)
    assert ends[0] / ends[1] == pytest.approx(formula, rel=0.04)
