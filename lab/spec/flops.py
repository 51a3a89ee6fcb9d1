"""Floating-point operations of a forward pass, from a model's dimensions. Knows no device and no time."""

from __future__ import annotations

from typing import NamedTuple

from lab.spec.model_shape import ModelShape


class Flops(NamedTuple):
    """
    position  of each token position computed: a multiplication and an addition per weight
    key       of each cached position that a decoding row attends to: a score and a weighted sum per query head
    square    of each squared token of a prompt's length: the same, causal, so half of the pairs
    """

    position: int
    key: int
    square: int


def flops_of(shape: ModelShape) -> Flops:
    """The output head counts at every position, as in decoding; an embedding that is only looked up never does."""
    attention = 4 * shape.layers * shape.heads * shape.head_dim
    return Flops(2 * shape.parameters_read_per_step, attention, attention // 2)
