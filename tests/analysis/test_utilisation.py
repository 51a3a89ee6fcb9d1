"""Shares of a device, by hand: what must be read and multiplied, over what could have been."""

import pytest

from lab.analysis.metrics import lane_metrics
from lab.analysis.utilisation import Peaks, by_live_rows, bytes_needed, flop_share, flops_needed, step_uses
from lab.engine.roofline import Efficiency, Roofline
from lab.run.lanes import RunSpec
from lab.run.predict import what_if
from lab.scheduling.policy import mode
from lab.spec.devices import ACCELERATORS
from lab.spec.flops import Flops, flops_of
from lab.spec.model_shape import WELL_KNOWN
from lab.workload.request import Request, Workload

FLOPS = Flops(position=1000, key=10, square=5)
PEAKS = Peaks(bytes_per_s=2_000_000, flops_per_s=50_000)


def test_a_step_must_read_the_weights_once_and_the_cache_of_the_living(by_hand):
    """Weights 1,000,000 bytes, 100 bytes a cached token."""
    source = by_hand.record(by_hand.workload([1])).provenance
    rows = (by_hand.row(0, 9), by_hand.row(1, 19), by_hand.row(2, 99, live=False), by_hand.row(3, 0, fed=7))
    assert bytes_needed(rows, source) == 1_000_000 + (10 + 20) * 100


def test_padding_and_dead_rows_need_no_operations(by_hand):
    rows = (by_hand.row(0, 9), by_hand.row(2, 99, live=False), by_hand.row(3, 0, fed=7, padded_to=12))
    assert flops_needed(rows, FLOPS) == (1000 + 10 * 10) + (7 * 1000 + 5 * 49)


def test_each_step_of_a_run_has_its_own_context(by_hand):
    rows = (by_hand.row(0, 9), by_hand.row(1, 9))
    lane = by_hand.lane(mode("continuous", 2), [by_hand.step(3.0, (1.0, 1.0), rows)])
    source = by_hand.record(by_hand.workload([1, 1]), lane).provenance
    first, second = step_uses(lane, source, FLOPS, PEAKS)
    assert (first.start, second.start) == (3.0, 4.0)
    assert first.mbu == pytest.approx(1_002_000 / 2_000_000)
    assert second.mbu == pytest.approx(1_002_200 / 2_000_000)
    assert (first.flop_share, second.flop_share) == pytest.approx((2200 / 50_000, 2220 / 50_000))


def test_the_mbu_of_all_decode_steps_is_that_of_the_metrics(by_hand):
    workload = by_hand.workload([6, 3, 9], prompts=[4, 2, 7])
    lane = by_hand.run(mode("continuous", 2), workload, lambda step: 0.5 + len(step.rows) / 8)
    record = by_hand.record(workload, lane, read_bytes_per_s=PEAKS.bytes_per_s)
    decodes = [use for use in step_uses(lane, record.provenance, FLOPS, PEAKS) if not use.prefill]
    together = sum(use.mbu * use.seconds for use in decodes) / sum(use.seconds for use in decodes)
    assert together == pytest.approx(lane_metrics(record, lane).mbu)


def test_a_row_alone_keeps_a_device_busy_all_the_time_and_uses_a_hundredth_of_its_operations():
    """An 8B model on an H100, everything at its peak: something runs all the time with 1 row as with 64, which make
    sixty times the tokens."""
    shape, device = WELL_KNOWN["Llama-3.1-8B"], ACCELERATORS["H100"]
    roofline = Roofline(device, shape, Efficiency(1.0, 1.0, 0.0))
    requests = tuple(Request(i, 0.0, 20, prompt_ids=(1,) * 16, output_tokens=20) for i in range(64))
    peaks, flops = Peaks(device.bytes_per_s, device.flops), flops_of(shape)
    panel = {}
    for size in (1, 64):
        record = what_if(RunSpec(Workload("burst", requests), (mode("continuous", size),)), roofline)
        lane = record.lanes[0]
        assert lane_metrics(record, lane).busy_fraction == pytest.approx(1.0)
        [panel[size]] = by_live_rows(step_uses(lane, record.provenance, flops, peaks))
    assert panel[1].kernel_ran == panel[64].kernel_ran == 1.0
    assert panel[1].mbu == pytest.approx(1.0, abs=0.01)
    assert panel[1].flop_share == pytest.approx(1 / 295, rel=0.03)  # the ridge: operations ÷ bytes per second
    assert panel[64].flop_share == pytest.approx(64 / 295, rel=0.05)
    assert panel[64].tokens_per_s > 60 * panel[1].tokens_per_s


def test_a_lane_without_steps_has_no_share(by_hand):
    lane = by_hand.lane(mode("none"), [])
    assert flop_share(step_uses(lane, by_hand.record(by_hand.workload([1])).provenance, FLOPS, PEAKS)) is None
    assert by_live_rows(()) == ()


def test_a_share_of_all_steps_is_weighted_by_time(by_hand):
    steps = [by_hand.step(0.0, (1.0,), (by_hand.row(0, 9),)), by_hand.step(1.0, (3.0,), (by_hand.row(0, 10),))]
    lane = by_hand.lane(mode("none"), steps)
    source = by_hand.record(by_hand.workload([1])).provenance
    assert flop_share(step_uses(lane, source, FLOPS, PEAKS)) == pytest.approx((1100 + 1110) / 4 / 50_000)
