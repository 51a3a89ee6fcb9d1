"""A record from a stranger's file: whatever would hang, crash or mislead a reader is refused with a sentence."""

import json

import pytest

from lab.engine.scripted import ScriptedExecutor
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.run.record import Provenance, RunRecord
from lab.run.record_file import from_json, to_json
from lab.scheduling.policy import mode
from lab.workload.request import Request, Workload


@pytest.fixture
def content():
    work = Workload("own", (Request(0, 0.0, 3, prompt="hi", prompt_ids=(1, 2), output_tokens=3),))
    lane = Lane(mode("none"), work, ScriptedExecutor(lambda step: 0.1), kv_budget=99, context=99)
    to_the_end([lane])
    origin = Provenance("measured", "m", "1", "fp32", "cpu", 1, (), "", "2026-01-01T00:00:00+00:00", 1, 1)
    made = json.loads(to_json(RunRecord(origin, work, (lane.record(),), token_bytes=((1, "41"),))))
    assert from_json(json.dumps(made))
    return made


def columns(content):
    return content["lanes"][0]["columns"]


HOSTILE = {
    "counts that hide a huge one": lambda c: columns(c).update(repeat=[1, -(2 * 10**8), 2 * 10**8 + 2]),
    "a run of no steps": lambda c: columns(c)["repeat"].__setitem__(1, 0),
    "no rows": lambda c: columns(c)["rows"].__setitem__(1, 0),
    "a slot out of this world": lambda c: columns(c)["slot"].__setitem__(0, 10**9),
    "a negative time": lambda c: columns(c)["seconds"].__setitem__(0, -1.0),
    "an unknown reason": lambda c: columns(c)["reason"].__setitem__(0, "<script>"),
    "a group that there is not": lambda c: columns(c)["group"].__setitem__(0, 7),
    "buckets out of order": lambda c: c["lanes"][0]["policy"]["order"].update(boundaries=[9, 3]),
    "very many buckets": lambda c: c["lanes"][0]["policy"]["order"].update(boundaries=list(range(1, 999))),
    "a bucket of 400 digits": lambda c: c["lanes"][0]["policy"]["order"].update(boundaries=[10**400]),
    "a priority below 0": lambda c: c["workload"]["requests"][0].update(priority=-1),
    "very many groups": lambda c: c["lanes"][0].update(groups=10**12),
    "no lanes": lambda c: c.update(lanes=[]),
    "two lanes of one name": lambda c: c.update(lanes=c["lanes"] * 2),
    "a name with markup": lambda c: c["lanes"][0]["policy"].update(name='<a href="x">'),
    "bytes that are none": lambda c: c.update(token_bytes=[[1, "zz"]]),
    "a date that is none": lambda c: c["provenance"].update(created="yesterday"),
    "a year nobody will see": lambda c: c["provenance"].update(created="9999-12-31T23:59:59+00:00"),
    "a number of 400 digits": lambda c: c["provenance"].update(weight_bytes=10**400),
    "an arrival beyond all time": lambda c: c["workload"]["requests"][0].update(arrival=1e308),
    "half a character": lambda c: c["workload"]["requests"][0].update(prompt="\ud800"),
    "a refused request that is not listed": lambda c: c["lanes"][0].update(refused=[[999, "why"]]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_record_is_refused_with_one_sentence(content, name):
    HOSTILE[name](content)
    with pytest.raises(ValueError, match=r"^the record is damaged: [^\n]+$"):
        from_json(json.dumps(content))


@pytest.mark.parametrize("text", ["[" * 500_000, '{"schema": NaN}', '{"schema": 1, "lanes": [Infinity]}'])
def test_json_that_is_not_strict_or_not_shallow_is_not_a_record(text):
    with pytest.raises(ValueError, match="not a record"):
        from_json(text)
