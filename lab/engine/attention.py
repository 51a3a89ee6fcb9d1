"""Attention, one routine for every mode: prompts over themselves, decoding rows over their slots.

Both are torch's scaled_dot_product_attention, a fused kernel that never writes the score matrix.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from lab.engine.batch import Batch, DecodeRun, PromptBlock


def attend(q: Tensor, kv: Tensor, batch: Batch, cached: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """Every token of the batch's prompts and decoding runs looks at its own request's tokens up to itself.

    q [tokens, heads, head_dim]; kv [tokens, 2 × kv_heads × head_dim], already written to the pool; `cached` are
    keys and values of each decoding run, see KvPool.reader. Returns [those tokens, heads × head_dim].
    """
    done = [_decodes(q, run, *views) for run, views in zip(batch.decodes, cached, strict=True)]
    done += [_prompts(q, kv, block) for block in batch.prompts]
    return done[0] if len(done) == 1 else torch.cat(done)


def _decodes(q: Tensor, run: DecodeRun, keys: Tensor, values: Tensor) -> Tensor:
    """Query heads that share a KV head stand as several queries of that head: keys are not repeated."""
    _, heads, dim = q.shape
    kv_heads = keys.shape[1]
    own = q if run.rows == len(q) else q.narrow(0, run.start, run.rows)
    if run.stand_ins is not None:
        own = own[run.stand_ins]
    grouped = own.view(run.slots, kv_heads, heads // kv_heads, dim)
    out = F.scaled_dot_product_attention(grouped, keys, values, run.mask)
    return (out if run.picked is None else out[run.picked]).reshape(run.rows, heads * dim)


def _prompts(q: Tensor, kv: Tensor, block: PromptBlock) -> Tensor:
    """Causal, with padding on the right: real tokens never see padding, and a padding token sees at least
    itself, so no row of scores is empty (an empty one would give NaN)."""
    tokens, dim = block.rows * block.length, q.shape[-1]

    def by_head(x: Tensor) -> Tensor:
        return x.narrow(0, block.start, tokens).view(block.rows, block.length, -1, dim).transpose(1, 2)

    keys, values = by_head(kv).chunk(2, dim=1)
    out = F.scaled_dot_product_attention(by_head(q), keys, values, is_causal=True, enable_gqa=True)
    return out.transpose(1, 2).reshape(tokens, -1)
