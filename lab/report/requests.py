"""The list of requests, as it will be put to every mode."""

from __future__ import annotations

from lab.report.gloss import gloss
from lab.report.markup import Html, html, table
from lab.report.words import Words
from lab.workload.request import Request, Workload


def requests_table(workload: Workload, words: Words, most: int | None = None) -> str:
    """HTML; prompts are shown as typed, whole or their first `most` characters, with what they say where they are
    the lab's own and the page is not in English."""
    head = [words(f"requests.{name}") for name in ("number", "arrival", "longest", "prompt")]
    rows = [
        [str(r.id), _arrival(r, words), words("requests.tokens", n=r.max_new_tokens), _told(r.prompt, most, words)]
        for r in workload.requests
    ]
    return table(head, rows, kind="requests", caption=words("requests_tab.tab"))


def _arrival(request: Request, words: Words) -> str:
    if request.follows is None:
        return f"{request.arrival:.2f} s"
    return words("requests.follows", number=request.follows, seconds=f"{request.arrival:.2f}")


def _told(prompt: str, most: int | None, words: Words) -> str:
    shown, told = _cut(prompt, most), gloss(prompt, words.language)
    return Html(f'{html(shown)}<br><small class="gloss">{html(told)}</small>') if told else shown


def _cut(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else f"{text[: most - 1]}…"
