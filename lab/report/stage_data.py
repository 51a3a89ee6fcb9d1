"""A run as the stage's JavaScript reads it: plain values, ready for JSON. Pure; knows no page and no network.

The *head* of a run is its record without columns, prompt ids and other things that a screen does not need; an
unlimited window is null. Columns are the record's own lists. The page reads no file and asks no tokenizer: token
texts come as (id, bytes in hexadecimal).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from typing import Any

from lab.run.column_log import Mark
from lab.run.lanes import RunSpec
from lab.run.record import Columns, LaneRecord, RunRecord
from lab.workload.request import Request

UNKNOWN_BUDGET = 10**9  # tokens: beyond any scale

TokenBytes = Callable[[int], bytes]

_COLUMNS = tuple(f.name for f in fields(Columns))


def head(record: RunRecord) -> dict[str, Any]:
    """{provenance, workload: {name, requests},
    lanes: [{policy, groups, scattered, kv_budget, refused, stop_ids}]}."""
    p = record.provenance
    return {
        "provenance": {
            "kind": p.kind,
            "model": p.model,
            "device": p.device,
            "dtype": p.dtype,
            "created": p.created,
            "kv_bytes_per_token": p.kv_bytes_per_token,
            "reference_step_s": p.reference_step_s,
        },
        "workload": {"name": record.workload.name, "requests": [_request(r) for r in record.workload.requests]},
        "lanes": [_lane(lane) for lane in record.lanes],
    }


def whole(record: RunRecord) -> dict[str, Any]:
    """A head with `columns` in each lane and `tokens`, for a stage that fetches nothing."""
    made = head(record)
    for lane, source in zip(made["lanes"], record.lanes, strict=True):
        lane["columns"] = columns(source.columns)
    answers = {token for lane in record.lanes for token in lane.columns.token}
    made["tokens"] = [(token, text) for token, text in record.token_bytes if token in answers]
    return made


def expected(spec: RunSpec) -> dict[str, Any]:
    """A whole record of lanes in which nothing has happened: what a run of this spec will look like."""
    nothing = {"kind": "expected", "kv_bytes_per_token": 0, "reference_step_s": ()}
    made = (LaneRecord(p, spec.groups, UNKNOWN_BUDGET, scattered=spec.scattered) for p in spec.policies)
    lanes = [_lane(lane) for lane in made]
    return {
        "provenance": nothing,
        "workload": {"name": spec.workload.name, "requests": [_request(r) for r in spec.workload.requests]},
        "lanes": [lane | {"columns": columns(Columns())} for lane in lanes],
        "tokens": [],
    }


def columns(c: Columns) -> dict[str, tuple[Any, ...]]:
    return {name: getattr(c, name) for name in _COLUMNS}


def chunk(mark: Mark, c: Columns) -> dict[str, Any]:
    """Columns and where they begin."""
    return {"from": list(mark), "columns": columns(c)}


def texts_of(tokens: Iterable[int], token_bytes: TokenBytes) -> list[tuple[int, str]]:
    return [(token, token_bytes(token).hex()) for token in sorted(set(tokens))]


def _request(r: Request) -> dict[str, Any]:
    return {
        "arrival": r.arrival,
        "follows": r.follows,
        "prompt": r.prompt,
        "prompt_tokens": r.prompt_tokens,
        "max_new_tokens": r.max_new_tokens,
        "output_tokens": r.output_tokens,
        "priority": r.priority,
    }


def _lane(lane: LaneRecord) -> dict[str, Any]:
    policy = {k: None if v == math.inf else v for k, v in asdict(lane.policy).items()}
    return {
        "policy": policy | {"bucket_wait_limit": lane.policy.bucket_wait_limit},
        "groups": lane.groups,
        "scattered": lane.scattered,
        "kv_budget": lane.kv_budget,
        "refused": lane.refused,
        "stop_ids": lane.stop_ids,
    }
