"""Words to token ids and back, with a model folder's own tokenizer and chat template.

Light: the page uses it, so neither torch nor transformers is imported. Refuses to know weights and devices.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer, decoders

# Stands for the user's words while the template is rendered: they are never read as template or markup.
_PLACE = "\ue000words\ue000"


class Text:
    """The tokenizer of one model.

    stop_ids  tokens that end an answer, from generation_config.json, else config.json
    """

    def __init__(self, tokenizer: Tokenizer, rendered: str | None, stop_ids: frozenset[int]) -> None:
        """`rendered` is the chat template around `_PLACE`, or None to feed the bare prompt."""
        tokenizer.encode_special_tokens = True  # "<|im_end|>" typed by a user is letters, not an end
        self.stop_ids = stop_ids
        self._tokenizer = tokenizer
        self._special = {i: t.content for i, t in tokenizer.get_added_tokens_decoder().items() if t.special}
        self._parts = None if rendered is None else _split_at(self._special.values(), rendered)
        self._to_bytes = _piece_decoder(tokenizer)

    @classmethod
    def load(cls, folder: Path) -> Text:
        """Read `tokenizer.json` and its companions.

        Raises ValueError where the folder has no such file, or a template or vocabulary we cannot read.
        """
        path = Path(folder) / "tokenizer.json"
        if not path.is_file():
            raise ValueError(f"{folder} has no tokenizer.json; save the model's fast tokenizer beside its weights")
        return cls(Tokenizer.from_file(str(path)), _rendered_template(Path(folder)), _stop_ids(Path(folder)))

    def encode_chat(self, prompt: str) -> tuple[int, ...]:
        """The ids to feed for one user message: the model's chat template (chat_template.jinja, else the one in
        tokenizer_config.json) around it, or the bare prompt where the model has no template.

        Special tokens come from the template alone; the user's text cannot spell one.
        """
        if self._parts is None:
            return tuple(self._tokenizer.encode(prompt).ids)
        ids: list[int] = []
        for part in self._parts:
            special = self._tokenizer.token_to_id(part) if part in self._special.values() else None
            if special is not None:
                ids.append(special)
            else:
                ids += self._tokenizer.encode(part.replace(_PLACE, prompt), add_special_tokens=False).ids
        return tuple(ids)

    def encode_text(self, text: str) -> tuple[int, ...]:
        """The ids of bare text, without the chat template; the text cannot spell a special token."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def token_bytes(self, token: int) -> bytes:
        """The bytes of text that a token stands for, perhaps part of a character; b"" for a special token.

        Joining them and decoding as UTF-8 with errors="replace" gives the text. Raises ValueError for an
        id outside the vocabulary.
        """
        if token in self._special:
            return b""
        piece = self._tokenizer.id_to_token(token)
        if piece is None:
            size = self._tokenizer.get_vocab_size()
            raise ValueError(f"token {token} is not in the vocabulary; ids lie between 0 and {size - 1}")
        return self._to_bytes(piece)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these tokens; special tokens are silent, half characters become U+FFFD."""
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", errors="replace")


class _ByteLevel:
    """GPT-2's alphabet: each byte has one printable character."""

    def __init__(self) -> None:
        shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        hidden = [byte for byte in range(256) if byte not in shown]
        self._byte = {chr(byte): byte for byte in shown} | {chr(256 + i): byte for i, byte in enumerate(hidden)}

    def __call__(self, piece: str) -> bytes:
        if any(c not in self._byte for c in piece):
            return piece.encode()  # an added token, kept as written
        return bytes(self._byte[c] for c in piece)


def _sentence_piece(piece: str) -> bytes:
    """SentencePiece: "▁" is a space, "<0xE2>" a byte."""
    if re.fullmatch(r"<0x[0-9A-F]{2}>", piece):
        return bytes([int(piece[3:5], 16)])
    return piece.replace("▁", " ").encode()


def _piece_decoder(tokenizer: Tokenizer) -> Callable[[str], bytes]:
    if isinstance(tokenizer.decoder, decoders.ByteLevel):
        return _ByteLevel()
    if getattr(tokenizer.model, "byte_fallback", False):
        return _sentence_piece
    raise ValueError(
        f"the tokenizer decodes with {type(tokenizer.decoder).__name__}; "
        "the lab reads byte-level BPE and SentencePiece with byte fallback"
    )


def _split_at(special: Iterable[str], rendered: str) -> tuple[str, ...]:
    """The template's text cut so that each special token is a part of its own."""
    alternatives = "|".join(re.escape(token) for token in sorted(special, key=len, reverse=True))
    if not alternatives:
        return (rendered,)
    return tuple(part for part in re.split(f"({alternatives})", rendered) if part)


def _rendered_template(folder: Path) -> str | None:
    """The folder's chat template around `_PLACE`; None where it has none."""
    config = _json(folder / "tokenizer_config.json")
    path = folder / "chat_template.jinja"
    template = path.read_text(encoding="utf-8") if path.is_file() else config.get("chat_template")
    if isinstance(template, list):  # several by name
        template = {entry["name"]: entry["template"] for entry in template}.get("default")
    if not template:
        return None
    special = {k: _content(v) for k, v in config.items() if k in ("bos_token", "eos_token") and v}
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    messages = [{"role": "user", "content": _PLACE}]
    try:
        rendered = environment.from_string(template).render(
            messages=messages, add_generation_prompt=True, **special
        )
    except TemplateError as error:
        raise ValueError(f"the chat template of {folder} cannot be rendered: {error}") from error
    if _PLACE not in rendered:
        raise ValueError(f"the chat template of {folder} leaves the user's message out")
    return rendered


def _content(token: str | Mapping[str, Any]) -> str:
    return token if isinstance(token, str) else str(token["content"])


def _stop_ids(folder: Path) -> frozenset[int]:
    for name in ("generation_config.json", "config.json"):
        stop = _json(folder / name).get("eos_token_id")
        if stop is not None:
            return frozenset(stop if isinstance(stop, list) else [stop])
    return frozenset()


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    value = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value
