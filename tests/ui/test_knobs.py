"""The knobs in an address: what they mean, what is clamped, and that nothing changes in silence."""

import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.scheduling.policy import MODES
from lab.ui.address import Notice, from_query, last_of, to_query
from lab.ui.knobs import BOUNDS, CHANGES, DEFAULTS, FLAGS, SITUATIONS, TURNS, Knobs, turned_by
from lab.workload.trace.reading import read_trace


def test_an_empty_address_gives_the_defaults_and_they_leave_it_empty():
    assert from_query({}) == (DEFAULTS, [])
    assert to_query(DEFAULTS) == {}


@given(
    st.builds(
        Knobs,
        scenario=st.sampled_from(SITUATIONS),
        modes=st.sets(st.sampled_from(MODES), min_size=1).map(lambda s: tuple(m for m in MODES if m in s)),
        batch=st.integers(1, 32),
        window=st.integers(0, 500),
        rate=st.none() | st.sampled_from([0.25, 2.5, 100.0]),
        requests=st.none() | st.integers(1, 256),
        seed=st.integers(0, 999_999),
        kv=st.none() | st.sampled_from([1.0, 20.0, 5000.0]),
        model=st.sampled_from(["", "dummy:one"]),
        turned=st.sets(st.sampled_from(TURNS)).map(lambda s: tuple(t for t in TURNS if t in s)),
        buckets=st.sets(st.integers(8, 1024), max_size=12).map(lambda s: tuple(sorted(s))),
        priority=st.booleans(),
        urgent=st.integers(0, 100),
        ageing=st.sampled_from([0.0, 0.5, 60.0]),
        aged=st.booleans(),
        bucket_wait=st.none() | st.integers(0, 10_000),
        few=st.integers(1, 32),
        pickup=st.booleans(),
        groups=st.integers(1, 4),
        scattered=st.booleans(),
        users=st.integers(1, 32),
        think=st.integers(0, 10_000),
        trace_start=st.sampled_from([0.0, 12.5]),
        trace_end=st.none() | st.sampled_from([30.0]),
        trace_scale=st.sampled_from([0.0625, 1.0]),
        trace_prompt_cap=st.none() | st.integers(1, 8192),
        trace_gap=st.none() | st.sampled_from([0.25]),
        trace_speed=st.sampled_from([0.5, 1.0, 8.0]),
    )
)
def test_an_address_gives_back_the_knobs_it_was_made_from(knobs):
    assert from_query(to_query(knobs), ["dummy:one"]) == (knobs, [])


@pytest.mark.parametrize(
    ("name", "given", "taken"),
    [
        ("batch", "33", 32),
        ("batch", "0", 1),
        ("batch", "-5", 1),
        ("batch", "4.6", 5),
        ("batch", "inf", 32),
        ("window", "501", 500),
        ("window", "-1", 0),
        ("requests", "1000000", 256),
        ("rate", "0", 0.01),
        ("kv", "1e99", 1_000_000),
        ("groups", "9", 4),
        ("urgent", "101", 100),
        ("ageing", "-1", 0),
        ("trace_scale", "0", 0.001),
    ],
)
def test_what_is_out_of_bounds_is_clamped_and_said(name, given, taken):
    knobs, notices = from_query({name: given})
    assert getattr(knobs, name) == taken
    assert notices == [Notice("clamped", name, given, f"{taken:g}")]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("batch", "many"),
        ("batch", ""),
        ("rate", "nan"),
        ("scenario", "<script>"),
        ("modes", "fast"),
        ("seed", "0x1"),
        ("model", "/etc/passwd"),
        ("model", ""),
        ("turned", "static.free"),
        ("buckets", "48,<b>"),
        ("priority", "yes"),
        ("ageing", "off"),
    ],
)
def test_what_cannot_be_read_leaves_the_default_and_is_said(name, given):
    knobs, notices = from_query({name: given})
    assert knobs == DEFAULTS
    assert [(n.kind, n.knob, n.given) for n in notices] == [("unread", name, given)]


def test_known_modes_are_kept_beside_an_unknown_one():
    knobs, notices = from_query({"modes": "continuous,fast,static"})
    assert knobs.modes == ("static", "continuous")
    assert len(notices) == 1


@pytest.mark.parametrize(
    ("given", "taken"), [("96,48", (48, 96)), ("1,48", (8, 48)), ("48,48", (48,)), ("99999", (1024,))]
)
def test_boundaries_of_buckets_are_put_in_order_and_in_bounds_and_that_is_said(given, taken):
    knobs, notices = from_query({"buckets": given})
    assert knobs.buckets == taken
    assert notices == [Notice("clamped", "buckets", given, ",".join(map(str, taken)))]


def test_a_knob_that_an_address_names_twice_takes_the_last_and_says_so():
    query, notices = last_of({"rate": ["1", "2"], "batch": ["4"], "lang": ["en", "zh"], "modes": []})
    assert query == {"rate": "2", "batch": "4", "lang": "zh"}
    assert notices == [Notice("repeated", "rate", "1 & 2", "")]


def test_more_boundaries_than_there_are_sliders_for_are_left_out():
    given = ",".join(str(8 * n) for n in range(1, 20))
    assert from_query({"buckets": given})[0].buckets == tuple(8 * n for n in range(1, 13))


def test_a_long_value_is_not_repeated_whole():
    _, notices = from_query({"scenario": "x" * 5000})
    assert len(notices[0].given) == 40


def test_the_window_becomes_seconds_and_the_modes_keep_their_order():
    spec = Knobs(modes=("continuous", "dynamic"), batch=4, window=120, kv=20).spec([])
    assert [p.name for p in spec.policies] == ["dynamic", "continuous"]
    assert spec.policies[0].max_queue_delay == 0.12
    assert spec.kv_budget_mb == 20


def test_rules_that_are_turned_over_make_hybrids_of_those_modes_only():
    policies = {
        p.name: p for p in Knobs(turned=("static.padded", "dynamic.refill", "dynamic.padded")).spec([]).policies
    }
    assert list(policies) == ["none", "static -padded", "dynamic +refill -padded", "continuous"]
    assert not policies["static -padded"].padded
    assert policies["dynamic +refill -padded"].refill
    with pytest.raises(ValueError, match="refill and padded exclude each other"):
        Knobs(turned=("static.refill",)).spec([])


def test_a_slider_changes_the_lanes_whose_policy_or_work_it_changes():
    assert CHANGES == {
        "rate": MODES,
        "max_batch_size": ("static", "dynamic", "continuous"),
        "max_queue_delay_ms": ("dynamic",),
        "kv_budget_mb": MODES,
    }


def test_what_is_turned_is_found_from_the_rules_that_are_on():
    turned = ("none.refill", "continuous.padded")
    assert turned_by({name: Knobs(turned=turned).rules(name) for name in MODES}) == turned


def test_the_model_belongs_to_the_run():
    assert Knobs(model="dummy:one").spec([]).model == "dummy:one"
    assert Knobs().spec([]) != Knobs(model="dummy:one").spec([])


def test_own_prompts_belong_to_their_scenario_and_set_the_number():
    own = Knobs(scenario="own", requests=99)
    assert [r.prompt for r in own.workload(["one", "", "two"]).requests] == ["one", "two"]
    assert len(Knobs(requests=3).workload(["ignored"]).requests) == 3
    with pytest.raises(ValueError, match="at most 16"):
        own.workload(["x"] * 17)


def changed_by(**knobs):
    """The modes whose lanes must run again, and whether the work itself is another."""
    before, after = Knobs(buckets=(48, 96)), Knobs(**({"buckets": (48, 96)} | knobs))
    pairs = zip(before.spec([]).policies, after.spec([]).policies, strict=True)
    return [one.name for one, other in pairs if one != other], before.workload([]) != after.workload([])


@pytest.mark.parametrize(
    ("knobs", "modes", "work"),
    [
        ({"few": 3}, ["dynamic"], False),
        ({"pickup": True}, ["dynamic"], False),
        ({"window": 70}, ["dynamic"], False),
        ({"bucket_wait": 300}, ["none", "static", "dynamic"], False),
        ({"buckets": (64,)}, list(MODES), False),
        ({"priority": True}, list(MODES), True),
        ({"aged": False}, [], False),
        ({"urgent": 50}, [], False),
        ({"users": 3}, [], False),
        ({"trace_speed": 2.0}, [], False),
        ({"scattered": True}, [], False),
    ],
)
def test_a_knob_makes_only_those_lanes_run_anew_that_it_concerns(knobs, modes, work):
    assert changed_by(**knobs) == (modes, work)


def test_the_order_of_the_queue_is_what_the_knobs_say():
    knobs = Knobs(buckets=(48, 96), priority=True, urgent=50, ageing=2.5, bucket_wait=300, requests=8)
    order = knobs.policy("static").order
    assert (order.boundaries, order.by_priority, order.ageing, order.bucket_wait_limit) == (
        (48, 96),
        True,
        2.5,
        0.3,
    )
    assert knobs.policy("continuous").order.bucket_wait_limit is None
    assert sorted(r.priority for r in knobs.workload([]).requests) == [0] * 4 + [1] * 4
    assert Knobs(priority=True, aged=False).policy("none").order.ageing is None


def test_fewer_than_a_batch_at_once_is_at_most_the_batch():
    assert Knobs(batch=4, few=9).policy("dynamic").run_at_once_below == 4
    assert Knobs(batch=4, few=9, pickup=True).policy("dynamic").window_starts_at == "pickup"


def test_groups_are_replicas_and_one_group_scatters_nothing():
    assert (Knobs(groups=3).spec([]).groups, Knobs(groups=3, scattered=True).spec([]).parts) == (3, 3)
    assert not Knobs(scattered=True).spec([]).scattered


def test_users_ask_again_so_often_that_the_number_of_requests_is_kept():
    made = Knobs(scenario="closed_loop", users=3, think=250, requests=12).workload([])
    assert len(made.requests) == 12
    assert sum(r.follows is None for r in made.requests) == 3
    assert made.requests[-1].arrival == 0.25


def test_a_trace_is_cut_as_the_knobs_say_and_without_one_there_is_a_sentence():
    lines = [f"{i}.0,{100 * (i + 1)},64" for i in range(8)]
    trace = read_trace(
        io.BytesIO("\n".join(["timestamp,Request tokens,Response tokens", *lines]).encode()), "t.csv"
    )
    knobs = Knobs(scenario="trace", trace_start=2, trace_speed=2, trace_scale=0.5, trace_prompt_cap=200)
    made = knobs.workload([], trace).requests
    assert [r.arrival for r in made] == [0, 0.5, 1, 1.5, 2, 2.5]
    assert [r.prompt_length for r in made] == [150, 200, 200, 200, 200, 200]
    assert {r.output_tokens for r in made} == {32}
    with pytest.raises(ValueError, match="there is no trace yet"):
        knobs.workload([])


def test_every_bound_is_a_knob():
    assert all(hasattr(DEFAULTS, name) for name in FLAGS)
    assert all(hasattr(DEFAULTS, name) and math.isfinite(b.most) for name, b in BOUNDS.items())
