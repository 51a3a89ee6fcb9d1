"""A sweep on the real model, small; and what its sizes are told to the tuner as."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from lab.analysis.metrics import Slo
from lab.experiments.sweep import Reading, Size, Sweeper, factors, measured, said_of, saturating, sweep
from lab.experiments.tune import broken, trial_of, tune
from lab.experiments.tuner import Stop
from lab.run.lanes import RunSpec
from lab.run.prepare import prepare
from lab.run.provenance import provenance_of
from lab.scheduling.policy import mode


def _silent(phase, done, total):
    return None


@pytest.fixture(scope="module")
def sweeper(engine):
    workload = prepare(saturating(6), engine, False, _silent)
    return Sweeper(RunSpec(workload, (mode("continuous"),)), engine, provenance_of(engine, ()))


def test_every_size_is_measured_as_often_as_asked_and_no_batch_is_larger(sweeper):
    found = sweep(sweeper, [4, 1, 2], 2, _silent)
    assert [size.batch_size for size in found] == [1, 2, 4]
    for size in found:
        assert len(size.readings) == 2
        for reading in size.readings:
            m = reading.metrics
            assert (m.finished, m.useful_tokens) == (6, 6 * 16)
            assert 0 < m.mbu < 2
            assert 0 < reading.flop_share < 2
            assert reading.counter is None
    [one, two, four] = [size.middle(lambda r: r.metrics.kv_peak_reserved) for size in found]
    assert (two, four) == (2 * one, 4 * one)
    assert [(d.smaller, d.larger) for d in factors(found)] == [(1, 2), (2, 4)]


def test_a_size_that_the_budget_cannot_hold_is_an_answer_and_not_the_end(sweeper, engine):
    small = replace(sweeper._spec, kv_budget_mb=0.001)
    found = sweep(Sweeper(small, engine, sweeper.provenance), [1, 2], 2, _silent)
    assert all("a KV budget of 0.001 MB" in size.refused and not size.readings for size in found)


def test_the_tuner_measures_each_size_that_it_climbs_over(sweeper):
    found = tune(sweeper, 2, 2, None, "gain", _silent)
    assert [len(t.throughput) for t in found.trials] == [2, 2]
    assert found.stop in Stop


def test_the_popular_rule_stops_at_one_row_on_the_real_model(sweeper):
    found = tune(sweeper, 4, 1, None, "utilisation", _silent)
    assert (found.chosen.batch_size, found.stop) == (1, Stop.UTILISATION_HIGH)


def test_wrong_numbers_are_refused(sweeper):
    with pytest.raises(ValueError, match="the rule is 'luck'"):
        tune(sweeper, 2, 1, None, "luck", _silent)
    with pytest.raises(ValueError, match="repeats is 0"):
        tune(sweeper, 2, 0, None, "gain", _silent)
    with pytest.raises(ValueError, match=r"batch sizes \[0, 2\]"):
        sweep(sweeper, [0, 2], 1, _silent)


# ---- what is told of readings


def _reading(throughput=100.0, ttft=0.5, tpot=0.02, busy=1.0, counter=None):
    metrics = SimpleNamespace(
        throughput=throughput,
        ttft=SimpleNamespace(p99=ttft),
        tpot=SimpleNamespace(p50=tpot, p99=tpot),
        busy_fraction=busy,
    )
    return Reading(metrics, None, None, counter)


def test_the_device_s_own_counter_goes_before_the_busy_fraction():
    assert trial_of(Size(1, (_reading(busy=0.4, counter=0.99),)), None).utilisation == 0.99
    assert trial_of(Size(1, (_reading(busy=0.4),)), None).utilisation == 0.4


def test_a_promise_counts_as_broken_where_the_median_of_the_tails_breaks_it():
    size = Size(1, tuple(_reading(ttft=t) for t in (0.5, 0.9, 2.0)))
    assert broken(size, Slo(ttft=0.8)) == {"ttft"}
    assert broken(size, Slo(ttft=1.0, tpot=0.01)) == {"tpot"}
    assert broken(size, None) == frozenset()


def test_doublings_are_factors_of_medians():
    sizes = (
        Size(2, tuple(_reading(t) for t in (90.0, 100.0, 200.0))),
        Size(4, (_reading(190.0, tpot=0.026),)),
        Size(6, (_reading(),)),
        Size(8, refused="no room"),
    )
    [only] = factors(sizes)
    assert (only.smaller, only.larger) == (2, 4)
    assert (only.throughput, only.tpot) == pytest.approx((1.9, 1.3))


def test_the_rule_of_thumb_is_told_for_each_doubling():
    assert [said_of(size).split(",")[0] for size in (2, 16, 32, 64, 128)] == [
        "throughput near-linear",
        "throughput near-linear",
        "latency +20 to +50 %",
        "latency +20 to +50 %",
        "throughput flat",
    ]


def test_a_refused_size_takes_no_further_reading():
    size = Size(8, refused="no room")
    assert measured(SimpleNamespace(run=None), size) is size
