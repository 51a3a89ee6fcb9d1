"""A record of any scenario comes back from disk equal, and so does a prediction."""

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from lab.engine.scripted import ScriptedExecutor
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.run.record import Provenance, RunRecord
from lab.run.record_file import from_json, load, save, to_json
from lab.scheduling.order import Order
from lab.scheduling.policy import MODES, mode
from lab.workload.scenarios import SCENARIOS, build

ORIGIN = Provenance("measured", "m", "r", "fp32", "d", 1, (("a", "1"),), "c", "2026-01-02T03:04:05+00:00", 1, 2)


def run(workload, order, many, kv_budget):
    """All modes at once; the predicted executor's many steps a call where `many`."""
    lanes = [
        Lane(
            mode(name, 3, 0.02, order),
            workload,
            ScriptedExecutor(lambda step: 0.01 * len(step.rows), many=many),
            kv_budget=kv_budget,
            context=5_000,
            first_slot=3 * i,
        )
        for i, name in enumerate(MODES)
    ]
    to_the_end(lanes)
    kind = "predicted" if many else "measured"
    return RunRecord(replace(ORIGIN, kind=kind), workload, tuple(lane.record() for lane in lanes))


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(SCENARIOS)),
    seed=st.integers(0, 1000),
    requests=st.integers(1, 12),
    order=st.sampled_from(
        [Order(), Order((3, 9), by_priority=True, ageing=None), Order((4,), bucket_wait_limit=0.5)]
    ),
    many=st.booleans(),
    kv_budget=st.sampled_from([40, 300, 100_000]),
    text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
)
def test_a_record_of_any_scenario_comes_back_equal(
    tmp_path_factory, name, seed, requests, order, many, kv_budget, text
):
    draw = random.Random(seed)
    own = {"prompts": ["one", "two", "three"]} if name == "own" else {"requests": requests}
    workload = build(name, seed=seed, **own)
    workload = replace(
        workload,
        requests=tuple(
            replace(
                r,
                prompt=text,
                prompt_ids=(7,) * draw.randint(1, 20),
                output_tokens=draw.randint(1, r.max_new_tokens),
            )
            for r in workload.requests
        ),
        source=text,
    )
    record = run(workload, order, many, kv_budget)
    assert from_json(to_json(record)) == record
    path = tmp_path_factory.mktemp("record") / "record.json"
    save(record, path)
    assert load(path) == record
