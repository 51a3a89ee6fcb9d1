"""The list of requests, as it will be put to every mode."""

from __future__ import annotations

from lab.report.markup import table
from lab.report.words import Words
from lab.workload.request import Request, Workload


def requests_table(workload: Workload, words: Words) -> str:
    """HTML; prompts are shown whole, as typed."""
    head = [words(f"requests.{name}") for name in ("number", "arrival", "longest", "prompt")]
    rows = [
        [str(r.id), _arrival(r, words), words("requests.tokens", n=r.max_new_tokens), r.prompt]
        for r in workload.requests
    ]
    return table(head, rows, kind="requests", caption=words("requests_tab.tab"))


def _arrival(request: Request, words: Words) -> str:
    if request.follows is None:
        return f"{request.arrival:.2f} s"
    return words("requests.follows", number=request.follows, seconds=f"{request.arrival:.2f}")
