"""What a run leaves behind: frozen facts in columns. What can be derived from them is not stored here.

A run in progress is a growing prefix of the same type, so live view, replay and export read one thing.
Refuses to know metrics (see lab.analysis) and files (see lab.run.record_file).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Literal, NamedTuple

from lab.scheduling.policy import Policy
from lab.workload.request import Workload


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the numbers come from.

    kind                  "measured" here, "predicted" by a cost model, or "recorded" earlier or elsewhere
    weight_bytes          bytes of weights that one decode step reads
    kv_bytes_per_token    bytes of KV cache per token of context
    read_bytes_per_s      measured read bandwidth of the device's memory; None where it was not measured
    reference_step_s      seconds of this run's reference decode steps, each one; empty where none were run
    free_eos              answers ended by themselves instead of at a forced length
    """

    kind: Literal["measured", "predicted", "recorded"]
    model: str
    revision: str
    dtype: str
    device: str
    threads: int
    versions: tuple[tuple[str, str], ...]
    commit: str
    created: str
    weight_bytes: int
    kv_bytes_per_token: int
    read_bytes_per_s: float | None = None
    reference_step_s: tuple[float, ...] = ()
    free_eos: bool = False


@dataclass(frozen=True, slots=True)
class Columns:
    """The steps of one lane. A *run* is one or more identical decode steps in a row; measured runs have one.

    Per run:           start (s), repeat (steps in the run), group, reason (of the decision behind it),
                       cold, kernel_padding (positions a step), kv_reserved (tokens, of its group), rows (count)
    Per step:          seconds
    Per row of a run:  slot, request, fed (tokens fed in one step), past (tokens cached before the run's
                       first step), padded_to (tokens the row costs a step), live
    Per row and step:  token (id emitted); empty in predicted lanes
    """

    start: tuple[float, ...] = ()
    repeat: tuple[int, ...] = ()
    group: tuple[int, ...] = ()
    reason: tuple[str, ...] = ()
    cold: tuple[bool, ...] = ()
    kernel_padding: tuple[int, ...] = ()
    kv_reserved: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    seconds: tuple[float, ...] = ()
    slot: tuple[int, ...] = ()
    request: tuple[int, ...] = ()
    fed: tuple[int, ...] = ()
    past: tuple[int, ...] = ()
    padded_to: tuple[int, ...] = ()
    live: tuple[bool, ...] = ()
    token: tuple[int, ...] = ()

    def __add__(self, later: Columns) -> Columns:
        """These columns followed by `later` ones of the same lane."""
        return Columns(*(getattr(self, f.name) + getattr(later, f.name) for f in fields(Columns)))


class RowFact(NamedTuple):
    """One row of a run; see Columns."""

    slot: int
    request: int
    fed: int
    past: int
    padded_to: int
    live: bool

    @property
    def prefill(self) -> bool:
        return self.past == 0


class Run(NamedTuple):
    """One run of steps, read back from the columns. `tokens[k]` are the tokens of step k, one per row."""

    start: float
    seconds: tuple[float, ...]
    group: int
    reason: str
    cold: bool
    kernel_padding: int
    kv_reserved: int
    rows: tuple[RowFact, ...]
    tokens: tuple[tuple[int, ...], ...]

    @property
    def prefill(self) -> bool:
        """Some prompt is computed: the run is a dispatch (and a single step)."""
        return any(row.prefill for row in self.rows)

    @property
    def ends(self) -> tuple[float, ...]:
        """The time at which each step of the run ended."""
        return tuple(accumulate(self.seconds, initial=self.start))[1:]


@dataclass(frozen=True, slots=True)
class LaneRecord:
    """One policy at work on the workload.

    kv_budget  tokens of KV cache that each group may reserve
    refused    (request id, sentence) of requests that could never run here
    stop_ids   tokens that end an answer whose length is not forced; each counts as its answer's last token
    scattered  each batch was spread over the groups, which waited for each other after every step
    """

    policy: Policy
    groups: int
    kv_budget: int
    refused: tuple[tuple[int, str], ...] = ()
    columns: Columns = Columns()
    stop_ids: tuple[int, ...] = ()
    scattered: bool = False

    @property
    def name(self) -> str:
        return self.policy.name

    def runs(self) -> Iterator[Run]:
        c = self.columns
        step = row = token = 0
        for i, (repeat, rows) in enumerate(zip(c.repeat, c.rows, strict=True)):
            facts = tuple(map(RowFact._make, zip(*(col[row : row + rows] for col in _row_columns(c)), strict=True)))
            cells = c.token[token : token + repeat * rows]
            yield Run(
                start=c.start[i],
                seconds=c.seconds[step : step + repeat],
                group=c.group[i],
                reason=c.reason[i],
                cold=c.cold[i],
                kernel_padding=c.kernel_padding[i],
                kv_reserved=c.kv_reserved[i],
                rows=facts,
                tokens=tuple(cells[k * rows : (k + 1) * rows] for k in range(repeat)),
            )
            step, row, token = step + repeat, row + rows, token + repeat * rows

    def answers(self) -> dict[int, list[int]]:
        """The tokens that each request was given, by request id; nothing in predicted lanes."""
        given: dict[int, list[int]] = {}
        for run in self.runs():
            for tokens in run.tokens:
                for row, token in zip(run.rows, tokens, strict=False):
                    if row.live:
                        given.setdefault(row.request, []).append(token)
        return given


def _row_columns(c: Columns) -> tuple[tuple[int, ...], ...]:
    return (c.slot, c.request, c.fed, c.past, c.padded_to, c.live)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Everything that a run's readers need.

    logit_gaps  (request id, gap) where an answer differs between lanes: the gap between the two largest
                logits at the first differing token, from a solo pass after the run
    token_bytes (token id, bytes in hexadecimal) of every token in prompts and answers, so that text can be
                read without the tokenizer; empty for a model without one
    """

    provenance: Provenance
    workload: Workload
    lanes: tuple[LaneRecord, ...]
    logit_gaps: tuple[tuple[int, float], ...] = ()
    token_bytes: tuple[tuple[int, str], ...] = ()

    def lane(self, name: str) -> LaneRecord:
        for lane in self.lanes:
            if lane.name == name:
                return lane
        raise ValueError(f"no lane {name!r} in this record; it has {', '.join(x.name for x in self.lanes)}")
