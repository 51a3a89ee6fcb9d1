"""The real model in fp32: sensible answers, the same ones in a batch, and books that match its tensors."""

import pytest

from lab.engine.kv import KvPool
from lab.engine.step import ONE_STEP, Row, Step

PARIS = "What is the capital of France? Explain."
QUESTIONS = (PARIS, "Why is the sky blue?", "Say hello in three languages, then count from one to twenty in words.")


def test_it_knows_the_capital_of_france(engine, driver):
    ids = engine.coder.encode(PARIS)
    answer = driver(engine.executor, 2, 64).alone(ids, 9)
    assert "The capital of France is Paris." in engine.text.decode(answer)


@pytest.mark.parametrize("padded", [False, True])
def test_a_batch_answers_like_single_requests(engine, driver, padded):
    prompts = [engine.coder.encode(question) for question in QUESTIONS]
    longest = max(map(len, prompts))
    driver = driver(engine.executor, 4, longest + 12)
    single = [driver.alone(ids, 10) for ids in prompts]
    for slots in ((0, 1, 2), (3, 0, 2)):
        driver.step([(i, prompts[i], slot) for i, slot in enumerate(slots)], padded_to=longest if padded else None)
        while len(driver.answers[0]) < 10:
            driver.step()
        assert [driver.answers[i] for i in range(3)] == single
        for request in range(3):
            driver.leave(request)


def test_end_of_text_inside_a_real_prompt_changes_nothing_in_a_batch(engine, driver):
    (stop,) = engine.stop_ids
    ids = (*engine.coder.encode("Name a fruit."), stop, *engine.coder.encode("Name a colour."))
    driver = driver(engine.executor, 2, 160)
    alone = driver.alone(ids, 6)
    driver.step([(0, ids, 1), (1, (*ids, *ids), 0)], padded_to=2 * len(ids))
    for _ in range(5):
        driver.step()
    assert driver.answers[0] == alone


def test_kv_bytes_per_token_are_those_of_its_tensors(engine):
    model = engine.executor.model
    pool = KvPool(model.shape, 3, 10, model.dtype, model.device)
    assert engine.kv_bytes_per_token == 46_080
    assert pool.bytes == 3 * 10 * engine.kv_bytes_per_token


def test_the_engine_says_what_it_is(engine):
    assert (engine.model, engine.dtype) == ("SmolLM2-135M-Instruct", "fp32")
    assert engine.weight_bytes == 4 * 134_515_008
    assert engine.fingerprint.endswith("-fp32")
    assert engine.threads >= 1
    assert engine.device


def test_a_pool_larger_than_the_memory_is_refused_with_the_numbers(engine):
    with pytest.raises(ValueError, match=r"1000000 slots × 8192 tokens takes 377487360 MB, and 0\.9 of the"):
        engine.executor.allocate(1_000_000, 8192)


def test_a_step_without_a_pool_is_refused(engine):
    with pytest.raises(ValueError, match="call allocate"):
        engine.executor.run(Step((Row(0, 0, (1,), 0, True, 1),)), ONE_STEP)


def test_reference_steps_are_seconds_one_by_one(engine):
    steps = engine.executor.reference_steps(3)
    assert len(steps) == 3
    assert all(seconds > 0 for seconds in steps)


def test_read_bandwidth_is_the_best_that_has_been_measured(engine):
    first = engine.read_bandwidth()
    assert engine.read_bandwidth() >= first > 0
