"""How long work tells its progress, and how it says that a model could not be had."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told how far a long piece of work has come; raising from it cancels the work.

    phase  of loading a model: "wait" (another process fetches), "download", "convert", "load" or "measure"; of
           other work, its own word
    done   bytes (or, when measuring, measurements) so far, of `total`; both 0 where nobody knows
    """

    def __call__(self, phase: str, done: int, total: int, /) -> None: ...


def silent(phase: str, done: int, total: int) -> None:
    """A Progress that tells nobody."""


class FetchError(OSError):
    """The model could not be brought here. One sentence: what is wrong and what to do."""
