"""What the device computed for one lane, counted: steps, rows, positions, seconds. Knows no arrivals."""

from __future__ import annotations

from dataclasses import dataclass

from lab.run.record import LaneRecord, Run


@dataclass(slots=True)
class Work:
    """Sums over the steps of a lane, all groups together.

    row_steps       rows computed, each once a step; dead_row_steps: those of finished requests
    live_row_s      seconds x live rows
    busy_s          seconds computed (two groups at once count twice)
    prompt_positions, padding   positions of the prompts as computed, and how many of them are padding
    decode_*        of steps without any prompt: how many, their seconds, KV tokens read for live rows
    """

    steps: int = 0
    admitting_steps: int = 0
    cold_steps: int = 0
    busy_s: float = 0.0
    live_row_s: float = 0.0
    row_steps: int = 0
    dead_row_steps: int = 0
    prompt_positions: int = 0
    padding: int = 0
    kernel_padding: int = 0
    decode_steps: int = 0
    decode_s: float = 0.0
    decode_context: int = 0


def work_done(lane: LaneRecord) -> Work:
    work = Work()
    for run in lane.runs():
        _count(work, run)
    return work


def _count(work: Work, run: Run) -> None:
    repeat, seconds = len(run.seconds), sum(run.seconds)
    live = [row for row in run.rows if row.live]
    prompts = [row for row in run.rows if row.prefill]
    work.steps += repeat
    work.admitting_steps += run.prefill
    work.cold_steps += repeat * run.cold
    work.busy_s += seconds
    work.live_row_s += seconds * len(live)
    work.row_steps += repeat * len(run.rows)
    work.dead_row_steps += repeat * (len(run.rows) - len(live))
    work.prompt_positions += sum(row.padded_to for row in prompts)
    work.padding += sum(row.padded_to - row.fed for row in prompts)
    work.kernel_padding += repeat * run.kernel_padding
    if not prompts:
        work.decode_steps += repeat
        work.decode_s += seconds
        # Step k of the run attends to past + 1 + k tokens in each row.
        work.decode_context += sum(repeat * (row.past + 1) + repeat * (repeat - 1) // 2 for row in live)
