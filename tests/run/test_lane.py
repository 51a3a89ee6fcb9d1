"""The loop on a scripted executor: times are exact, tokens are made up, books must balance."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.analysis.checks import check_lane
from lab.engine.scripted import ScriptedExecutor, token_of
from lab.engine.step import Row
from lab.run.lane import Lane
from lab.run.race import race, to_the_end
from lab.run.record import Columns, LaneRecord
from lab.scheduling.policy import MODES, Policy, mode
from lab.workload.request import Request, Workload

# ---- who goes when


def test_nine_waiting_requests_leave_as_four_four_and_one(lanes):
    lane = lanes.run(mode("static", 4), lanes.workload([2] * 9))
    assert [ids for _, ids, _ in lanes.dispatches(lane)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]


def test_with_a_maximum_of_one_nine_requests_are_nine_batches(lanes):
    lane = lanes.run(mode("dynamic", 1, 0.5), lanes.workload([2] * 9))
    assert [ids for _, ids, _ in lanes.dispatches(lane)] == [[i] for i in range(9)]


def test_no_request_waits_longer_than_the_window_and_the_running_batch(lanes):
    arrivals = [0.06 * i for i in range(34)]
    work = lanes.workload([1] * 34, arrivals=arrivals)
    lane = lanes.run(mode("dynamic", 64, 0.1), work, 0.001)
    starts = {i: start for start, ids, _ in lanes.dispatches(lane) for i in ids}
    assert lanes.dispatches(lane)[0][0] == pytest.approx(0.1)
    assert max(starts[i] - arrivals[i] for i in starts) <= 0.1 + 0.001 + 1e-9


def test_the_queue_goes_on_collecting_while_the_device_is_busy(lanes):
    work = lanes.workload([1] * 5, arrivals=[0.0, 0.1, 0.2, 0.3, 0.4])
    lane = lanes.run(mode("dynamic", 8, 0.0), work, 1.0)
    assert [(start, ids) for start, ids, _ in lanes.dispatches(lane)] == [(0.0, [0]), (1.0, [1, 2, 3, 4])]


@pytest.mark.parametrize(("window_starts_at", "leaves"), [("arrival", 0.25), ("pickup", 0.3)])
def test_the_two_window_clocks_differ_by_the_window_when_someone_arrives_in_mid_step(
    lanes, window_starts_at, leaves
):
    policy = Policy("dynamic", 8, 0.05, refill=False, padded=True, window_starts_at=window_starts_at)
    work = lanes.workload([1, 1], arrivals=[0.0, 0.1])
    lane = lanes.run(policy, work, 0.2)
    first, second = (start for start, _, _ in lanes.dispatches(lane))
    assert first == pytest.approx(0.05)
    assert second == pytest.approx(leaves)  # in mid-step: it came at 0.1, the device was free at 0.25


def test_six_requests_leave_as_four_then_two_by_the_end_of_their_window(lanes):
    lane = lanes.run(mode("dynamic", 4, 0.3), lanes.workload([2] * 6), 0.1)
    (_, first, _), (start, second, _) = lanes.dispatches(lane)
    assert (first, second) == ([0, 1, 2, 3], [4, 5])
    assert start == pytest.approx(0.3)  # their window; the device was free at 0.2


def test_with_run_at_once_below_the_two_leave_as_soon_as_the_device_is_free(lanes):
    policy = Policy("dynamic", 4, 0.3, refill=False, padded=True, run_at_once_below=4)
    lane = lanes.run(policy, lanes.workload([2] * 6), 0.1)
    assert lanes.dispatches(lane)[1][0] == pytest.approx(0.2)


def test_static_waits_for_a_full_batch_and_leaves_half_empty_at_the_end(lanes):
    work = lanes.workload([1] * 3, arrivals=[0.0, 1.0, 2.0])
    lane = lanes.run(mode("static", 2), work)
    assert [(start, ids) for start, ids, _ in lanes.dispatches(lane)] == [(1.0, [0, 1]), (2.0, [2])]


def test_in_continuous_mode_a_freed_seat_is_taken_in_the_very_next_step(lanes):
    lane = lanes.run(mode("continuous", 2), lanes.workload([1, 3, 2]))
    rows = [[row.request for row in run.rows] for run in lanes.runs(lane)]
    assert rows == [[0, 1], [1, 2], [1, 2]]


# ---- what is computed


def test_a_padded_batch_computes_its_finished_rows_until_its_end(lanes):
    lane = lanes.run(mode("static", 2), lanes.workload([1, 4], prompts=[3, 7]))
    assert [[(row.live, row.padded_to) for row in run.rows] for run in lanes.runs(lane)] == [
        [(True, 7), (True, 7)],
        [(False, 1), (True, 1)],
        [(False, 1), (True, 1)],
        [(False, 1), (True, 1)],
    ]


def test_without_padding_a_finished_row_leaves_but_its_seat_stays_shut(lanes):
    policy = Policy("ragged static", 2, math.inf, refill=False, padded=False)
    lane = lanes.run(policy, lanes.workload([1, 3, 1]))
    assert [[row.request for row in run.rows] for run in lanes.runs(lane)] == [[0, 1], [1], [1], [2]]


def test_stop_tokens_end_each_row_at_its_own_step_in_any_order_of_rows():
    for order in itertools.permutations([3, 7, 12]):
        requests = tuple(Request(i, 0.0, 20, prompt_ids=(1, 2)) for i in range(3))
        for policy in (mode("static", 3), mode("continuous", 3), mode("none")):
            executor = ScriptedExecutor(lambda step: 0.01, ends=dict(enumerate(order)), stop_id=49_999)
            lane = Lane(
                policy,
                Workload("w", requests),
                executor,
                kv_budget=1000,
                context=100,
                stop_ids=frozenset({49_999}),
            )
            to_the_end([lane])
            assert [len(lane.record().answers()[i]) for i in range(3)] == list(order)


def test_the_tokens_of_every_mode_are_those_of_the_request_alone(lanes):
    work = lanes.workload([1, 5, 9, 2, 7], prompts=[3, 8, 2, 9, 1])
    alone = {
        r.id: [token_of(Row(0, r.id, r.prompt_ids, 0, True, 1), k) for k in range(r.output_tokens)]
        for r in work.requests
    }
    for name in MODES:
        assert lanes.run(mode(name, 3), work).record().answers() == alone


# ---- memory


def test_kv_room_is_reserved_as_a_rectangle_or_row_by_row(lanes):
    work = lanes.workload([1, 4], prompts=[3, 7])
    padded = lanes.run(mode("static", 2), work).record().columns.kv_reserved
    ragged = lanes.run(mode("continuous", 2), work).record().columns.kv_reserved
    assert padded == (2 * (7 + 4),) * 4
    assert ragged == (4 + 11, 11, 11, 11)


def test_a_request_that_can_never_fit_is_refused_with_the_numbers_and_the_others_run(lanes):
    work = lanes.workload([200, 2, 2], prompts=[1000, 5, 5])
    for name in MODES:
        lane = lanes.run(mode(name, 4), work, kv_budget=1000)
        assert lane.refused == {
            0: "needs 1200 tokens (1000 of prompt, up to 200 of answer); the KV budget holds 1000"
        }
        assert sorted(lane.record().answers()) == [1, 2]
        assert lane.ended == 3


def test_a_request_longer_than_the_context_is_refused(lanes):
    lane = Lane(
        mode("none"),
        lanes.workload([5], prompts=[8]),
        ScriptedExecutor(lambda step: 1.0),
        kv_budget=1000,
        context=12,
    )
    assert "the model attends to at most 12" in lane.refused[0]


def test_the_budget_bounds_how_many_run_together(lanes):
    lane = lanes.run(mode("continuous", 8), lanes.workload([5] * 8), kv_budget=35)
    assert max(len(run.rows) for run in lanes.runs(lane)) == 3
    assert max(lane.record().columns.kv_reserved) <= 35


# ---- arrivals that depend on answers


def closed_loop(users: int, turns: int, think: float) -> Workload:
    return Workload(
        "closed",
        tuple(
            Request(
                turn * users + user,
                think if turn else 0.0,
                2,
                prompt_ids=(1, 2, 3),
                output_tokens=2,
                follows=(turn - 1) * users + user if turn else None,
            )
            for turn in range(turns)
            for user in range(users)
        ),
    )


def test_a_user_asks_again_think_time_after_the_last_answer_on_the_lanes_own_clock(lanes):
    lane = lanes.run(mode("none"), closed_loop(1, 3, think=0.5), 0.25)
    assert [start for start, _, _ in lanes.dispatches(lane)] == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("name", MODES)
def test_a_closed_loop_ends_in_every_mode(lanes, name):
    lane = lanes.run(mode(name, 4, 0.2), closed_loop(3, 4, think=0.1), 0.05)
    assert len(lane.record().answers()) == 12


def test_a_question_after_a_refused_one_still_comes(lanes):
    first = Request(0, 0.0, 500, prompt_ids=(1,) * 600, output_tokens=1)
    second = Request(1, 0.5, 1, prompt_ids=(1,), output_tokens=1, follows=0)
    lane = lanes.run(mode("continuous"), Workload("w", (first, second)), kv_budget=100)
    assert [(start, ids) for start, ids, _ in lanes.dispatches(lane)] == [(0.5, [1])]


# ---- groups


def test_two_groups_work_at_the_same_time_each_on_its_own_clock(lanes):
    lane = lanes.run(mode("static", 2), lanes.workload([4] * 4), 1.0, groups=2)
    first, second = (run for run in lanes.runs(lane) if run.prefill)
    assert (first.group, second.group) == (0, 1)
    assert first.start == second.start == 0.0
    assert max(run.ends[-1] for run in lanes.runs(lane)) == 4.0


def test_a_request_stays_on_its_group_and_groups_never_share_a_slot(lanes):
    work = lanes.workload([3, 1, 4, 1, 5, 9, 2, 6], arrivals=[0.1 * i for i in range(8)])
    lane = lanes.run(mode("continuous", 2), work, 0.07, groups=3)
    homes: dict[int, set[tuple[int, int]]] = {}
    for run in lanes.runs(lane):
        for row in run.rows:
            homes.setdefault(row.request, set()).add((run.group, row.slot))
            assert row.slot // 2 == run.group
    assert all(len(home) == 1 for home in homes.values())


def test_an_idle_group_takes_the_question_that_another_groups_answer_brought(lanes):
    requests = (
        Request(0, 0.0, 1, prompt_ids=(1,), output_tokens=1),
        Request(1, 0.0, 9, prompt_ids=(1,), output_tokens=9),
        Request(2, 0.5, 1, prompt_ids=(1,), output_tokens=1, follows=0),
        Request(3, 20.0, 1, prompt_ids=(1,), output_tokens=1),
    )
    work = Workload("w", (requests[0], requests[1], requests[2], requests[3]))
    lane = lanes.run(mode("none"), work, 1.0, groups=2)
    assert {ids[0]: start for start, ids, _ in lanes.dispatches(lane)} == {0: 0.0, 1: 0.0, 2: 1.5, 3: 20.0}


# ---- a batch scattered over groups


requests_strategy = st.lists(
    st.tuples(st.integers(1, 12), st.integers(0, 40), st.integers(1, 9)), min_size=1, max_size=14
)


def _weights_and_rows(step):
    """A step that costs 1 s for the weights and 0.125 s a row."""
    return 1.0 + 0.125 * len(step.rows)


def test_a_scattered_batch_reads_the_weights_once_a_group_where_a_whole_one_reads_them_once(lanes):
    work = lanes.workload([4] * 8)
    whole = lanes.run(mode("static", 4), work, _weights_and_rows, groups=2)
    scattered = lanes.run(mode("static", 4), work, _weights_and_rows, groups=2, scattered=True)
    assert _ends(lanes, whole) == 4 * (1 + 0.125 * 4)
    assert _ends(lanes, scattered) == 2 * 4 * (1 + 0.125 * 2)
    check_lane(work, scattered.record(), complete=True)


def test_the_parts_of_a_scattered_step_begin_together_and_wait_for_the_slowest(lanes):
    work = lanes.workload([3, 3, 3], prompts=[5, 80, 5])
    lane = lanes.run(
        mode("continuous", 3), work, lambda s: sum(r.padded_to for r in s.rows) / 8, groups=2, scattered=True
    )
    starts = [(run.start, run.group) for run in lanes.runs(lane)]
    assert starts == [(0.0, 0), (0.0, 1), (10.0, 0), (10.0, 1), (10.25, 0), (10.25, 1)]
    check_lane(work, lane.record(), complete=True)


@settings(max_examples=60, deadline=None)
@given(
    rows=requests_strategy,
    name=st.sampled_from(MODES),
    size=st.integers(1, 7),
    groups=st.integers(2, 4),
    budget=st.integers(25, 120),
)
def test_however_a_batch_is_scattered_everybody_is_served_once_and_no_group_overdraws(
    rows, name, size, groups, budget
):
    rows = sorted(rows, key=lambda row: row[1])
    requests = tuple(
        Request(i, t / 8, n, prompt_ids=tuple(range(1, p + 1)), output_tokens=n) for i, (n, t, p) in enumerate(rows)
    )
    work, executor = Workload("w", requests), ScriptedExecutor(_weights_and_rows)
    lane = Lane(mode(name, size), work, executor, kv_budget=budget, context=10_000, groups=groups, scattered=True)
    to_the_end([lane])
    assert executor.cached == {}
    check_lane(work, lane.record(), complete=True)
    assert {i: len(answer) for i, answer in lane.record().answers().items()} == {
        r.id: r.output_tokens for r in requests if r.id not in lane.refused
    }


def _ends(lanes, lane):
    return max(run.ends[-1] for run in lanes.runs(lane))


# ---- runs of steps


def single_steps(columns: Columns) -> list[tuple[float, float, tuple[int, ...]]]:
    """(start, seconds, tokens) of every step, whatever runs they were stored in."""
    lane = LaneRecord(mode("none"), 1, 1, (), columns)
    return [
        (end - seconds, seconds, tokens)
        for run in lane.runs()
        for end, seconds, tokens in zip(run.ends, run.seconds, run.tokens, strict=True)
    ]


@settings(max_examples=60, deadline=None)
@given(
    rows=requests_strategy,
    name=st.sampled_from(MODES),
    size=st.integers(1, 5),
    window=st.sampled_from([0.0, 0.125, 0.5]),
    groups=st.integers(1, 2),
)
def test_expanding_runs_of_steps_gives_the_same_as_single_steps(rows, name, size, window, groups):
    rows = sorted(rows, key=lambda row: row[1])
    requests = tuple(
        Request(i, t / 8, n, prompt_ids=tuple(range(1, p + 1)), output_tokens=n) for i, (n, t, p) in enumerate(rows)
    )
    both = []
    for many in (False, True):
        executor = ScriptedExecutor(lambda step: len(step.rows) / 64, many=many)
        lane = Lane(
            mode(name, size, window),
            Workload("w", requests),
            executor,
            kv_budget=10_000,
            context=10_000,
            groups=groups,
        )
        to_the_end([lane])
        both.append((sorted(single_steps(lane.record().columns)), lane.record().answers(), executor.calls))
    (steps, tokens, calls), (steps_many, tokens_many, calls_many) = both
    assert steps_many == steps
    assert tokens_many == tokens
    assert calls_many <= calls


# ---- the race


def test_the_lane_furthest_behind_acts_next(lanes):
    work = lanes.workload([6] * 6)
    order = []

    def noting(name, seconds):
        def duration(step):
            order.append((pool[name].time, name))
            return seconds

        return ScriptedExecutor(duration)

    pool = {}
    for i, name in enumerate(MODES):
        pool[name] = Lane(mode(name, 3), work, noting(name, (i + 1) / 16), kv_budget=1000, context=100)
    to_the_end(list(pool.values()))
    assert [time for time, _ in order] == sorted(time for time, _ in order)
    assert {name for _, name in order} == set(MODES)


def test_a_race_gives_each_lane_the_record_it_has_alone(lanes):
    work = lanes.workload([3, 1, 4, 1, 5], arrivals=[0, 0.1, 0.1, 0.4, 0.9])
    pool = [
        Lane(mode(name, 3), work, ScriptedExecutor(lambda step: 0.1), kv_budget=1000, context=100) for name in MODES
    ]
    to_the_end(pool)
    for lane in pool:
        assert lane.record() == lanes.run(lane.policy, work, 0.1, kv_budget=1000).record()


def test_a_workload_without_tokens_is_refused():
    with pytest.raises(ValueError, match="not tokenized"):
        Lane(
            mode("none"),
            Workload("w", (Request(0, 0.0, 1, prompt="hello"),)),
            ScriptedExecutor(lambda step: 1.0),
            kv_budget=10,
            context=10,
        )


def test_columns_can_be_read_in_pieces_that_add_up_to_the_whole(lanes):
    lane = Lane(
        mode("static", 2),
        lanes.workload([2, 3, 4]),
        ScriptedExecutor(lambda step: 0.1),
        kv_budget=1000,
        context=100,
    )
    pieces, mark = Columns(), None
    for _ in race([lane]):
        pieces = pieces + (lane.columns_since(mark) if mark else lane.record().columns)
        mark = lane.mark
    assert pieces == lane.record().columns
