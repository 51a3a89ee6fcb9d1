"""The knobs in an address: what they mean, what is clamped, and that nothing changes in silence."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.scheduling.policy import MODES
from lab.ui.knobs import BOUNDS, DEFAULTS, TURNS, Knobs, Notice, from_query, to_query, turned_by
from lab.workload.scenarios import SCENARIOS


def test_an_empty_address_gives_the_defaults_and_they_leave_it_empty():
    assert from_query({}) == (DEFAULTS, [])
    assert to_query(DEFAULTS) == {}


@given(
    st.builds(
        Knobs,
        scenario=st.sampled_from(sorted(SCENARIOS)),
        modes=st.sets(st.sampled_from(MODES), min_size=1).map(lambda s: tuple(m for m in MODES if m in s)),
        batch=st.integers(1, 32),
        window=st.integers(0, 500),
        rate=st.none() | st.sampled_from([0.25, 2.5, 100.0]),
        requests=st.none() | st.integers(1, 256),
        seed=st.integers(0, 999_999),
        kv=st.none() | st.sampled_from([1.0, 20.0, 5000.0]),
        model=st.sampled_from(["", "dummy:one"]),
        turned=st.sets(st.sampled_from(TURNS)).map(lambda s: tuple(t for t in TURNS if t in s)),
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


def test_every_bound_is_a_knob():
    assert all(hasattr(DEFAULTS, name) and math.isfinite(b.most) for name, b in BOUNDS.items())
