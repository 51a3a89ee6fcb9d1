"""`GET /api/run/<id>?since=<mark>,<mark>,…&viewer=<token>`: what a run has grown by, for the stage that draws it.

A mark is `runs.steps.rows.tokens`, the counts that the asker has of a lane; no marks = from the beginning. The
answer is JSON:

    state     waiting, running, finished, failed, cancelled, or unknown (then the status is 404)
    over      nothing more will come than what is in this answer
    position  place in line, 0 at work
    progress  {phase, done, total} or null
    error     {why, detail} of a run that ended early, or null
    poll_ms   when to ask again, from question to question
    head      see lab.report.stage_data; only for an asker without marks, null before the lanes have started
    lanes     [{from: [runs, steps, rows, tokens], columns}], empty before the lanes have started
    tokens    [[id, bytes in hexadecimal]] of the tokens in these columns

`run_answer` is a pure function of what the device says; `Audience` spreads the questions of many askers. Knows no
Streamlit. What the stage's address may do is said by whoever mounts the route: an id that cannot be guessed is the
permission to watch.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lab.report.stage_data import TokenBytes, chunk, head, texts_of
from lab.run.column_log import Mark
from lab.run.line import State
from lab.run.look import Look
from lab.run.record import Columns

RUNNING_MS = 110  # a little over 9 times a second
WAITING_MS = 1000
MOST_PER_SECOND = 16  # answers, for all who watch together
FORGOTTEN = 10.0  # seconds after which an asker does not count any more
MOST_LANES = 16
SLOWEST_MS = 4000  # whoever asks, and however many they say they are
MOST_VIEWERS = 256  # counted


class Runs(Protocol):
    """The two questions of lab.run.visitors.Device."""

    def look(self, job_id: str) -> Look | None: ...

    def since(self, job_id: str, marks: Sequence[Mark] = ()) -> tuple[Columns, ...] | None: ...


class Audience:
    """Who has asked of late, so that the answers together stay within MOST_PER_SECOND."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """`now` is a clock in seconds."""
        self._now = now
        self._seen: dict[str, float] = {}
        self._lock = threading.Lock()

    def pause_ms(self, viewer: str, waiting: bool) -> int:
        """When this asker should ask again; asking makes it one of the audience."""
        with self._lock:
            now = self._now()
            if viewer in self._seen or len(self._seen) < MOST_VIEWERS:
                self._seen[viewer] = now
            self._seen = {v: t for v, t in self._seen.items() if now - t < FORGOTTEN}
            share = round(1000 * len(self._seen) / MOST_PER_SECOND)
        return min(SLOWEST_MS, max(WAITING_MS if waiting else RUNNING_MS, share))


def run_answer(
    runs: Runs, job_id: str, marks: Sequence[Mark], token_bytes: TokenBytes | None = None
) -> dict[str, Any] | None:
    """The answer without `poll_ms`; None for an unknown run.

    `token_bytes` gives the text of tokens while the run goes on; a finished record brings its own.
    """
    look = runs.look(job_id)  # before the columns: a run that is over must not lack its tail
    if look is None:
        return None
    grown = runs.since(job_id, marks) if look.record is not None else ()
    answer: dict[str, Any] = {
        "state": look.state,
        "over": look.state.over,
        "position": look.place,
        "progress": look.progress and look.progress._asdict(),
        "error": look.why and {"why": look.why, "detail": look.detail},
        "head": None if marks or look.record is None else head(look.record),
    }
    begins = [*marks, *[Mark()] * len(grown or ())]
    answer["lanes"] = [chunk(mark, c) for mark, c in zip(begins, grown or (), strict=False)]
    answer["tokens"] = _texts(look, grown or (), token_bytes)
    return answer


def _texts(look: Look, grown: Sequence[Columns], token_bytes: TokenBytes | None) -> list[tuple[int, str]]:
    """While a run goes on (and its model is loaded), of the tokens that are new; at its end of all, for want of a
    tokenizer before."""
    if look.record is not None and look.record.token_bytes:
        return list(look.record.token_bytes)
    if token_bytes is None or look.state is not State.RUNNING:
        return []
    return texts_of((token for c in grown for token in c.token), token_bytes)


def read_marks(text: str) -> list[Mark]:
    """Raises ValueError where `since` is not a list of marks."""
    parts = text.split(",") if text else []
    if len(parts) > MOST_LANES:
        raise ValueError(f"since has {len(parts)} marks; at most {MOST_LANES} lanes run together")
    return [_mark(part) for part in parts]


def _mark(text: str) -> Mark:
    counts = text.split(".")
    if len(counts) != 4 or not all(c.isascii() and c.isdecimal() and len(c) < 10 for c in counts):
        raise ValueError(f"a mark is {text[:40]!r}; it must be four counts such as 3.3.12.12")
    return Mark(*map(int, counts))


def run_route(runs: Callable[[], Runs], token_bytes: Callable[[str], TokenBytes | None]) -> Route:
    """The route to mount. `runs()` is the device, `token_bytes(job id)` knows the tokens of that run's model."""
    audience = Audience()

    def answer(request: Request) -> Response:
        try:
            marks = read_marks(request.query_params.get("since", ""))
        except ValueError as error:
            return _json({"state": "refused", "detail": str(error)}, 400)
        job_id = request.path_params["run_id"]
        made = run_answer(runs(), job_id, marks, token_bytes(job_id))
        if made is None:
            return _json({"state": "unknown", "over": True, "lanes": [], "tokens": []}, 404)
        pause = audience.pause_ms(request.query_params.get("viewer", "")[:16], made["state"] is State.WAITING)
        return _json(made | {"poll_ms": pause}, 200)

    return Route("/api/run/{run_id}", answer)


def _json(content: dict[str, Any], status: int) -> Response:
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return Response(text, status, {"cache-control": "no-store"}, "application/json")
