from dataclasses import replace

from lab.analysis.identity import token_identity
from lab.run.record import Columns


def three_lanes(by_hand, **known):
    """Three lanes with the same four answers; tokens are 100 × request + position."""
    workload = by_hand.workload([3, 3, 2, 1])
    lanes = []
    for name in ("none", "static", "continuous"):
        lane = by_hand.lane(by_hand.mode("static", 4), by_hand.padded_batch([3, 3, 2, 1]))
        lanes.append(replace(lane, policy=replace(lane.policy, name=name)))
    return by_hand.record(workload, *lanes, **known)


def with_token(record, lane, old, new):
    """The record with one token of one lane changed."""
    lanes = list(record.lanes)
    columns = lanes[lane].columns
    changed = tuple(new if t == old else t for t in columns.token)
    lanes[lane] = replace(lanes[lane], columns=replace(columns, token=changed))
    return replace(record, lanes=tuple(lanes))


def test_equal_answers_are_counted_as_identical(by_hand):
    found = token_identity(three_lanes(by_hand))
    assert (found.requests, found.identical, found.ties, found.first_difference) == (4, 4, (), None)


def test_the_first_difference_names_request_position_lanes_and_tokens(by_hand):
    record = with_token(with_token(three_lanes(by_hand), 2, 102, 7), 1, 1, 9)
    found = token_identity(record)
    assert (found.requests, found.identical) == (4, 2)
    assert [d.request for d in found.differences] == [0, 1]
    first = found.first_difference
    assert (first.request, first.position, first.lanes, first.tokens) == (0, 1, ("none", "static"), (1, 9))
    assert found.differences[1].lanes == ("static", "continuous")
    assert first.gap is None


def test_a_narrow_choice_is_a_tie_and_a_wide_one_is_not(by_hand):
    record = with_token(with_token(three_lanes(by_hand), 2, 102, 7), 1, 1, 9)
    found = token_identity(replace(record, logit_gaps=((0, 0.5), (1, 0.0004))))
    assert [d.request for d in found.ties] == [1]
    assert [d.request for d in found.differences] == [0]
    assert (found.identical, found.first_difference.gap) == (2, 0.5)
    assert not token_identity(replace(record, logit_gaps=((0, 1e-3), (1, 1e-3)))).ties


def test_tokens_of_dead_rows_are_no_part_of_an_answer(by_hand):
    assert token_identity(with_token(three_lanes(by_hand), 1, 301, 9)).identical == 4


def test_answers_that_only_one_lane_finished_are_not_compared(by_hand):
    record = three_lanes(by_hand)
    prefix = by_hand.lane(by_hand.mode("static", 4), by_hand.padded_batch([3, 3, 2, 1])[:1])
    found = token_identity(replace(record, lanes=(record.lanes[0], prefix)))
    assert found.requests == 1


def test_predicted_lanes_have_no_tokens_to_compare(by_hand):
    record = three_lanes(by_hand)
    bare = tuple(replace(x, columns=replace(x.columns, token=())) for x in record.lanes)
    assert token_identity(replace(record, lanes=bare)).requests == 0
    assert token_identity(replace(record, lanes=())).requests == 0
    empty = tuple(replace(x, columns=Columns()) for x in record.lanes)
    assert token_identity(replace(record, lanes=empty)).requests == 0


def test_answers_that_end_by_themselves_are_compared_as_far_as_both_go(by_hand):
    """One lane is given three tokens, the other two: the second of them already differs."""
    workload = by_hand.workload([None, None], new=5)
    a = by_hand.lane(by_hand.mode("static", 2), by_hand.padded_batch([3, 5]), stop_ids=(2, 104))
    b = by_hand.lane(by_hand.mode("dynamic", 2), by_hand.padded_batch([2, 5]), stop_ids=(1, 9, 104))
    record = by_hand.record(workload, a, b, free_eos=True)
    assert token_identity(record).identical == 2
    found = token_identity(with_token(record, 1, 1, 9))
    assert (found.first_difference.request, found.first_difference.position) == (0, 1)
