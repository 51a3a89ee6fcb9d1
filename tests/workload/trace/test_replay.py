"""What is replayed of a trace: rules by example, and what holds for every trace and every replay."""

import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.workload.request import MAX_REQUESTS
from lab.workload.scenarios import SCENARIOS, TRACES
from lab.workload.trace.preview import Concern, preview
from lab.workload.trace.reading import Dropped, read_trace, read_trace_file
from lab.workload.trace.replay import Replay, cut, workload_of

HEAD = "arrived_at,num_prefill_tokens,num_decode_tokens\n"


def trace_of(rows, head=HEAD):
    text = head + "".join(",".join(map(str, row)) + "\n" for row in rows)
    return read_trace(io.BytesIO(text.encode()), "t.csv")


rows = st.lists(
    st.tuples(st.integers(0, 10**6).map(lambda t: t / 8), st.integers(0, 9000), st.integers(0, 900)),
    min_size=1,
    max_size=40,
).filter(lambda found: any(p and o for _, p, o in found))


@st.composite
def replays(draw):
    start = draw(st.floats(0, 1e5))
    count = st.none() | st.integers(1, 5000)
    return Replay(
        start=start,
        end=draw(st.none() | st.floats(0.01, 1e5).map(lambda length: start + length)),
        requests=draw(count),
        length_scale=draw(st.floats(0.001, 10)),
        most_prompt_tokens=draw(count),
        most_output_tokens=draw(count),
        longest_gap=draw(st.none() | st.floats(0, 1e4)),
        speed_up=draw(st.floats(0.001, 1e6)),
    )


@given(rows, replays())
def test_whatever_is_asked_rows_are_kept_or_dropped_with_a_reason_and_lengths_and_times_stay_possible(
    found, replay
):
    trace = trace_of(sorted(found))
    made = cut(trace, replay)
    kept = len(made.arrivals)
    assert trace.read == len(found) == kept + sum(made.dropped.values())
    assert kept <= (replay.requests or math.inf)
    seen = preview(made)
    assert seen.kept == kept
    assert (Concern.EMPTY in seen.concerns) == (kept == 0)
    if not kept:
        return
    assert made.arrivals[0] == 0
    assert (np.diff(made.arrivals) >= 0).all()
    assert made.prompt.min() >= 1
    assert made.prompt.max() <= (replay.most_prompt_tokens or 90_000)
    assert made.output.max() <= (replay.most_output_tokens or 9000)
    if replay.longest_gap is not None:
        assert np.diff(made.arrivals).max(initial=0) <= replay.longest_gap / replay.speed_up * (1 + 1e-9) + 1e-9


@given(rows)
def test_a_replay_that_asks_for_nothing_changes_nothing(found):
    trace = trace_of(sorted(found))
    made = cut(trace, Replay())
    assert made.arrivals.tolist() == trace.times.tolist()
    assert made.prompt.tolist() == trace.prompt.tolist()
    assert made.output.tolist() == trace.output.tolist()
    assert Replay().said == ""


@given(rows, st.floats(0, 130_000))
def test_two_slices_that_meet_hold_every_request_once(found, middle):
    trace = trace_of(sorted(found))
    before = [] if middle == 0 else cut(trace, Replay(end=middle)).prompt.tolist()
    assert before + cut(trace, Replay(start=middle)).prompt.tolist() == trace.prompt.tolist()


@given(rows, st.floats(0.001, 10), st.integers(1, 9000))
def test_scaling_keeps_the_order_of_lengths_and_a_cap_touches_only_longer_ones(found, scale, most):
    trace = trace_of(sorted(found))
    free = cut(trace, Replay(length_scale=scale))
    capped = cut(trace, Replay(length_scale=scale, most_prompt_tokens=most))
    by_length = np.argsort(trace.prompt)
    assert (np.diff(free.prompt[by_length]) >= 0).all()
    assert (abs(free.prompt - trace.prompt * scale) <= 0.5)[free.prompt > 1].all()
    assert capped.prompt.tolist() == [min(n, most) for n in free.prompt.tolist()]
    assert capped.prompts_capped == sum(n > most for n in free.prompt.tolist())


@given(rows, st.floats(0.01, 100))
def test_a_speed_up_divides_every_arrival(found, speed_up):
    trace = trace_of(sorted(found))
    assert cut(trace, Replay(speed_up=speed_up)).arrivals == pytest.approx(trace.times / speed_up)


def test_a_slice_holds_its_start_and_not_its_end():
    trace = trace_of([(t, 10 + t, 1) for t in (0, 60, 90, 180)])
    made = cut(trace, Replay(start=60, end=180))
    assert made.prompt.tolist() == [70, 100]
    assert made.arrivals.tolist() == [0, 30]
    assert made.dropped == {Dropped.OUTSIDE: 2}


def test_long_gaps_shrink_and_short_ones_stay():
    trace = trace_of([(0, 1, 1), (1, 1, 1), (100, 1, 1), (102, 1, 1)])
    assert cut(trace, Replay(longest_gap=5, speed_up=2)).arrivals.tolist() == [0, 0.5, 3, 4]


def test_the_number_of_requests_takes_the_first_and_says_how_many_were_left():
    made = cut(trace_of([(t, t + 1, 1) for t in range(5)]), Replay(start=1, requests=3))
    assert made.prompt.tolist() == [2, 3, 4]
    assert made.dropped == {Dropped.OUTSIDE: 1, Dropped.OVER: 1}


def test_the_workload_forces_lengths_and_says_where_they_come_from():
    made = cut(trace_of([(0, 800, 80), (4, 3, 1)]), Replay(length_scale=0.125, speed_up=2))
    workload = workload_of(made, "name", seed=3)
    assert [(r.arrival, r.prompt_length, r.output_tokens) for r in workload.requests] == [(0, 100, 10), (2, 1, 1)]
    assert workload.source == "t.csv (Vidur): lengths × 0.125, 2 × as fast"
    assert workload == workload_of(made, "name", seed=3)
    assert [r.prompt for r in workload.requests] != [r.prompt for r in workload_of(made, "name", 4).requests]


def test_a_run_takes_no_empty_too_long_or_too_large_a_trace():
    many = trace_of([(t, 1, 1) for t in range(MAX_REQUESTS + 1)])
    with pytest.raises(ValueError, match=r"257 requests of t\.csv are left; a run takes 1 to 256"):
        workload_of(cut(many, Replay()), "name")
    with pytest.raises(ValueError, match=r"0 requests of t\.csv are left"):
        workload_of(cut(many, Replay(start=1000)), "name")
    with pytest.raises(ValueError, match="the prompts have 1,800,000 tokens together"):
        workload_of(cut(trace_of([(0, 900_000, 1), (1, 900_000, 1)]), Replay()), "name")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"start": -1}, "the start is -1; it must lie between 0 and"),
        ({"start": math.nan}, "the start is nan"),
        ({"end": math.inf}, "the end is inf"),
        ({"start": 5, "end": 5}, "the slice ends at 5 s; it must end after its start, 5 s"),
        ({"length_scale": 0}, "the length scale is 0; it must lie between 0.001 and 10$"),
        ({"speed_up": -2}, "the speed-up is -2"),
        ({"speed_up": 1e-300}, "the speed-up is 1e-300"),
        ({"longest_gap": -0.1}, "the longest gap is -0.1"),
        ({"requests": 0}, "the number of requests is 0; it must be at least 1"),
        ({"most_prompt_tokens": 0}, "the cap of prompts is 0"),
        ({"most_output_tokens": -4}, "the cap of answers is -4"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_its_value(asked, says):
    with pytest.raises(ValueError, match=says):
        Replay(**asked)


def test_the_preview_counts_what_anyone_can_count():
    seen = preview(cut(trace_of([(0, 10, 1), (0.5, 20, 1), (2, 30, 1), (4, 100, 5)]), Replay()))
    assert (seen.read, seen.kept, seen.dropped) == (4, 4, {})
    assert (seen.span, seen.rate, seen.peak) == (4, 1, 2)
    assert (seen.prompt.mean, seen.prompt.p50, seen.prompt.max) == (40, 25, 100)
    assert seen.prompt.p95 == pytest.approx(89.5)
    assert (seen.output.total, seen.output.capped) == (8, 0)
    counts = [2, 0, 1, 0, 1]  # arrivals in each second
    assert seen.dispersion == pytest.approx(np.var(counts) / np.mean(counts))
    gaps = [0.5, 1.5, 2]
    assert seen.gap_cv == pytest.approx(np.std(gaps) / np.mean(gaps))
    assert seen.concerns == ()


def test_a_request_alone_has_no_rate_and_no_burstiness():
    seen = preview(cut(trace_of([(7, 10, 1)]), Replay()))
    assert (seen.span, seen.rate, seen.gap_cv, seen.dispersion, seen.peak) == (0, None, None, None, 1)


def test_centuries_of_silence_cost_no_memory():
    seen = preview(cut(trace_of([(0, 1, 1), (1e13, 1, 1)]), Replay()))
    assert seen.span == 1e13
    assert seen.dispersion == pytest.approx(1)


@pytest.mark.parametrize(
    ("made", "concern"),
    [
        (lambda: cut(trace_of([(5, 1, 1), (4, 1, 1)]), Replay()), Concern.SORTED),
        (
            lambda: cut(trace_of([(1, 1)], "num_prefill_tokens,num_decode_tokens\n"), Replay()),
            Concern.NO_TIMES,
        ),
        (lambda: cut(trace_of([(3 * (i // 10), 1, 1) for i in range(40)]), Replay()), Concern.TICKS),
        (
            lambda: cut(trace_of([(i / 100, 1, 1) for i in range(999)] + [(100, 1, 1)]), Replay(start=50)),
            Concern.QUIET,
        ),
        (lambda: cut(trace_of([(0, 1, 1), (100, 1, 1)]), Replay(start=10, end=20)), Concern.EMPTY),
        (lambda: cut(trace_of([(i, 1, 1) for i in range(257)]), Replay()), Concern.TOO_MANY),
    ],
)
def test_what_is_odd_about_a_trace_or_a_slice_is_said_and_nothing_else(made, concern):
    assert preview(made()).concerns == (concern,)


def test_of_the_shipped_slices_one_is_nearly_poisson_and_one_bursty():
    conversation, code = (
        preview(cut(read_trace_file(TRACES / SCENARIOS[name].trace.file), Replay()))
        for name in ("conversation", "code")
    )
    assert 0.5 < conversation.dispersion < 1.5 < 5 < code.dispersion
    assert 0.8 < conversation.gap_cv < 1.2 < 2 < code.gap_cv
