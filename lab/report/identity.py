"""The answers, as text, with what differs between modes beside each other; and the line on token identity."""

from __future__ import annotations

from lab.analysis.answers import answer_texts
from lab.analysis.identity import token_identity
from lab.report.markup import Html, html, table
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


def answers_table(record: RunRecord, words: Words) -> str:
    """HTML: a row a request; one cell where all modes gave the same text, one a mode where they did not."""
    texts = {lane.name: answer_texts(record, lane) for lane in record.lanes}
    refused = {lane.name: dict(lane.refused) for lane in record.lanes}
    rows = []
    for request in record.workload.requests:
        by_mode = {
            name: _text(given.get(request.id), refused[name].get(request.id), words)
            for name, given in texts.items()
        }
        question = Html(f"<b>{request.id}</b> {html(request.prompt)}")
        rows.append([question, _answer(by_mode, words)])
    head = [words("answers.request"), words("answers.tab")]
    return table(head, rows, kind="answers", caption=words("answers.tab"))


def _text(text: str | None, refusal: str | None, words: Words) -> str:
    if refusal is not None:
        return words("answers.refused", why=refusal)
    return text.strip() if text else words("answers.unfinished")


def _answer(by_mode: dict[str, str], words: Words) -> Html:
    if len(set(by_mode.values())) == 1:
        note = f"<small>{html(words('answers.same'))}</small>" if len(by_mode) > 1 else ""
        return Html(f"{html(next(iter(by_mode.values())))} {note}")
    parts = (f"<dt>{html(name)}</dt><dd>{html(text)}</dd>" for name, text in by_mode.items())
    return Html(f"<dl>{''.join(parts)}</dl>")
