"""The text of the answers, from the bytes that the record keeps of each token. Needs no tokenizer."""

from __future__ import annotations

from lab.run.record import LaneRecord, RunRecord


def answer_texts(record: RunRecord, lane: LaneRecord) -> dict[int, str]:
    """What each request of the lane was given so far, by request id.

    Bytes that are no UTF-8 (an answer cut within a character) show as a replacement mark. Empty where the
    record holds no bytes: a model without a tokenizer, or a predicted lane.
    """
    known = {token: bytes.fromhex(text) for token, text in record.token_bytes}
    if not known:
        return {}
    return {
        request: b"".join(known.get(token, b"") for token in tokens).decode("utf-8", errors="replace")
        for request, tokens in lane.answers().items()
    }
