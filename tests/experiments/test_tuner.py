"""Where the climb stops and why, and that noise does not lead it astray."""

import numpy as np
import pytest

from lab.experiments.tuner import Stop, Trial, climb, doublings, marginal_gain, popular

KNEE_AT_16 = {1: 90, 2: 175, 4: 330, 8: 600, 16: 1000, 32: 1040, 64: 1050}


def quiet(curve=KNEE_AT_16, **facts):
    """Trials of this curve; `facts` are functions of the batch size."""
    return lambda size: Trial(size, (curve[size],) * 3, **{name: of(size) for name, of in facts.items()})


def test_it_stops_where_twice_the_rows_gain_less_than_a_tenth_and_says_so():
    found = climb(quiet(), 64)
    assert (found.chosen.batch_size, found.stop) == (16, Stop.SMALL_GAIN)
    assert [t.batch_size for t in found.trials] == [1, 2, 4, 8, 16, 32]


def test_it_stops_where_throughput_falls():
    found = climb(quiet({1: 90, 2: 170, 4: 160}), 4)
    assert (found.chosen.batch_size, found.stop) == (2, Stop.THROUGHPUT_FELL)


def test_it_stops_where_a_promise_breaks_that_fewer_rows_kept():
    found = climb(quiet(broken=lambda b: frozenset({"tpot"} if b >= 8 else ())), 64)
    assert (found.chosen.batch_size, found.stop) == (4, Stop.SLO_BROKEN)


def test_a_promise_that_more_rows_may_heal_does_not_stop_it():
    """One at a time, the queue breaks the TTFT; eight at a time it is kept."""
    found = climb(quiet(broken=lambda b: frozenset({"ttft"} if b < 8 else ())), 64)
    assert (found.chosen.batch_size, found.stop) == (16, Stop.SMALL_GAIN)


def test_it_stops_where_the_memory_refuses():
    def attempt(size):
        return Trial(size, refused="the setting needs 99 GB") if size >= 8 else quiet()(size)

    found = climb(attempt, 64)
    assert (found.chosen.batch_size, found.stop) == (4, Stop.MEMORY_REFUSED)
    assert climb(lambda size: Trial(size, refused="no"), 64).chosen is None


def test_it_stops_at_the_largest_asked_for_whatever_that_is():
    found = climb(quiet({1: 90, 2: 175, 3: 240}), 3)
    assert (found.chosen.batch_size, found.stop) == (3, Stop.LARGEST_TRIED)
    assert doublings(1) == [1]
    assert doublings(64) == [1, 2, 4, 8, 16, 32, 64]
    assert doublings(48) == [1, 2, 4, 8, 16, 32, 48]
    with pytest.raises(ValueError, match="largest batch size is 0"):
        climb(quiet(), 0)


def test_a_counter_that_shows_99_percent_at_every_size_stops_the_popular_rule_at_once_and_the_other_never():
    attempt = quiet(utilisation=lambda size: 0.99)
    by_counter = climb(attempt, 64, popular)
    assert (by_counter.chosen.batch_size, by_counter.stop) == (1, Stop.UTILISATION_HIGH)
    by_gain = climb(attempt, 64, marginal_gain)
    assert by_gain.chosen.batch_size == 16
    assert by_gain.chosen.middle > 11 * by_counter.chosen.middle


@pytest.mark.parametrize("law", ["uniform", "normal"])
@pytest.mark.parametrize("repeats", [3, 5])
def test_noise_of_ten_percent_leads_at_most_one_step_astray_in_95_of_100_seeds(law, repeats):
    within = sum(
        climb(_noisy(np.random.default_rng(seed), law, repeats), 64).chosen.batch_size in (8, 16, 32)
        for seed in range(100)
    )
    assert within >= 95


def test_a_single_noisy_reading_would_not_do():
    """Why trials are repeated: with one reading each, luck climbs two steps too far several times as often."""

    def far_astray(repeats):
        noisy = (_noisy(np.random.default_rng(seed), "normal", repeats) for seed in range(1000))
        return sum(climb(attempt, 64).chosen.batch_size not in (8, 16, 32) for attempt in noisy)

    assert far_astray(1) > 2 * far_astray(3)


def _noisy(rng, law, repeats):
    """KNEE_AT_16 with 10 % of noise: at most that (uniform), or that as its standard deviation (normal)."""

    def attempt(size):
        noise = rng.uniform(-0.1, 0.1, repeats) if law == "uniform" else rng.normal(0, 0.1, repeats)
        return Trial(size, tuple(KNEE_AT_16[size] * (1 + noise)))

    return attempt


def test_the_spread_of_repeats_is_told():
    assert Trial(4, (90.0, 100.0, 120.0)).spread == pytest.approx(0.3)
