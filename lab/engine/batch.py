"""A step laid out for the device: all rows' tokens in one flat list, and which of them attend together.

The linear layers see the flat list, so a ragged step costs its tokens and a padded one its rectangle. Kernels
are set up per size of that list, so a list with prompts in it is rounded up to one of few sizes, in every mode
alike. Where the layout covers more than was asked for, it counts what: `kernel_padding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from lab.engine.step import Row, Step


class PromptBlock(NamedTuple):
    """Prompts of one (padded) length: flat tokens `start` … `start + rows × length`, attending causally."""

    start: int
    rows: int
    length: int


class DecodeRun(NamedTuple):
    """Decoding rows in neighbouring slots: flat tokens `start` … `start + rows`, one a row.

    Each attends to the first `context` positions of its slot; `mask` [rows, 1, 1, context] adds -inf where
    its own context is shorter, and is None where none is.
    """

    start: int
    rows: int
    first_slot: int
    context: int
    mask: Tensor | None


@dataclass(frozen=True, slots=True)
class Batch:
    """What one forward pass computes.

    ids, positions, slots  [tokens] each: the token, its place in its request, and its slot. Decoding rows
                           come first, by slot, then prompts, then filler, which has no slot
    last                   [rows], in the step's order: where each row's last real token lies in the flat list
    kernel_padding         positions computed beyond those asked for: filler, and masked keys in decoding runs
    """

    ids: Tensor
    positions: Tensor
    slots: Tensor
    last: Tensor
    prompts: tuple[PromptBlock, ...]
    decodes: tuple[DecodeRun, ...]
    kernel_padding: int


def rounded(tokens: int) -> int:
    """The next size that kernels are set up for: multiples of 16, and 8 sizes per doubling from 256 on."""
    apart = max(16, (1 << (tokens - 1).bit_length()) // 16)
    return -(-tokens // apart) * apart


def lay_out(step: Step, dtype: torch.dtype, device: torch.device) -> Batch:
    """The step's rows as one batch; `dtype` is that of the attention masks."""
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
    runs = _decode_runs(decoding, dtype, device)
    masked = sum(run.rows * run.context for run in runs) - sum(row.past + 1 for row in decoding)
    return Batch(
        ids=torch.tensor(ids + [0] * filler, device=device),
        positions=torch.tensor(positions + [0] * filler, device=device),
        slots=torch.tensor(slots, device=device),
        last=torch.tensor(last, device=device),
        prompts=_prompt_blocks(lengths + [filler] * (filler > 0), len(decoding)),
        decodes=tuple(runs),
        kernel_padding=filler + masked,
    )


def _prompt_blocks(lengths: Sequence[int], start: int) -> tuple[PromptBlock, ...]:
    """Neighbours of equal length share a block: all rows of a rectangle, and whoever is equal by chance."""
    blocks = []
    for length, group in groupby(lengths):
        block = PromptBlock(start, len(list(group)), length)
        blocks.append(block)
        start += block.rows * length
    return tuple(blocks)


def _decode_runs(rows: Sequence[Row], dtype: torch.dtype, device: torch.device) -> list[DecodeRun]:
    """Cut rows, given by slot, where their slots are not neighbours."""
    runs = []
    start = 0
    for _, numbered in groupby(enumerate(rows), key=lambda pair: pair[1].slot - pair[0]):
        run = [row for _, row in numbered]
        context = max(row.past for row in run) + 1
        mask = _mask([row.past + 1 for row in run], context, dtype, device)
        runs.append(DecodeRun(start, len(run), run[0].slot, context, mask))
        start += len(run)
    return runs


def _mask(lengths: Sequence[int], context: int, dtype: torch.dtype, device: torch.device) -> Tensor | None:
    """From lengths, never from token ids: an end-of-text inside a prompt is a token like any other."""
    if min(lengths) == context:
        return None
    hidden = torch.arange(context, device=device) >= torch.tensor(lengths, device=device).unsqueeze(1)
    mask = torch.zeros(hidden.shape, dtype=dtype, device=device).masked_fill_(hidden, float("-inf"))
    return mask.view(len(lengths), 1, 1, context)
