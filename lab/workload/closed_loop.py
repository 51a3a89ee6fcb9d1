"""Users who ask again only after they have been answered.

The time of every question but the first depends on the server, so it is a think time here and becomes
an arrival on each lane's own clock.
"""

from __future__ import annotations

import math

from lab.workload.prompts import shipped_lines
from lab.workload.request import MAX_REQUESTS, Request, Workload


def closed_loop(
    users: int, questions_each: int, think_seconds: float, *, max_new_tokens: int = 32, seed: int = 0
) -> Workload:
    """`users` people start at once; each asks `questions_each` questions, `think_seconds` after an answer.

    Question q of user u is request q * users + u. ValueError for counts below 1, more than 256 questions
    in all, or a think time that is negative or not finite.
    """
    if users < 1 or questions_each < 1 or users * questions_each > MAX_REQUESTS:
        raise ValueError(
            f"{users} users with {questions_each} questions each; both must be at least 1 and "
            f"make {MAX_REQUESTS} questions at most"
        )
    if not math.isfinite(think_seconds) or think_seconds < 0:
        raise ValueError(f"think_seconds is {think_seconds}; it must be 0 or more and finite")
    pool = shipped_lines("questions")
    made = tuple(
        Request(
            id=i,
            arrival=think_seconds if i >= users else 0.0,
            max_new_tokens=max_new_tokens,
            prompt=pool[(i + seed) % len(pool)],
            follows=i - users if i >= users else None,
        )
        for i in range(users * questions_each)
    )
    return Workload("closed_loop", made, seed)
