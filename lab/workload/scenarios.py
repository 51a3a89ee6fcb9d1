"""The situations that the lab ships, as a table, and the workload each of them stands for.

`build` is a pure function: the same name, seed, number of requests, rate and prompts give the same
workload. Knows no tokenizer: prompts are text until somebody tokenizes them.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from lab.workload import arrivals
from lab.workload.prompts import clean_prompts, draw, shipped_lines, texts_and_questions
from lab.workload.request import MAX_REQUESTS, Request, Workload
from lab.workload.trace.reading import read_trace_file
from lab.workload.trace.replay import Cut, Replay, cut, workload_of

EQUAL = "equal"
MIN_RATE, MAX_RATE = 0.01, 1000.0
LONG_ANSWER = 64  # of the few in `mixed`
CLUSTER_SPAN = 0.05  # seconds; the requests of a cluster arrive within one default window

TRACES = Path(__file__).resolve().parents[2] / "assets" / "traces"

Lengths = Callable[[int, np.random.Generator], Sequence[int]]


def _none() -> tuple[str, ...]:
    return ()


def _same(tokens: int) -> Lengths:
    return lambda count, rng: [tokens] * count


_up_to_32 = _same(32)


@dataclass(frozen=True, slots=True)
class Shipped:
    """A trace in `assets/traces`, and how it is replayed; a number of requests and a rate come on top."""

    file: str
    replay: Replay


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row of the table.

    requests  how many there are by default, 1 to `at_most`
    rate      mean requests per second by default; None: all at once. A rate makes Poisson arrivals,
              or, with `clusters`, groups of that many (smallest, largest) within 50 ms
    pool      the shipped prompts it draws from; empty: the visitor's own
    lengths   draws `max_new_tokens`; `forced` makes every answer exactly so long
    long_prompts  tokens of the prompts whose answers are LONG_ANSWER long; None: as they are
    trace     real arrivals and lengths instead, all of them forced; a rate then plays it faster or slower
    """

    name: str
    about: str
    requests: int
    rate: float | None
    pool: Callable[[], tuple[str, ...]] = _none
    lengths: Lengths = _up_to_32
    at_most: int = MAX_REQUESTS
    clusters: tuple[int, int] | None = None
    forced: bool = False
    long_prompts: int | None = None
    trace: Shipped | None = None


def _between(shortest: int, longest: int) -> Lengths:
    return lambda count, rng: [int(n) for n in rng.integers(shortest, longest + 1, count)]


def _mostly_short(count: int, rng: np.random.Generator) -> Sequence[int]:
    """Many answers of 8 to 64 tokens, most of them near the short end."""
    return [min(64, 8 + int(n)) for n in rng.exponential(18.0, count)]


def _few_long(count: int, rng: np.random.Generator) -> Sequence[int]:
    """One answer in six has 64 tokens (at least one), the others 4 to 8."""
    lengths = rng.integers(4, 9, count)
    lengths[rng.permutation(count)[: max(1, round(count / 6))]] = LONG_ANSWER
    return [int(n) for n in lengths]


def _questions() -> tuple[str, ...]:
    return shipped_lines("questions")


def _quick() -> tuple[str, ...]:
    return shipped_lines("quick")


def _alike() -> tuple[str, ...]:
    return shipped_lines("equal")


SCENARIOS = {
    s.name: s
    for s in (
        Scenario("chat", "People ask short questions, several a second.", 12, 8.0, _questions, _same(32)),
        Scenario("corpus", "A nightly job: a pile of texts and questions, all there at once.",
                 48, None, texts_and_questions, _mostly_short),
        Scenario(EQUAL, "Every request takes the same work, as in image generation.",
                 16, None, _alike, _same(32), forced=True),
        Scenario("day", "A busy service: 8 to 16 requests within 50 ms, then a pause.",
                 48, 4.0, _quick, _between(4, 8), clusters=(8, 16)),
        Scenario("night", "The same service at night: one or two requests at a time.",
                 12, 1.0, _quick, _between(4, 8), clusters=(1, 2)),
        Scenario("mixed", "A few long requests, prompt and answer, among many short ones.",
                 24, None, _questions, _few_long, forced=True, long_prompts=160),
        Scenario("conversation", "A chat service at Azure: real arrivals and lengths, all tokens divided by 16.",
                 32, None, trace=Shipped("azure2023_conv_from_60s.csv", Replay(length_scale=1 / 16))),
        Scenario("code", "A coding service at Azure: real bursts and lengths, all tokens divided by 16.",
                 32, None, trace=Shipped("azure2023_code_from_840s.csv", Replay(length_scale=1 / 16))),
        Scenario("own", "Your own prompts.", 1, None, at_most=16),
    )
}  # fmt: skip


def build(
    name: str,
    *,
    seed: int = 0,
    requests: int | None = None,
    rate: float | None = None,
    prompts: Sequence[str] | None = None,
) -> Workload:
    """The workload of a scenario; what is None takes the table's default.

    `rate` in requests per second; `prompts` belongs to "own" alone. Raises ValueError for what is out of bounds.
    """
    if name not in SCENARIOS:
        raise ValueError(f"scenario is {name!r}; it must be one of {', '.join(SCENARIOS)}")
    if seed < 0:
        raise ValueError(f"seed is {seed}; it must be 0 or more")
    scenario = SCENARIOS[name]
    own = _own_prompts(scenario, prompts, requests)
    count = _check_count(scenario, requests) if own is None else len(own)
    rate = _check_rate(scenario, rate)
    if scenario.trace is not None:
        return _replayed(scenario.trace, name, seed, count, rate)
    # Three streams, so that another rate changes the times and leaves questions and lengths as they are.
    prompt_rng, length_rng, time_rng = np.random.default_rng((seed, zlib.crc32(name.encode()))).spawn(3)
    texts = own if own is not None else draw(scenario.pool(), count, prompt_rng)
    lengths = scenario.lengths(count, length_rng)
    times = _times(scenario, count, rate, time_rng)
    made = tuple(
        Request(
            i,
            t,
            n,
            prompt=text,
            prompt_length=scenario.long_prompts if n == LONG_ANSWER else None,
            output_tokens=n if scenario.forced else None,
        )
        for i, (t, n, text) in enumerate(zip(times, lengths, texts, strict=True))
    )
    return Workload(name, made, seed)


def _replayed(trace: Shipped, name: str, seed: int, count: int, rate: float | None) -> Workload:
    whole = _shipped(trace)
    sped_up = 1.0 if rate is None else rate * whole.span / len(whole.arrivals)
    return workload_of(cut(whole.trace, replace(trace.replay, requests=count)), name, seed, sped_up=sped_up)


@cache
def _shipped(trace: Shipped) -> Cut:
    return cut(read_trace_file(TRACES / trace.file), trace.replay)


def equalise(workload: Workload) -> Workload:
    """The same tokenized workload with prompts of one length.

    A request whose prompt is not as long as the first one's asks the first one's question instead: cutting
    tokens off would ask something that nobody wrote. ValueError where the workload is not tokenized.
    """
    if not workload.tokenized:
        raise ValueError(f"workload {workload.name!r} has no prompt tokens yet; tokenize it first")
    first = workload.requests[0]
    made = tuple(
        r
        if r.prompt_tokens == first.prompt_tokens
        else replace(r, prompt=first.prompt, prompt_ids=first.prompt_ids)
        for r in workload.requests
    )
    return replace(workload, requests=made)


def _own_prompts(scenario: Scenario, prompts: Sequence[str] | None, requests: int | None) -> tuple[str, ...] | None:
    if scenario.name != "own":
        if prompts is not None:
            raise ValueError(f"scenario {scenario.name!r} brings its own prompts; only 'own' takes a visitor's")
        return None
    own = clean_prompts(prompts or ())
    if requests not in (None, len(own)):
        raise ValueError(f"requests is {requests}, but there are {len(own)} prompts; leave requests out")
    return own


def _check_count(scenario: Scenario, requests: int | None) -> int:
    count = scenario.requests if requests is None else requests
    if not 1 <= count <= scenario.at_most:
        raise ValueError(f"requests is {count}; scenario {scenario.name!r} takes 1 to {scenario.at_most}")
    return count


def _check_rate(scenario: Scenario, rate: float | None) -> float | None:
    if rate is None:
        return scenario.rate
    if math.isnan(rate) or not MIN_RATE <= rate <= MAX_RATE:
        raise ValueError(f"rate is {rate} requests per second; it must lie between {MIN_RATE} and {MAX_RATE:g}")
    return rate


def _times(scenario: Scenario, count: int, rate: float | None, rng: np.random.Generator) -> arrivals.Times:
    if rate is None:
        return arrivals.all_at_once(count)
    if scenario.clusters is None:
        return arrivals.poisson(count, rate, rng)
    smallest, largest = scenario.clusters
    sizes: list[int] = []
    while sum(sizes) < count:
        sizes.append(min(int(rng.integers(smallest, largest + 1)), count - sum(sizes)))
    # Clusters cannot come closer than back to back, however high the rate.
    gap = max(0.0, (smallest + largest) / 2 / rate - CLUSTER_SPAN)
    return arrivals.bursty(sizes, CLUSTER_SPAN, gap, rng)
