"""Sizes that kernels are set up for: a step with prompts in it is filled up to the next of them, in every mode."""

from __future__ import annotations


def rounded(tokens: int) -> int:
    """The next size: multiples of 16, and 8 sizes per doubling from 256 on."""
    apart = max(16, (1 << (tokens - 1).bit_length()) // 16)
    return -(-tokens // apart) * apart
