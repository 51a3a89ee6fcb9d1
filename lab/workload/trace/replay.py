"""What of a trace is replayed, and how it is made to fit a small model: pure functions of the trace.

In this order: slice, number of requests, length scale and caps, idle gaps, speed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lab.workload.prompts import draw, texts_and_questions
from lab.workload.request import MAX_REQUESTS, Request, Workload
from lab.workload.trace.reading import Dropped, Trace

MOST = 1_000_000  # of requests, and of a request's tokens
LONGEST_SLICE = 1e10  # seconds; some 300 years
MOST_PROMPT_TOKENS = 1_000_000  # of all prompts of a run together


@dataclass(frozen=True, slots=True)
class Replay:
    """What is asked of a trace; the defaults change nothing.

    start, end          seconds from the first row; a request at `start` is in, one at `end` is out
    requests            the first so many of the slice; None = all
    length_scale        tokens of prompts and answers are multiplied by it, rounded, and are at least 1
    most_prompt_tokens, most_output_tokens  longer ones are cut to it, after scaling; None = no cap
    longest_gap         seconds without an arrival, before the speed-up; longer gaps are shortened to it
    speed_up            2 = twice as many requests per second
    """

    start: float = 0.0
    end: float | None = None
    requests: int | None = None
    length_scale: float = 1.0
    most_prompt_tokens: int | None = None
    most_output_tokens: int | None = None
    longest_gap: float | None = None
    speed_up: float = 1.0

    def __post_init__(self) -> None:
        _check("start", self.start, 0, LONGEST_SLICE, "seconds")
        _check("end", self.end, 0, LONGEST_SLICE, "seconds")
        if self.end is not None and self.end <= self.start:
            raise ValueError(f"the slice ends at {self.end:g} s; it must end after its start, {self.start:g} s")
        _check("length scale", self.length_scale, 0.001, 10, "")
        _check("speed-up", self.speed_up, 0.001, 1_000_000, "")
        _check("longest gap", self.longest_gap, 0, LONGEST_SLICE, "seconds")
        for name, count in (
            ("number of requests", self.requests),
            ("cap of prompts", self.most_prompt_tokens),
            ("cap of answers", self.most_output_tokens),
        ):
            if count is not None and not 1 <= count <= MOST:
                raise ValueError(f"the {name} is {count}; it must be at least 1 and at most {MOST:,}")

    @property
    def said(self) -> str:
        """What is changed, in words; "" for nothing."""
        until = "its end" if self.end is None else f"{self.end:g} s"
        parts = (
            (f"{self.start:g} s to {until}", self.start > 0 or self.end is not None),
            (f"first {self.requests} requests", self.requests is not None),
            (f"lengths × {self.length_scale:g}", self.length_scale != 1),
            (f"prompts ≤ {self.most_prompt_tokens} tokens", self.most_prompt_tokens is not None),
            (f"answers ≤ {self.most_output_tokens} tokens", self.most_output_tokens is not None),
            (f"gaps ≤ {self.longest_gap} s", self.longest_gap is not None),
            (f"{self.speed_up:g} × as fast", self.speed_up != 1),
        )
        return ", ".join(words for words, holds in parts if holds)


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """What of a trace will be replayed, perhaps nothing.

    dropped          rows of the file that will not, by reason; their sum + len(arrivals) = trace.read
    arrivals         (n,) seconds, the first at 0
    prompt, output   (n,) tokens
    prompts_capped, outputs_capped  how many the caps have cut
    in_slice         requests in the slice, those over the number asked for included
    """

    trace: Trace
    replay: Replay
    dropped: Mapping[Dropped, int]
    arrivals: NDArray[np.float64]
    prompt: NDArray[np.int64]
    output: NDArray[np.int64]
    prompts_capped: int
    outputs_capped: int
    in_slice: int

    @property
    def span(self) -> float:
        """Seconds from the first arrival to the last."""
        return float(self.arrivals[-1]) if len(self.arrivals) else 0.0


def cut(trace: Trace, replay: Replay) -> Cut:
    first = int(np.searchsorted(trace.times, replay.start))
    behind = len(trace.times) if replay.end is None else int(np.searchsorted(trace.times, replay.end))
    in_slice = behind - first
    taken = in_slice if replay.requests is None else min(in_slice, replay.requests)
    rows = slice(first, first + taken)
    dropped = {**trace.dropped, Dropped.OUTSIDE: len(trace.times) - in_slice, Dropped.OVER: in_slice - taken}
    prompt, prompts_capped = _lengths(trace.prompt[rows], replay.length_scale, replay.most_prompt_tokens)
    output, outputs_capped = _lengths(trace.output[rows], replay.length_scale, replay.most_output_tokens)
    return Cut(
        trace,
        replay,
        {why: n for why, n in dropped.items() if n},
        _arrivals(trace.times[rows], replay),
        prompt,
        output,
        prompts_capped,
        outputs_capped,
        in_slice,
    )


def workload_of(made: Cut, name: str, seed: int = 0, *, sped_up: float = 1.0) -> Workload:
    """The requests, with lengths forced and prompts that begin with the lab's own texts, drawn by `seed`.

    `sped_up` divides the arrivals once more. ValueError where there is no request, or there are more than a run
    takes, or their prompts are too long together.
    """
    count, tokens = len(made.arrivals), int(made.prompt.sum())
    if not 1 <= count <= MAX_REQUESTS:
        raise ValueError(
            f"{count:,} requests of {made.trace.name} are left; a run takes 1 to {MAX_REQUESTS}: "
            "take another slice, or limit their number"
        )
    if tokens > MOST_PROMPT_TOKENS:
        raise ValueError(
            f"the prompts have {tokens:,} tokens together; a run takes {MOST_PROMPT_TOKENS:,} at most: "
            "scale lengths down, or cap them"
        )
    texts = draw(texts_and_questions(), count, np.random.default_rng(seed))
    columns = zip(made.arrivals / sped_up, made.prompt, made.output, texts, strict=True)
    requests = tuple(
        Request(i, float(t), int(o), prompt=text, prompt_length=int(p), output_tokens=int(o))
        for i, (t, p, o, text) in enumerate(columns)
    )
    said = replace(made.replay, speed_up=made.replay.speed_up * sped_up).said
    source = f"{made.trace.name} ({made.trace.format.name})"
    return Workload(name, requests, seed, f"{source}: {said}" if said else source)


def _lengths(tokens: NDArray[np.int64], scale: float, most: int | None) -> tuple[NDArray[np.int64], int]:
    scaled = np.maximum(1, np.rint(tokens * scale)).astype(np.int64)
    if most is None:
        return scaled, 0
    return np.minimum(scaled, most), int((scaled > most).sum())


def _arrivals(times: NDArray[np.float64], replay: Replay) -> NDArray[np.float64]:
    passed = times - times[:1]
    if replay.longest_gap is not None:
        passed = np.cumsum(np.minimum(np.diff(times, prepend=times[:1]), replay.longest_gap))
    return passed / replay.speed_up


def _check(name: str, value: float | None, least: float, most: float, unit: str) -> None:
    if value is not None and not (math.isfinite(value) and least <= value <= most):
        raise ValueError(f"the {name} is {value}; it must lie between {least:g} and {most:g} {unit}".rstrip())
