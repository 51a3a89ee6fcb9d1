"""Is a record from a file what it claims to be? Whatever reads it later must neither fail nor run without end.

Checks sizes, bounds and names; raises ValueError, one sentence. Whether the numbers are a possible run is asked by
lab.analysis.checks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime

from lab.run.record import Columns, LaneRecord, RunRecord
from lab.scheduling.decide import Reason
from lab.scheduling.policy import MOST_SEATS

MOST_LANES = 16
MOST_REQUESTS = 100_000
MOST_BUCKETS = 100
MOST_ROW_STEPS = 20_000_000
LARGEST = 10**15  # of any whole number: exact in a browser's numbers
_NAME = re.compile(r"[\w .,+()-]{1,60}")  # of a mode: shown in many places, so no markup
_REASONS = frozenset(reason.value for reason in Reason)


def check_record(record: RunRecord) -> None:
    names = [lane.name for lane in record.lanes]
    _must(1 <= len(names) <= MOST_LANES, f"it has {len(names)} lanes, 1 to {MOST_LANES} can be shown")
    _must(len(set(names)) == len(names), f"two lanes have one name: {', '.join(names)[:80]}")
    _must(all(map(_NAME.fullmatch, names)), "a lane's name is not made of letters, digits, spaces and . , + - ( )")
    _must(len(record.workload.requests) <= MOST_REQUESTS, f"it has more than {MOST_REQUESTS} requests")
    _check_provenance(record)
    _finite([request.arrival for request in record.workload.requests], "the arrivals")
    for request in record.workload.requests:
        _whole([request.max_new_tokens, request.priority, *request.prompt_ids], "a request's numbers")
        _text([request.prompt])
    for token, text in record.token_bytes:
        _must(_is_hex(text), f"the bytes of token {token} are not hexadecimal")
    for lane in record.lanes:
        _check_lane(lane, len(record.workload.requests))


def _check_provenance(record: RunRecord) -> None:
    p = record.provenance
    _text([p.model, p.revision, p.dtype, p.device, p.commit, record.workload.name, record.workload.source])
    _whole([p.threads, p.weight_bytes, p.kv_bytes_per_token], "the provenance's numbers")
    _finite([*p.reference_step_s, p.read_bytes_per_s or 0.0], "the provenance's times")
    try:
        year = datetime.fromisoformat(p.created).year
    except ValueError:
        year = 0
    _must(2000 <= year <= 2999, f"created is {p.created[:40]!r}, it must be a date and time in ISO form")


def _check_lane(lane: LaneRecord, requests: int) -> None:
    c = lane.columns
    _must(1 <= lane.groups <= 1024, f"a lane has {lane.groups} groups")
    _must(1 <= lane.policy.max_batch_size <= MOST_SEATS, f"a lane has {lane.policy.max_batch_size} seats")
    _whole([lane.kv_budget, *lane.stop_ids, *lane.policy.order.boundaries], "a lane's numbers")
    _must(
        len(lane.policy.order.boundaries) <= MOST_BUCKETS, f"a lane has more than {MOST_BUCKETS} bucket boundaries"
    )
    _must(all(0 <= number < requests for number, _ in lane.refused), "a refused request is not listed")
    _check_sizes(c)
    _finite([*c.start, *c.seconds], "the times of steps")
    for name in ("kernel_padding", "kv_reserved", "fed", "past", "padded_to", "token"):
        _whole(getattr(c, name), name)
    _must(all(0 <= g < lane.groups for g in c.group), "a step belongs to a group that there is not")
    slots = lane.policy.max_batch_size * lane.groups * MOST_LANES
    _must(all(0 <= slot < slots for slot in c.slot), "a row sits in a slot that there is not")
    _must(all(0 <= number < requests for number in c.request), "a row works for a request that it does not list")
    _must(set(c.reason) <= _REASONS, "a step has a reason that is not known")


def _check_sizes(c: Columns) -> None:
    """Signs before sums: a negative count could hide a huge one."""
    _must(min(c.repeat, default=1) >= 1 and min(c.rows, default=1) >= 1, "a run of no steps or no rows")
    cells = sum(k * n for k, n in zip(c.repeat, c.rows, strict=False))
    _must(cells <= MOST_ROW_STEPS, f"it has more than {MOST_ROW_STEPS} rows of steps")
    per_row = ("slot", "request", "fed", "past", "padded_to", "live")
    sizes = {f.name: len(c.start) for f in fields(Columns)} | dict.fromkeys(per_row, sum(c.rows))
    sizes |= {"seconds": sum(c.repeat), "token": cells if c.token else 0}
    fits = all(len(getattr(c, name)) == size for name, size in sizes.items())
    _must(fits, "its columns differ in length")


def _whole(numbers: Sequence[int], what: str) -> None:
    _must(all(0 <= n <= LARGEST for n in numbers), f"{what} lie outside 0 to {LARGEST}")


def _finite(numbers: Sequence[float], what: str) -> None:
    fit = all(math.isfinite(n) and 0 <= n <= LARGEST for n in numbers)
    _must(fit, f"{what} are not finite numbers of 0 or more")


def _text(texts: Sequence[str]) -> None:
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise ValueError("the record is damaged: a text holds half a character") from None


def _is_hex(text: str) -> bool:
    try:
        bytes.fromhex(text)
    except ValueError:
        return False
    return True


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"the record is damaged: {otherwise}")
