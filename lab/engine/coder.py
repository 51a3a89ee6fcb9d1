"""Prompts to token ids, with a model's tokenizer or without one. Light: the page and predictions use it, too."""

from __future__ import annotations

from dataclasses import dataclass

from lab.engine.text import Text


@dataclass(frozen=True, slots=True)
class Coder:
    """`text` is None for a dummy, which has no tokenizer: each byte stands for a token of its `vocab`."""

    text: Text | None
    vocab: int

    @property
    def stop_ids(self) -> frozenset[int]:
        """Tokens that end an answer; none for a dummy."""
        return self.text.stop_ids if self.text else frozenset()

    def encode(self, prompt: str) -> tuple[int, ...]:
        """Token ids to feed for a user's prompt, the chat template included."""
        if self.text:
            return self.text.encode_chat(prompt)
        return tuple(byte % self.vocab for byte in prompt.encode()) or (0,)

    def cut(self, text: str, tokens: int) -> tuple[str, tuple[int, ...]]:
        """The first `tokens` tokens of a text, and the words they stand for; no chat template. A text that has not
        so many begins again. ValueError for an empty text."""
        ids = self.text.encode_text(text) if self.text else tuple(b % self.vocab for b in text.encode())
        if not ids:
            raise ValueError("the text to cut is empty; it must have at least one token")
        taken = (ids * -(-tokens // len(ids)))[:tokens]
        return (self.text.decode(taken) if self.text else bytes(taken).decode(errors="replace")), taken
