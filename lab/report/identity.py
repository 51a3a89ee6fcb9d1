"""The line on token identity: do all modes give the same answers?"""

from __future__ import annotations

from lab.analysis.identity import token_identity
from lab.report.words import Words
from lab.run.record import RunRecord


def identity_line(record: RunRecord, words: Words) -> str:
    """A sentence or two, plain text."""
    found = token_identity(record)
    if not found.requests:
        return words("identity.alone")
    parted = len(found.ties) + len(found.differences)
    if not parted:
        return words("identity.same", identical=found.identical, n=found.requests)
    sentences = [
        words(
            "identity.parts",
            identical=found.identical,
            n=found.requests,
            ties=len(found.ties),
            different=len(found.differences),
        )
    ]
    first = found.first_difference or found.ties[0]
    one, other = first.lanes
    sentences.append(words("identity.first", request=first.request, token=first.position + 1, one=one, other=other))
    if record.provenance.dtype not in ("fp32", "float32"):
        sentences.append(words("identity.precision", dtype=record.provenance.dtype))
    return " ".join(sentences)
