"""The fixed list, and the bound that it sets."""

import pytest

from lab.experiments.bench_list import bench_workload, bound


def test_the_list_is_forty_requests_of_which_a_quarter_is_long():
    work = bench_workload(vocab=1000)
    outputs = [r.output_tokens for r in work.requests]
    assert (len(outputs), outputs.count(8), outputs.count(96)) == (40, 30, 10)
    assert all(16 <= r.prompt_tokens <= 64 and r.arrival == 0 for r in work.requests)
    assert work == bench_workload(vocab=1000)


def test_with_free_prompts_and_equal_step_times_the_bound_is_the_ratio_of_step_counts():
    from lab.engine.scripted import ScriptedExecutor
    from lab.run.lane import Lane
    from lab.run.race import to_the_end
    from lab.scheduling.policy import mode

    work = bench_workload(vocab=1000)
    decode_steps = {}
    for name in ("static", "continuous"):
        lane = Lane(mode(name, 8), work, ScriptedExecutor(lambda step: 1.0), kv_budget=9999, context=9999)
        to_the_end([lane])
        decode_steps[name] = sum(any(not row.prefill for row in run.rows) for run in lane.record().runs())
    expected = decode_steps["static"] / decode_steps["continuous"]
    assert bound(work, {1: 1.0, 64: 1.0}, prefill_tokens_per_s=1e18) == pytest.approx(expected)


def test_with_free_prompts_and_steps_that_cost_by_the_row_the_bound_is_the_ratio_of_computed_rows():
    work = bench_workload(vocab=1000)
    outputs = [r.output_tokens - 1 for r in work.requests]  # the prompt's step gives the first token
    computed = sum(8 * max(outputs[i : i + 8]) for i in range(0, 40, 8))
    per_row = {1: 1.0, 8: 8.0}
    assert bound(work, per_row, prefill_tokens_per_s=1e18) == pytest.approx(computed / sum(outputs))
