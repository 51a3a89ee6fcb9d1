"""Under what a lane ran, as flat columns: its knobs, its requests, the model, the device, the versions.

Column names end in their unit, as in lab.analysis.tables, whose files all carry these columns.
"""

from __future__ import annotations

import math

from lab.run.record import LaneRecord, RunRecord

Cell = str | int | float | bool | None

KNOB_COLUMNS = {
    "max_batch_size": "seats of a group",
    "max_queue_delay_s": "the window; empty = until the batch is full",
    "refill": "others may join before the batch has ended",
    "padded": "prompts are padded and finished rows computed on",
    "groups": "replicas of the model",
    "kv_budget": "KV tokens that each group may reserve",
    "buckets": "boundaries of the length buckets, in prompt tokens; empty = one bucket",
    "by_priority": "a lower number goes sooner; else first come is first served",
    "ageing_s": "a request that has waited so long is most urgent; empty = never, or not by priority",
    "bucket_wait_limit_s": "a bucket that has waited so long leaves now; empty = no buckets",
}

RUN_COLUMNS = {
    "kind": "measured, predicted or recorded",
    "scenario": "name of the list of requests",
    "source": "the trace behind it, its slice and scale; empty = made by the lab",
    "seed": "of prompts, lengths and arrivals",
    "free_eos": "answers ended by themselves; else at a length that is the same in every lane",
    "model": "its name",
    "revision": "of its weights",
    "dtype": "number format of weights and arithmetic",
    "device": "what computed",
    "threads": "of the CPU",
    "versions": "of the libraries, as name version; name version",
    "commit": "of the lab",
    "created": "when, in ISO form",
}

FACTS_COLUMNS = KNOB_COLUMNS | RUN_COLUMNS


def lane_facts(record: RunRecord, lane: LaneRecord) -> dict[str, Cell]:
    """One row: every column of FACTS_COLUMNS."""
    return knobs(lane) | run_facts(record)


def knobs(lane: LaneRecord) -> dict[str, Cell]:
    policy, order, delay = lane.policy, lane.policy.order, lane.policy.max_queue_delay
    cells: tuple[Cell, ...] = (
        policy.max_batch_size,
        None if math.isinf(delay) else delay,
        policy.refill,
        policy.padded,
        lane.groups,
        lane.kv_budget,
        ",".join(map(str, order.boundaries)) or None,
        order.by_priority,
        order.ageing if order.by_priority else None,
        policy.bucket_wait_limit if order.boundaries else None,
    )
    return dict(zip(KNOB_COLUMNS, cells, strict=True))


def run_facts(record: RunRecord) -> dict[str, Cell]:
    p, workload = record.provenance, record.workload
    cells: tuple[Cell, ...] = (
        p.kind,
        workload.name,
        workload.source or None,
        workload.seed,
        p.free_eos,
        p.model,
        p.revision,
        p.dtype,
        p.device,
        p.threads,
        "; ".join(" ".join(version) for version in p.versions) or None,
        p.commit or None,
        p.created,
    )
    return dict(zip(RUN_COLUMNS, cells, strict=True))
