"""How fast is the engine, and is what continuous batching gains what the list allows?

Everything that is compared runs in one process, in alternating order, with repeats; figures are medians and
spreads (largest minus smallest). The lab's modes run on the wall clock, its own loop included, like the peers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from lab.engine.progress import Progress
from lab.engine.scripted import ScriptedExecutor
from lab.engine.step import ONE_STEP, Row, Step
from lab.experiments.bench_list import BATCH_SIZE, bench_workload, bound
from lab.experiments.turns import in_turns
from lab.run.clock import RealClock
from lab.run.job import REFERENCE_STEPS
from lab.run.lane import Lane
from lab.run.lanes import RunSpec, build_lanes
from lab.run.provenance import provenance_of
from lab.run.race import to_the_end
from lab.run.record import Provenance
from lab.scheduling.policy import MODES, mode
from lab.workload.request import Request, Workload

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
CONTEXT = 128
STEP_REPEATS = 15
PREFILL_TOKENS = 512


class Timing(NamedTuple):
    """Of several repeats: the median, and the largest minus the smallest."""

    median: float
    spread: float


@dataclass(frozen=True, slots=True)
class BenchResult:
    """modes, peers         useful tokens per second
    step_s               seconds of a decode step by batch size at context 128
    peer_step_s          the same of peers that are timed by the step
    floor_share          bytes that such a step must read ÷ measured read bandwidth ÷ its median seconds
    bound                see bench_list
    loop_overhead        by mode, the share of the wall clock that is not measured step time; median
    loop_steps_per_s     single steps of 8 rows that the loop makes on a device that takes no time
    """

    provenance: Provenance
    modes: Mapping[str, Timing]
    peers: Mapping[str, Timing]
    step_s: Mapping[int, Timing]
    peer_step_s: Mapping[str, Mapping[int, Timing]]
    floor_share: Mapping[int, float]
    prefill_tokens_per_s: float
    bound: float
    loop_overhead: Mapping[str, float]
    loop_steps_per_s: float
    settings: Mapping[str, str]
    skipped: Mapping[str, str]


def timing(samples: list[float]) -> Timing:
    return Timing(median(samples), max(samples) - min(samples))


def time_modes_and_peers(
    engine: Engine,
    workload: Workload,
    peers: Mapping[str, Callable[[], None]],
    overhead: Mapping[str, list[float]],
    repeats: int,
    report: Progress,
) -> dict[str, Timing]:
    """Useful tokens per second of the lab's four modes and of each peer, by name; fills in `overhead` of modes."""
    runs = {name: _mode_run(engine, workload, name, overhead[name]) for name in MODES}
    runs.update({name: _timed(peer) for name, peer in peers.items()})
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for done, name in enumerate(peers):
        report("warming_up", done, len(peers))
        peers[name]()
    for name in in_turns(list(runs), repeats, "bench", report):
        seconds[name].append(runs[name]())
    useful = sum(r.output_tokens or 0 for r in workload.requests)
    return {name: timing([useful / s for s in samples]) for name, samples in seconds.items()}


def _timed(work: Callable[[], None]) -> Callable[[], float]:
    """The work, giving its seconds."""

    def run() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return run


def _mode_run(engine: Engine, workload: Workload, name: str, overhead: list[float]) -> Callable[[], float]:
    """A run of one mode, giving its seconds; set up and warmed up before these begin, as the peers are."""
    spec = RunSpec(workload, (mode(name, BATCH_SIZE),))

    def run() -> float:
        [lane] = build_lanes(spec, workload, engine, RealClock)
        start = time.perf_counter()
        to_the_end([lane])
        elapsed = time.perf_counter() - start
        overhead.append(1 - sum(lane.record().columns.seconds) / elapsed)
        return elapsed

    return run


def loop_steps_per_s(steps: int = 20_000) -> float:
    """Single steps a second of the loop alone: decide, lay out, book, on a device that takes no time; B = 8."""
    each = steps // BATCH_SIZE
    requests = tuple(Request(i, 0.0, each, prompt_ids=(1,) * 16, output_tokens=each) for i in range(BATCH_SIZE * 8))
    lane = Lane(
        mode("continuous", BATCH_SIZE),
        Workload("loop", requests),
        ScriptedExecutor(lambda step: 0.001),
        kv_budget=10**9,
        context=10**9,
    )
    start = time.perf_counter()
    to_the_end([lane])
    return len(lane.record().columns.seconds) / (time.perf_counter() - start)


def time_steps(engine: Engine, report: Progress) -> dict[int, Timing]:
    """Seconds of a decode step of B rows, each with 128 tokens cached, in rounds over all batch sizes."""
    executor = engine.executor
    executor.allocate(max(BATCH_SIZES), CONTEXT + 1)
    prompt = tuple(i % engine.shape.vocab for i in range(CONTEXT))
    for slot in range(max(BATCH_SIZES)):
        executor.run(Step((Row(slot, slot, prompt, 0, True, CONTEXT),)), ONE_STEP)
    samples: dict[int, list[float]] = {size: [] for size in BATCH_SIZES}
    for repeat in range(STEP_REPEATS + 1):
        report("steps", repeat, STEP_REPEATS + 1)
        for size in BATCH_SIZES:
            rows = tuple(Row(slot, slot, (1,), CONTEXT, True, 1) for slot in range(size))
            for _ in range(3):
                seconds = executor.run(Step(rows), ONE_STEP).seconds[0]
                if repeat:  # the first round warms up
                    samples[size].append(seconds)
    return {size: timing(s) for size, s in samples.items()}


def time_prefill(engine: Engine) -> float:
    """Prompt tokens per second, of one prompt of 512 tokens; median of five after a warm-up."""
    tokens = min(PREFILL_TOKENS, engine.shape.context)
    engine.executor.allocate(1, tokens)
    step = Step((Row(0, 0, tuple(i % engine.shape.vocab for i in range(tokens)), 0, True, tokens),))
    seconds = [engine.executor.run(step, ONE_STEP).seconds[0] for _ in range(6)][1:]
    return tokens / median(seconds)


def floor_shares(engine: Engine, step_s: Mapping[int, Timing]) -> dict[int, float]:
    """The share of each step's time that reading weights and KV cache once at full speed would take."""
    bandwidth = engine.read_bandwidth()
    return {
        size: (engine.weight_bytes + size * CONTEXT * engine.kv_bytes_per_token) / bandwidth / seconds.median
        for size, seconds in step_s.items()
    }


def bench(
    engine: Engine,
    peers: Mapping[str, Callable[[Workload], None]],
    step_peers: Mapping[str, Callable[[], Mapping[int, Timing]]],
    settings: Mapping[str, str],
    skipped: Mapping[str, str],
    repeats: int,
    report: Progress,
) -> BenchResult:
    """All of it. `peers` answer the list; `step_peers` time their own decode steps."""
    workload = bench_workload(engine.shape.vocab)
    named = {name: (lambda peer=peer: peer(workload)) for name, peer in peers.items()}
    step_s = time_steps(engine, report)
    peer_step_s = {name: run() for name, run in step_peers.items()}
    prefill = time_prefill(engine)
    overhead: dict[str, list[float]] = {name: [] for name in MODES}
    tok_s = time_modes_and_peers(engine, workload, named, overhead, repeats, report)
    return BenchResult(
        provenance=replace(
            provenance_of(engine, engine.executor.reference_steps(REFERENCE_STEPS)),
            read_bytes_per_s=engine.read_bandwidth(),
        ),
        modes={name: tok_s[name] for name in MODES},
        peers={name: tok_s[name] for name in peers},
        step_s=step_s,
        peer_step_s=peer_step_s,
        floor_share=floor_shares(engine, step_s),
        prefill_tokens_per_s=prefill,
        bound=bound(workload, {size: t.median for size, t in step_s.items()}, prefill),
        loop_overhead={name: median(shares) for name, shares in overhead.items()},
        loop_steps_per_s=loop_steps_per_s(),
        settings=settings,
        skipped=skipped,
    )
