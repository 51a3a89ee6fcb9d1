"""Batched answers equal single ones: the same tokens, whoever sits beside them and whenever they came."""

import itertools

import pytest

from lab.engine.step import ONE_STEP, Row, Step
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.scheduling.policy import MODES, mode
from lab.workload.request import Request, Workload

LENGTHS = (5, 17, 60)
EOS = 2


@pytest.fixture
def prompts(prompt):
    return [prompt(n) for n in LENGTHS]


def test_a_single_answer_is_that_of_transformers(pair, driver, prompts):
    driver = driver(pair.executor)
    for ids in prompts:
        assert driver.alone(ids, 20) == pair.greedy(ids, 20)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("padded", [False, True])
def test_a_batch_in_any_order_answers_like_single_requests(pair, driver, prompts, order, padded):
    driver = driver(pair.executor)
    driver.step([(i, prompts[i], slot) for slot, i in enumerate(order)], padded_to=60 if padded else None)
    for _ in range(19):
        driver.step()
    for i in order:
        assert driver.answers[i] == pair.greedy(prompts[i], 20)


@pytest.mark.parametrize("join_at", [1, 2, 7])
def test_who_joins_at_any_step_answers_like_a_single_request(pair, driver, prompts, join_at):
    driver = driver(pair.executor)
    driver.step([(0, prompts[2], 4)])
    for step in range(1, 16):
        driver.step([(1, prompts[0], 2), (2, prompts[1], 5)] if step == join_at else ())
    for request, ids in ((0, prompts[2]), (1, prompts[0]), (2, prompts[1])):
        assert driver.answers[request] == pair.greedy(ids, len(driver.answers[request]))


def test_who_stays_is_not_disturbed_by_those_who_leave(pair, driver, prompt):
    """Four requests of 2, 5, 5 and 9 tokens: after each end the batch is as wide as its live rows."""
    driver = driver(pair.executor)
    asked = {0: 2, 1: 5, 2: 5, 3: 9}
    driver.step([(i, prompt(8 + i), i) for i in asked])
    widths = [4]
    while driver.running:
        for request in [r for r in driver.running if len(driver.answers[r]) == asked[r]]:
            driver.leave(request)
        if driver.running:
            widths.append(len(driver.step().tokens[0]))
    assert widths == [4, 4, 3, 3, 3, 1, 1, 1, 1]
    for request, count in asked.items():
        assert driver.answers[request] == pair.greedy(prompt(8 + request), count)


def test_a_slot_used_again_holds_nothing_of_its_last_request(pair, driver, prompts):
    driver = driver(pair.executor)
    driver.alone(prompts[2], 5)
    assert driver.alone(prompts[0], 20) == pair.greedy(prompts[0], 20)


def test_dead_rows_are_computed_and_disturb_nobody(llama, driver, prompts):
    driver = driver(llama.executor)
    driver.step([(0, prompts[0], 0), (1, prompts[1], 1)], padded_to=17)
    for step in range(12):
        rows = [driver._decode(r) for r in driver.running]
        rows[0] = rows[0]._replace(live=step < 2)
        tokens = driver.executor.run(Step(tuple(rows)), ONE_STEP).tokens[0]
        assert len(tokens) == 2
        for request, token in enumerate(tokens):
            driver.answers[request].append(token)
    assert driver.answers[1] == llama.greedy(prompts[1], 13)


def test_end_of_text_inside_a_prompt_is_a_token_like_any_other(pair, driver, prompt):
    ids = [*prompt(6), EOS, *prompt(5, seed=1), EOS, EOS]
    driver = driver(pair.executor)
    driver.step([(0, ids, 1), (1, prompt(60), 0)], padded_to=60)
    for _ in range(9):
        driver.step()
    assert driver.answers[0] == pair.greedy(ids, 10)


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("backwards", [False, True])
def test_every_mode_gives_every_request_its_single_answer(llama, prompts, name, backwards):
    """The lane itself drives: real scheduling, real slots, arrivals spread over the run."""
    executor = llama.executor
    executor.allocate(3, 128)
    ordered = [*reversed(prompts)] if backwards else prompts
    requests = tuple(
        Request(i, arrival=0.001 * i, max_new_tokens=20, prompt_ids=ids, output_tokens=20 - 6 * i)
        for i, ids in enumerate(ordered)
    )
    lane = Lane(mode(name, 3, 0.002), Workload("three", requests), executor, kv_budget=1000, context=256)
    to_the_end([lane])
    for i, tokens in lane.record().answers().items():
        assert list(tokens) == llama.greedy(ordered[i], 20 - 6 * i)


def test_the_gap_of_the_two_top_logits_is_that_of_transformers(pair, prompt):
    first, second = pair.logits(prompt(11)).topk(2).values.tolist()
    assert pair.executor.logit_gap(prompt(11)) == pytest.approx(first - second, abs=1e-4)


def test_measuring_a_gap_leaves_running_requests_alone(llama, driver, prompts):
    driver = driver(llama.executor)
    driver.step([(0, prompts[0], 0)])
    driver.executor.logit_gap(prompts[1])
    driver.executor.reference_steps(2)
    driver.executor.warm_up([1, 2], [5])
    driver.step()
    driver.step()
    assert driver.answers[0] == llama.greedy(prompts[0], 3)


def test_a_row_in_a_wrong_place_is_refused(llama):
    executor = llama.executor
    executor.allocate(2, 16)
    for row, said in (
        (Row(2, 0, (5,), 0, True, 1), "slots 0 to 1"),
        (Row(0, 0, (5,) * 17, 0, True, 17), "of 16 tokens"),
        (Row(0, 0, (5,), 3, True, 1), "slot 0 holds 0"),
        (Row(0, 0, (5, 97), 0, True, 2), "ids from 5 to 97; .* has ids 0 to 96"),
        (Row(0, 0, (-1,), 0, True, 1), "ids from -1 to -1"),
        (Row(0, 0, (5, 6), 0, True, 1), "no longer than its padding"),
        (Row(0, 0, (), 0, True, 1), "at least 1 token"),
    ):
        with pytest.raises(ValueError, match=said):
            executor.run(Step((row,)), ONE_STEP)
