"""A step laid out for the device: all rows' tokens in one flat list, and which of them attend together.

The linear layers see the flat list, so a ragged step costs its tokens and a padded one its rectangle. Kernels
are set up per size of that list, so a list with prompts in it is rounded up to one of few sizes, in every mode
alike. Where the layout covers more than was asked for, it counts what: `kernel_padding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import NamedTuple

import torch
from torch import Tensor

from lab.engine.rounding import rounded
from lab.engine.step import Row, Step

# One more attention call takes as long as attending to about so many masked keys (see docs/performance.md).
CALL_IN_KEYS = 400
# With more tokens than these torch's operators are quicker: norms and gates are loops on one core.
MOST_LOOPED = 128
# µs that a key costs a row's own loop, and torch's attention, on one core; µs that calling the latter costs.
LOOPED_KEY = {torch.bfloat16: 0.08, torch.float32: 0.125}
TORCH_KEY = {torch.bfloat16: 0.2, torch.float32: 0.26}
TORCH_CALL = 40.0
# Prompts of more tokens than this, squared and summed, for each core, attend faster by torch: it multiplies blocks.
MOST_SQUARES = 5000


class PromptBlock(NamedTuple):
    """Prompts of one (padded) length: flat tokens `start` … `start + rows × length`, attending causally."""

    start: int
    rows: int
    length: int


class DecodeRun(NamedTuple):
    """Decoding rows whose slots lie close together, attending in one call: flat tokens `start` … `start + rows`.

    The call covers `slots` slots from `first_slot` on. Where some of them are not in this step, `stand_ins` [slots]
    names the row whose query is used there and `picked` [rows] the results that count; None where all are.
    Every slot attends to its first `context` positions; `mask` [slots, 1, 1, context] adds -inf beyond a row's
    own context, and is None where all are equally long. With `gathered` [slots], the slots may lie anywhere:
    these are copied together, and `first_slot` says nothing.
    """

    start: int
    rows: int
    first_slot: int
    slots: int
    context: int
    mask: Tensor | None
    stand_ins: Tensor | None
    picked: Tensor | None
    gathered: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What one forward pass computes.

    ids, positions, slots  [tokens] each: the token, its place in its request, and its slot. Decoding rows
                           come first, by slot, then prompts, then filler, which has no slot
    last                   [rows], in the step's order: where each row's last real token lies in the flat list
    kernel_padding         positions computed beyond those asked for: filler, and unused keys of decoding runs
    looped                 few enough tokens for lab.engine.loops
    alone                  so many of the first tokens attend by such a loop, one by one; `decodes` and `prompts`
                           are what is left
    """

    ids: Tensor
    positions: Tensor
    slots: Tensor
    last: Tensor
    prompts: tuple[PromptBlock, ...]
    decodes: tuple[DecodeRun, ...]
    kernel_padding: int
    looped: bool = False
    alone: int = 0


def lay_out(step: Step, dtype: torch.dtype, device: torch.device, loop_cores: int = 0) -> Batch:
    """The step's rows as one batch; `dtype` is that of the attention masks. `loop_cores` is on how many cores loops
    attend, 0 where there are none."""
    order = sorted(range(len(step.rows)), key=lambda i: (step.rows[i].prefill, step.rows[i].slot))
    ids: list[int] = []
    positions: list[int] = []
    slots: list[int] = []
    last = [0] * len(order)
    for i in order:
        row = step.rows[i]
        last[i] = len(ids) + len(row.ids) - 1
        ids += row.ids + (0,) * (row.padded_to - len(row.ids))
        positions += range(row.past, row.past + row.padded_to)
        slots += [row.slot] * row.padded_to
    decoding = [step.rows[i] for i in order if not step.rows[i].prefill]
    lengths = [step.rows[i].padded_to for i in order if step.rows[i].prefill]
    filler = rounded(len(ids)) - len(ids) if lengths else 0
    asked = sum(row.past + 1 for row in decoding)
    looped = loop_cores > 0 and len(ids) + filler <= MOST_LOOPED
    alone = 0
    if looped and rows_alone_win(asked, dtype, torch.get_num_threads(), loop_cores):
        short = sum(length * length for length in lengths) <= MOST_SQUARES * loop_cores
        alone = len(ids) if short else len(decoding)
    runs = [] if alone else _decode_runs(decoding, dtype, device)
    masked = sum(run.slots * run.context for run in runs) - asked if runs else 0
    blocks = () if alone > len(decoding) else _prompt_blocks(lengths + [filler] * (filler > 0), len(decoding))
    return Batch(
        ids=torch.tensor(ids + [0] * filler, device=device),
        positions=torch.tensor(positions + [0] * filler, device=device),
        slots=torch.tensor(slots, device=device),
        last=torch.tensor(last, device=device),
        prompts=blocks,
        decodes=tuple(runs),
        kernel_padding=filler + masked,
        looped=looped,
        alone=alone,
    )


def rows_alone_win(keys: int, dtype: torch.dtype, threads: int, loop_cores: int) -> bool:
    """Is it quicker that each decoding row attends by a loop of its own than all in torch's calls?"""
    return keys * LOOPED_KEY[dtype] / loop_cores <= TORCH_CALL + keys * TORCH_KEY[dtype] / threads


def _prompt_blocks(lengths: Sequence[int], start: int) -> tuple[PromptBlock, ...]:
    """Neighbours of equal length share a block: all rows of a rectangle, and whoever is equal by chance."""
    blocks = []
    for length, group in groupby(lengths):
        block = PromptBlock(start, len(list(group)), length)
        blocks.append(block)
        start += block.rows * length
    return tuple(blocks)


def _decode_runs(rows: Sequence[Row], dtype: torch.dtype, device: torch.device) -> list[DecodeRun]:
    """Rows, given by slot, in runs: a row joins the run before it where the keys wasted cost less than a call."""
    runs: list[list[Row]] = []
    for row in rows:
        if runs and _keys(runs[-1] + [row]) - _keys(runs[-1]) - _keys([row]) <= CALL_IN_KEYS:
            runs[-1].append(row)
        else:
            runs.append([row])
    starts = accumulate((len(run) for run in runs), initial=0)
    return [_run(run, start, dtype, device) for run, start in zip(runs, starts, strict=False)]


def _keys(run: Sequence[Row]) -> int:
    """Keys that one call for these rows attends to: every slot between them, every one as long as the longest."""
    return (run[-1].slot - run[0].slot + 1) * (max(row.past for row in run) + 1)


def _run(rows: Sequence[Row], start: int, dtype: torch.dtype, device: torch.device) -> DecodeRun:
    first, last = rows[0].slot, rows[-1].slot
    by_slot = {row.slot: i for i, row in enumerate(rows)}
    stand_ins = [by_slot.get(slot, 0) for slot in range(first, last + 1)]
    lengths = [rows[i].past + 1 for i in stand_ins]
    holes = len(stand_ins) > len(rows)
    return DecodeRun(
        start=start,
        rows=len(rows),
        first_slot=first,
        slots=len(stand_ins),
        context=max(lengths),
        mask=_mask(lengths, max(lengths), dtype, device),
        stand_ins=torch.tensor(stand_ins, device=device) if holes else None,
        picked=torch.tensor([row.slot - first for row in rows], device=device) if holes else None,
    )


def _mask(lengths: Sequence[int], context: int, dtype: torch.dtype, device: torch.device) -> Tensor | None:
    """From lengths, never from token ids: an end-of-text inside a prompt is a token like any other."""
    if min(lengths) == context:
        return None
    hidden = torch.arange(context, device=device) >= torch.tensor(lengths, device=device).unsqueeze(1)
    mask = torch.zeros(hidden.shape, dtype=dtype, device=device).masked_fill_(hidden, float("-inf"))
    return mask.view(len(lengths), 1, 1, context)
