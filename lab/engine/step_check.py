"""Is a step one that the device can run? One that reads or writes what is not there gives wrong tokens silently."""

from __future__ import annotations

from collections.abc import Sequence

from lab.engine.step import Row, Step
from lab.spec.model_shape import ModelShape


def check_step(step: Step, cached: Sequence[int], tokens_per_slot: int, shape: ModelShape) -> None:
    """`cached[slot]` tokens are held by each slot of the pool. Raises ValueError, with the values."""
    slots = [row.slot for row in step.rows]
    if not slots or len(set(slots)) < len(slots):
        raise ValueError(f"the step's rows are in slots {slots}; it needs at least one, each once")
    for row in step.rows:
        _check_tokens(row, shape)
        room = min(tokens_per_slot, shape.context)
        if not 0 <= row.slot < len(cached) or row.past + row.padded_to > room:
            raise ValueError(
                f"request {row.request} asks for slot {row.slot}, tokens up to {row.past + row.padded_to}; "
                f"the pool has slots 0 to {len(cached) - 1} of {room} tokens"
            )
        if row.past > cached[row.slot]:
            raise ValueError(
                f"request {row.request} counts on {row.past} cached tokens; "
                f"slot {row.slot} holds {cached[row.slot]}"
            )


def _check_tokens(row: Row, shape: ModelShape) -> None:
    if not row.ids or len(row.ids) > row.padded_to or (row.past and row.padded_to != 1):
        raise ValueError(
            f"request {row.request} feeds {len(row.ids)} tokens padded to {row.padded_to} past {row.past}; "
            "a prompt is at least 1 token and no longer than its padding, a decoding row is 1"
        )
    if min(row.ids) < 0 or max(row.ids) >= shape.vocab:
        raise ValueError(
            f"request {row.request} feeds ids from {min(row.ids)} to {max(row.ids)}; "
            f"{shape.name} has ids 0 to {shape.vocab - 1}"
        )
