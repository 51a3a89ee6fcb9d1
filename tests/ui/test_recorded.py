"""The run that ships with the lab."""

from lab.analysis.checks import check_lane
from lab.analysis.identity import token_identity
from lab.run.lengths import SHIPPED
from lab.scheduling.policy import MODES
from lab.ui.page import FIRST
from lab.ui.recorded import recorded


def test_a_first_visit_opens_with_a_whole_recorded_run_that_says_so():
    record = recorded(FIRST)
    assert record.provenance.kind == "recorded"
    assert [lane.name for lane in record.lanes] == list(MODES)
    for lane in record.lanes:
        check_lane(record.workload, lane, complete=True)
    assert token_identity(record).identical == len(record.workload.requests)


def test_a_run_that_does_not_ship_is_none():
    assert recorded("nothing of that name") is None


def test_the_default_models_lengths_ship_in_both_precisions():
    assert sorted(path.stem.rsplit("-", 1)[1] for path in SHIPPED.glob("*.json")) == ["bf16", "fp32"]
