"""An executor that follows a script: fixed step times, made-up tokens. For tests and for teaching the loop.

It checks what a lane asks of it (no slot twice in a step, caches in step with what was fed), so a lane
that keeps wrong books fails here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lab.engine.step import Horizon, Outcome, Row, Step


def token_of(row: Row, step: int = 0) -> int:
    """The made-up token that this row emits `step` steps later; it depends on the request and its position."""
    return (row.request * 7919 + row.past + len(row.ids) + step) % 50_000


class ScriptedExecutor:
    """`seconds(step)` is a step's duration. With `many`, runs as many steps at once as the horizon allows.

    `ends` maps a request id to the position (1, 2, …) at which it emits `stop_id` instead of its token.
    """

    def __init__(
        self,
        seconds: Callable[[Step], float],
        *,
        many: bool = False,
        ends: dict[int, int] | None = None,
        stop_id: int = 0,
    ) -> None:
        self._seconds = seconds
        self._many = many
        self._ends = ends or {}
        self._stop_id = stop_id
        self._prompt: dict[int, int] = {}
        self.cached: dict[int, int] = {}  # tokens held, by slot
        self.calls = 0

    def run(self, step: Step, horizon: Horizon) -> Outcome:
        self.calls += 1
        self._check(step)
        duration = self._seconds(step)
        steps = 1
        while self._many and steps < horizon.steps and steps * duration < horizon.seconds:
            steps += 1
        tokens = tuple(tuple(self._token(row, k) for row in step.rows) for k in range(steps))
        for row in step.rows:
            self.cached[row.slot] = row.past + len(row.ids) + steps - 1
        return Outcome((duration,) * steps, tokens)

    def release(self, slots: Sequence[int]) -> None:
        for slot in slots:
            del self.cached[slot]

    def _check(self, step: Step) -> None:
        slots = [row.slot for row in step.rows]
        assert step.rows, "a step without rows"
        assert len(set(slots)) == len(slots), f"a slot twice in one step: {slots}"
        for row in step.rows:
            held = self.cached.get(row.slot, 0)
            assert row.past == held, f"slot {row.slot} holds {held} tokens, the row says {row.past}"
            assert row.padded_to >= len(row.ids), f"row padded to less than it feeds: {row}"
            if row.prefill:
                self._prompt[row.request] = len(row.ids)

    def _token(self, row: Row, step: int) -> int:
        position = row.past + len(row.ids) + step - self._prompt[row.request] + 1
        return self._stop_id if self._ends.get(row.request) == position else token_of(row, step)
