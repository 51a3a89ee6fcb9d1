"""A whole run on the real model: prepared, raced, compared; and what a listener and a canceller see."""

import pytest

from lab.analysis.checks import check_lane
from lab.analysis.identity import token_identity
from lab.run.job import Cancelled, Finished, Grown, Progress, RunSpec, Started, run_bare, run_job
from lab.run.record import Columns
from lab.scheduling.policy import MODES, Policy, mode
from lab.workload.request import Request, Workload
from lab.workload.scenarios import build

TEXT = (
    "The little harbour town woke slowly. Nets were drying on the wall, and an old man counted boats as they came "
    "home through the morning fog. Every one of them carried something different: herring, driftwood, a story, or "
    "nothing at all. He wrote the numbers down in a book that nobody else had ever been allowed to read."
)


def ids_of(engine, tokens: int, start: int = 0) -> tuple[int, ...]:
    ids = engine.text.encode_chat(TEXT)
    return (ids[start:] + ids)[:tokens]


def work(engine, order: list[int]) -> Workload:
    """Prompts of 5, 17 and 60 tokens and one with an end of text inside; answers of 1 to 20 tokens."""
    end = next(iter(engine.stop_ids))
    rows = [
        (ids_of(engine, 5), 20),
        (ids_of(engine, 17, 9), 1),
        (ids_of(engine, 60, 3), 12),
        ((*ids_of(engine, 4), end, *ids_of(engine, 7, 20)), 9),
        (ids_of(engine, 17, 30), 16),
        (ids_of(engine, 5, 11), 2),
    ]
    chosen = [rows[i] for i in order]
    return Workload(
        "test",
        tuple(Request(i, 0.05 * i, n, prompt_ids=ids, output_tokens=n) for i, (ids, n) in enumerate(chosen)),
    )


@pytest.fixture(scope="module")
def reference(engine):
    """transformers' own greedy answer on the same weights in fp32: (ids, n) -> tokens."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(engine.folder, dtype=torch.float32).eval()
    model.generation_config.eos_token_id = None
    known = {}

    def answer(ids: tuple[int, ...], tokens: int) -> list[int]:
        if ids not in known:
            with torch.inference_mode():
                out = model.generate(torch.tensor([ids]), max_new_tokens=20, do_sample=False, pad_token_id=0)
            known[ids] = out[0, len(ids) :].tolist()
        return known[ids][:tokens]

    return answer


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [2, 5, 4, 1, 3, 0]])
def test_every_mode_gives_the_tokens_of_transformers_greedy(engine, reference, order):
    spec = RunSpec(work(engine, order), tuple(mode(name, 3) for name in MODES))
    record = run_job(spec, engine)
    expected = {r.id: reference(r.prompt_ids, r.output_tokens) for r in record.workload.requests}
    for lane in record.lanes:
        check_lane(record.workload, lane, complete=True)
        assert lane.answers() == expected, lane.name
    identity = token_identity(record)
    assert (identity.requests, identity.identical) == (6, 6)


def test_hybrids_and_groups_give_the_same_tokens_too(engine, reference):
    ragged = Policy("static without padding", 3, float("inf"), refill=False, padded=False)
    record = run_job(RunSpec(work(engine, [0, 1, 2, 3, 4, 5]), (ragged, mode("continuous", 2)), groups=2), engine)
    expected = {r.id: reference(r.prompt_ids, r.output_tokens) for r in record.workload.requests}
    for lane in record.lanes:
        check_lane(record.workload, lane, complete=True)
        assert lane.answers() == expected, lane.name


def test_a_listener_sees_the_record_grow_to_what_is_returned(engine):
    events = []
    spec = RunSpec(build("own", prompts=["What is rain?", "Name a colour."]), (mode("static", 2), mode("none")))
    record = run_job(spec, engine, events.append)
    phases = [e.phase for e in events if isinstance(e, Progress)]
    assert list(dict.fromkeys(phases)) == ["tokenizing", "lengths", "warming_up", "reference", "running"]
    [started] = [e for e in events if isinstance(e, Started)]
    assert [lane.columns for lane in started.record.lanes] == [Columns(), Columns()]
    grown = [Columns(), Columns()]
    for event in events:
        if isinstance(event, Grown):
            grown[event.lane] += event.columns
    assert grown == [lane.columns for lane in record.lanes]
    assert events[-1] == Finished(record)
    assert len(record.provenance.reference_step_s) == 20
    assert record.provenance.kind == "measured"


def test_lengths_are_found_once_and_the_same_in_every_lane(engine):
    spec = RunSpec(build("own", prompts=["Why do cats sleep so long?"]), (mode("none"), mode("continuous")))
    first, second = [], []
    record = run_job(spec, engine, first.append)
    run_job(spec, engine, second.append)
    assert any(isinstance(e, Progress) and e.phase == "lengths" for e in first)
    assert not any(isinstance(e, Progress) and e.phase == "lengths" for e in second)
    [request] = record.workload.requests
    assert all(len(lane.answers()[0]) == request.output_tokens for lane in record.lanes)


def test_with_free_eos_an_answer_ends_where_the_forced_one_does(engine):
    prompts = ["What is the capital of France?", "Say hello."]
    forced = run_job(RunSpec(build("own", prompts=prompts), (mode("none"),)), engine)
    free = run_job(RunSpec(build("own", prompts=prompts), (mode("none"),), free_eos=True), engine)
    assert free.workload.requests[0].output_tokens is None
    assert free.lanes[0].answers() == forced.lanes[0].answers()
    check_lane(free.workload, free.lanes[0], complete=True)


def test_a_run_stops_within_one_step_when_asked_and_the_engine_goes_on(engine):
    seen = []
    spec = RunSpec(work(engine, [0, 2, 4]), (mode("none"),))
    with pytest.raises(Cancelled):
        run_job(spec, engine, seen.append, stopped=lambda: sum(isinstance(e, Grown) for e in seen) >= 3)
    assert sum(isinstance(e, Grown) for e in seen) == 3
    assert len(run_job(spec, engine).lanes[0].answers()) == 3


def test_a_kv_budget_below_one_token_is_refused_with_the_numbers(engine):
    spec = RunSpec(work(engine, [0]), (mode("none"),), kv_budget_mb=0.01)
    with pytest.raises(ValueError, match=r"0\.01 MB holds no token; one takes 46,080 bytes"):
        run_job(spec, engine)


def test_a_budget_in_which_no_request_fits_is_refused_before_anything_is_computed(engine):
    seen = []
    prompts = ["A prompt that no other test has, so that its length is not known.", "And one that is a bit longer."]
    work = build("own", prompts=prompts)
    least = 10 + work.requests[0].max_new_tokens
    spec = RunSpec(work, (mode("static", 2),), kv_budget_mb=least * 46_080 / 1e6)
    with pytest.raises(ValueError, match=rf"holds {least} tokens and every request needs more; the smallest needs"):
        run_job(spec, engine, seen.append)
    assert {event.phase for event in seen} == {"tokenizing"}


def test_a_request_beyond_the_budget_is_refused_and_the_others_run(engine):
    spec = RunSpec(work(engine, [0, 2]), (mode("static", 2),), kv_budget_mb=30 * 46_080 / 1e6)
    record = run_job(spec, engine)
    assert record.lanes[0].refused[0][0] == 1
    assert sorted(record.lanes[0].answers()) == [0]
    check_lane(record.workload, record.lanes[0], complete=True)


def test_a_bare_run_is_whole_but_for_what_a_reader_wants_beside_it(engine):
    record = run_bare(RunSpec(work(engine, [0, 1, 2]), (mode("none"), mode("continuous", 2))), engine)
    for lane in record.lanes:
        check_lane(record.workload, lane, complete=True)
    assert record.provenance.reference_step_s == ()
    assert record.provenance.read_bytes_per_s is None
    assert record.token_bytes == ()
