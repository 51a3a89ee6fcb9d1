"""`python -m lab.experiments.ship_lengths`: find the lengths of all answers to the lab's own prompts; ship them.

Then a first run of any scenario need not find them. To be run again when prompts or the default model change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.run.lengths import SHIPPED, LengthBook, find_lengths
from lab.workload.prompts import shipped_lines, shipped_passages
from lab.workload.request import Request

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

LONGEST, QUICK = 64, 8  # the most tokens that scenarios allow on questions and texts, and on quick questions


def requests_of(engine: Engine) -> list[Request]:
    """One request for each prompt whose answer's length no scenario forces."""
    texts = [(text, LONGEST) for text in (*shipped_lines("questions"), *shipped_passages())]
    texts += [(text, QUICK) for text in shipped_lines("quick")]
    return [Request(i, 0.0, n, prompt=t, prompt_ids=engine.coder.encode(t)) for i, (t, n) in enumerate(texts)]


def _tell(phase: str, done: int, total: int) -> None:
    print(f"{phase}: {done} of {total}", end="\r")


def main() -> None:
    from lab.engine.loaded import load_engine

    for dtype in ("fp32", "bf16"):
        engine = load_engine("smollm2-135m", device="cpu", dtype=dtype)
        book = LengthBook.shipped(engine.fingerprint)
        unknown = [r for r in requests_of(engine) if book.length(r) is None]
        if unknown:
            book.add(unknown, find_lengths(unknown, engine, _tell))
            book.save(SHIPPED)
        print(f"{dtype}: {len(unknown)} new lengths in {SHIPPED.name}/{book.name}.json")


if __name__ == "__main__":
    main()
