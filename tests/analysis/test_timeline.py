import pytest

from lab.analysis.timeline import request_times


def test_the_first_gap_does_not_contain_the_wait_for_the_first_token(by_hand):
    lane = by_hand.lane(by_hand.mode("none"), by_hand.stream([1.0, 1.1, 1.2]))
    (r,) = request_times(by_hand.workload([3]), lane)
    assert r.status == "finished"
    assert r.ttft == 1.0
    assert r.gaps == pytest.approx([0.1, 0.1])
    assert r.tpot == pytest.approx(0.1)
    assert r.e2e == 1.2
    assert (r.first_scheduled, r.queue_delay, r.tokens) == (0.0, 0.0, 3)


def test_the_first_token_comes_at_the_end_of_the_prompts_step_and_counts_even_if_its_text_is_empty(by_hand):
    lane = by_hand.lane(by_hand.mode("none"), by_hand.stream([0.214, 0.3], start=0.005))
    (r,) = request_times(by_hand.workload([2]), lane)
    assert r.first_token == pytest.approx(0.214)
    assert r.first_scheduled == 0.005


def test_an_answer_of_one_token_has_no_time_per_output_token(by_hand):
    lane = by_hand.lane(by_hand.mode("none"), by_hand.stream([0.5]))
    (r,) = request_times(by_hand.workload([1]), lane)
    assert (r.tpot, r.gaps, r.e2e) == (None, (), 0.5)


def test_rows_of_the_dead_give_no_tokens(by_hand):
    lane = by_hand.lane(by_hand.mode("static", 2), by_hand.padded_batch([1, 4]))
    first, second = request_times(by_hand.workload([1, 4]), lane)
    assert first.token_times == (1.0,)
    assert second.token_times == (1.0, 2.0, 3.0, 4.0)


def test_in_a_run_of_many_steps_each_step_gives_a_token(by_hand):
    steps = [
        by_hand.step(0.0, (0.5,), (by_hand.row(0, 0, fed=3),)),
        by_hand.step(0.5, (0.1, 0.1, 0.2), (by_hand.row(0, 3),)),
    ]
    (r,) = request_times(by_hand.workload([4]), by_hand.lane(by_hand.mode("none"), steps))
    assert r.token_times == pytest.approx((0.5, 0.6, 0.7, 0.9))
    assert r.status == "finished"


def test_a_run_in_progress_has_unfinished_requests_and_no_end_for_them(by_hand):
    whole = by_hand.padded_batch([2, 4])
    first, second, third = request_times(
        by_hand.workload([2, 4, 1]), by_hand.lane(by_hand.mode("static", 2), whole[:3])
    )
    assert (first.status, second.status, third.status) == ("finished", "unfinished", "unfinished")
    assert (second.tokens, second.e2e, second.tpot) == (3, None, None)
    assert second.ttft == 1.0
    assert (third.first_scheduled, third.first_token, third.last_token, third.ttft) == (None,) * 4


def test_a_lane_that_has_not_begun_has_no_times(by_hand):
    (r,) = request_times(by_hand.workload([2]), by_hand.lane(by_hand.mode("none"), []))
    assert (r.status, r.token_times) == ("unfinished", ())


def test_refused_requests_are_neither_finished_nor_unfinished(by_hand):
    lane = by_hand.lane(by_hand.mode("none"), by_hand.stream([1.0], request=1), refused=[(0, "too long")])
    refused, served = request_times(by_hand.workload([5, 1]), lane)
    assert (refused.status, served.status) == ("refused", "finished")


def test_in_a_closed_loop_the_arrival_is_think_time_after_the_answer_before(by_hand):
    workload = by_hand.workload([2, 1, 1, 1], arrivals=[0.0, 0.5, 0.5, 0.5], follows=[None, 0, 1, 2])
    steps = by_hand.stream([1.0, 2.0]) + by_hand.stream([3.5], request=1, start=3.0)
    lane = by_hand.lane(by_hand.mode("none"), steps)
    assert [r.arrival for r in request_times(workload, lane)] == [0.0, 2.5, 4.0, None]
    assert request_times(workload, lane)[1].queue_delay == 0.5


def test_a_refused_answer_is_followed_think_time_after_its_arrival(by_hand):
    workload = by_hand.workload([2, 1], arrivals=[1.0, 0.5], follows=[None, 0])
    lane = by_hand.lane(by_hand.mode("none"), [], refused=[(0, "too long")])
    assert request_times(workload, lane)[1].arrival == 1.5


def test_an_answer_of_unknown_length_is_over_with_a_token_that_ends_answers(by_hand):
    steps = by_hand.padded_batch([2, 4])
    workload = by_hand.workload([None, None], new=10)
    first, second = request_times(workload, by_hand.lane(by_hand.mode("static", 2), steps, stop_ids=(1,)))
    assert (first.status, first.tokens) == ("finished", 2)
    assert second.status == "unfinished"
