"""The run that ships with the lab."""

from lab.analysis.checks import check_lane
from lab.analysis.identity import token_identity
from lab.run.lengths import SHIPPED
from lab.scheduling.policy import MODES
from lab.ui.page import FIRST
from lab.ui.recorded import recorded

BF16_STEP = 0.25  # between neighbouring bf16 numbers from 32 to 64, where the largest logits lie


def test_a_first_visit_opens_with_a_whole_recorded_run_that_says_so():
    record = recorded(FIRST)
    assert record.provenance.kind == "recorded"
    assert [lane.name for lane in record.lanes] == list(MODES)
    for lane in record.lanes:
        check_lane(record.workload, lane, complete=True)
    found = token_identity(record)
    assert found.requests == len(record.workload.requests)
    assert all(d.gap <= BF16_STEP for d in (*found.ties, *found.differences))  # a choice as close as bf16 can tell


def test_a_run_that_does_not_ship_is_none():
    assert recorded("nothing of that name") is None


def test_the_default_models_lengths_ship_in_both_precisions():
    assert sorted(path.stem.rsplit("-", 1)[1] for path in SHIPPED.glob("*.json")) == ["bf16", "fp32"]
