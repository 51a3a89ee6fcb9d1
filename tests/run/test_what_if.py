"""The loop on a device that is not here: labelled, and bound by that device's memory."""

import pytest

from lab.analysis.checks import check_lane
from lab.analysis.metrics import lane_metrics
from lab.engine.roofline import Roofline
from lab.run.lanes import RunSpec
from lab.run.predict import what_if
from lab.scheduling.policy import MODES, mode
from lab.spec.devices import ACCELERATORS
from lab.spec.model_shape import WELL_KNOWN
from lab.workload.request import Request, Workload


def roofline(device="H100", model="Llama-3.1-8B"):
    return Roofline(ACCELERATORS[device], WELL_KNOWN[model])


def burst(count, prompt=400, answer=112):
    return Workload(
        "burst",
        tuple(Request(i, 0.0, answer, prompt_ids=(1,) * prompt, output_tokens=answer) for i in range(count)),
    )


def test_a_what_if_run_obeys_every_identity_and_says_that_nothing_validates_it():
    record = what_if(RunSpec(burst(40), tuple(mode(name, 16) for name in MODES)), roofline())
    assert record.provenance.kind == "predicted"
    assert record.provenance.device == "H100 (not validated here)"
    for lane in record.lanes:
        check_lane(record.workload, lane, complete=True)


def test_one_row_at_a_time_reaches_the_stated_share_of_the_bandwidth_and_no_more():
    record = what_if(RunSpec(burst(2), (mode("none"),)), roofline())
    assert lane_metrics(record, record.lanes[0]).mbu == pytest.approx(0.7, rel=0.15)  # the host's share comes off


def test_the_kv_budget_is_what_nine_tenths_of_the_memory_leave_beside_the_weights():
    """833 requests of 512 tokens of Llama-3.1-8B on 80 GB."""
    record = what_if(RunSpec(burst(2), (mode("continuous", 2),)), roofline())
    assert record.lanes[0].kv_budget // 512 == 833


def test_each_lane_has_the_device_for_itself():
    together = what_if(RunSpec(burst(12), tuple(mode(name, 4) for name in MODES)), roofline())
    for name in MODES:
        alone = what_if(RunSpec(burst(12), (mode(name, 4),)), roofline())
        assert alone.lanes[0] == together.lane(name)


def test_a_batch_that_the_memory_cannot_hold_is_refused_with_the_numbers():
    with pytest.raises(ValueError, match=r"KV cache 67,109 MB.*the largest batch size that fits is"):
        what_if(RunSpec(burst(1000), (mode("continuous", 1000),)), roofline())


def test_a_model_larger_than_the_device_is_refused():
    with pytest.raises(ValueError, match=r"takes 141\.1 GB and 0\.9 of A100-80GB's memory is 72\.0 GB"):
        what_if(RunSpec(burst(2), (mode("none"),)), roofline("A100-80GB", "Llama-3.1-70B"))
