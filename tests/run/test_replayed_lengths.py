"""A replay's prompts have exactly the trace's numbers of tokens, and the record shows the words that were fed."""

from lab.run.prepare import prepare
from lab.workload.scenarios import build


def test_prompts_are_cut_to_the_traces_lengths_and_say_what_is_left_of_them(engine):
    asked = build("code", requests=40)
    made = prepare(asked, engine, False, lambda phase, done, total: None)
    assert [r.prompt_tokens for r in made.requests] == [r.prompt_length for r in asked.requests]
    assert [r.output_tokens for r in made.requests] == [r.output_tokens for r in asked.requests]
    assert max(r.prompt_tokens for r in made.requests) > 400
    for before, after in zip(asked.requests, made.requests, strict=True):
        assert after.prompt == engine.text.decode(after.prompt_ids)
        shorter, longer = sorted((before.prompt, after.prompt), key=len)
        assert longer.startswith(shorter)
    assert len({r.prompt_ids for r in made.requests if r.prompt_tokens > 20}) > 20
