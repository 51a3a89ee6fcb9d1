"""How long each answer is when the model may end it by itself: found once, then forced in every lane.

All modes must do equal work, and in reduced precision an answer can depend on its company. So lengths come
from one untimed pass beforehand, are kept in the cache folder, and ship with the lab for its own scenarios.
The pass runs sixteen requests together (in fp32 that gives the tokens of a solo run, and takes a fifth of the
time); the scheduler never sees a length.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lab.engine.fetch import cache_folder
from lab.engine.progress import Progress
from lab.run.lane import Lane
from lab.run.race import race
from lab.run.record_file import write_whole
from lab.scheduling.policy import mode
from lab.workload.request import Request, Workload

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

SHIPPED = Path(__file__).parents[2] / "assets" / "lengths"
OF_DEFAULT_MODEL = "c02ffd16578151e3-bf16"  # the shipped book of SmolLM2-135M-Instruct
SEATS = 16


class Length(NamedTuple):
    """`tokens` emitted; `ended` by a stop token, or cut off there because no more were allowed."""

    tokens: int
    ended: bool


@dataclass(slots=True)
class LengthBook:
    """Known lengths of one model in one precision, by a digest of the prompt's tokens."""

    name: str
    known: dict[str, Length] = field(default_factory=dict)

    @classmethod
    def named(cls, fingerprint: str) -> LengthBook:
        """What ships with the lab for a model, then what was found here; a damaged file counts as an empty one."""
        book = cls.shipped(fingerprint)
        book.known.update(_read(_found_here() / f"{book.name}.json"))
        return book

    @classmethod
    def shipped(cls, fingerprint: str) -> LengthBook:
        return cls(fingerprint, _read(SHIPPED / f"{fingerprint}.json"))

    def length(self, request: Request) -> int | None:
        """Tokens of the answer within the request's limit; None if that is not known."""
        found = self.known.get(_digest(request))
        if found is None or (not found.ended and found.tokens < request.max_new_tokens):
            return None
        return min(found.tokens, request.max_new_tokens)

    def add(self, requests: Sequence[Request], lengths: Mapping[int, Length]) -> None:
        """`lengths` are by request id."""
        self.known.update({_digest(r): lengths[r.id] for r in requests})

    def learn(self, requests: Sequence[Request], lengths: Mapping[int, Length]) -> None:
        """Add lengths and keep them for the next run, if the folder can be written."""
        self.add(requests, lengths)
        self.save(_found_here())

    def save(self, folder: Path) -> None:
        text = json.dumps({key: list(value) for key, value in sorted(self.known.items())}, indent=0)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / f"{self.name}.json", text)
        except OSError:  # a full or read-only disk costs the next run a pass, nothing else
            return


def find_lengths(requests: Sequence[Request], engine: Engine, report: Progress) -> dict[int, Length]:
    """Let the model end each answer by itself, or cut it at max_new_tokens; by request id."""
    numbered = tuple(
        replace(r, id=i, arrival=0.0, follows=None, output_tokens=None) for i, r in enumerate(requests)
    )
    workload = Workload("lengths", numbered)
    longest = max(r.prompt_tokens for r in numbered) + max(r.max_new_tokens for r in numbered)
    engine.executor.allocate(min(SEATS, len(numbered)), longest)
    lane = Lane(
        mode("continuous", SEATS),
        workload,
        engine.executor,
        kv_budget=SEATS * longest,
        context=engine.shape.context,
        stop_ids=engine.stop_ids,
    )
    for _ in race([lane]):
        report("lengths", lane.ended, len(numbered))
    ends = engine.stop_ids
    given = lane.record().answers()
    return {
        r.id: Length(len(given[i]), given[i][-1] in ends) if i in given else Length(1, True)
        for i, r in enumerate(requests)
    }


def _found_here() -> Path:
    return cache_folder() / "lengths"


def _digest(request: Request) -> str:
    return hashlib.sha256(",".join(map(str, request.prompt_ids)).encode()).hexdigest()[:24]


def _read(path: Path) -> dict[str, Length]:
    try:
        content = json.loads(path.read_text())
        return {key: Length(int(tokens), bool(ended)) for key, (tokens, ended) in content.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
