import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.workload.request import Request, Workload
from lab.workload.scenarios import SCENARIOS, TRACES, build, equalise

shipped = st.sampled_from([name for name in SCENARIOS if name != "own"])


@settings(max_examples=60)
@given(shipped, st.integers(0, 2**31), st.integers(1, 256), st.one_of(st.none(), st.floats(0.01, 1000)))
def test_the_same_name_seed_count_and_rate_give_the_same_workload(name, seed, requests, rate):
    made = build(name, seed=seed, requests=requests, rate=rate)
    assert made == build(name, seed=seed, requests=requests, rate=rate)
    assert len(made.requests) == requests
    assert made.requests[0].arrival == 0
    least, most = (1, 63) if SCENARIOS[name].trace else (4, 64)
    assert all(r.prompt and least <= r.max_new_tokens <= most for r in made.requests)


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_describes_itself_in_one_sentence(name):
    about = SCENARIOS[name].about
    assert about.endswith(".")
    assert about.count(".") == 1


def test_another_seed_gives_another_workload():
    for name in SCENARIOS:
        if name != "own":
            assert build(name, seed=1) != build(name, seed=2)


def test_another_rate_changes_the_times_and_nothing_else():
    slow, fast = build("chat", rate=1), build("chat", rate=8)
    assert [r.prompt for r in slow.requests] == [r.prompt for r in fast.requests]
    assert [r.arrival for r in slow.requests] == pytest.approx([8 * r.arrival for r in fast.requests])


def test_chat_asks_twelve_different_questions_of_at_most_32_tokens():
    chat = build("chat")
    assert len({r.prompt for r in chat.requests}) == 12
    assert {r.max_new_tokens for r in chat.requests} == {32}
    assert not chat.lengths_known


def test_the_corpus_is_there_at_once_and_varied():
    corpus = build("corpus")
    assert {r.arrival for r in corpus.requests} == {0}
    assert len({r.max_new_tokens for r in corpus.requests}) > 10
    sizes = [len(r.prompt) for r in corpus.requests]
    assert max(sizes) > 5 * min(sizes)


def test_equal_forces_one_answer_length():
    assert {r.output_tokens for r in build("equal").requests} == {32}


@given(st.integers(0, 500))
def test_mixed_has_few_long_requests_among_many_short_ones(seed):
    made = build("mixed", seed=seed).requests
    assert sorted(r.output_tokens for r in made if r.prompt_length == 160) == [64] * 4
    assert sum(r.output_tokens <= 8 and r.prompt_length is None for r in made) == 20


@pytest.mark.parametrize("name", ["conversation", "code"])
def test_a_shipped_trace_forces_its_own_lengths_and_names_its_source_and_scale(name):
    file = SCENARIOS[name].trace.file
    rows = [line.split(",") for line in (TRACES / file).read_text().splitlines()[1:]]
    made = build(name, requests=256)
    for tokens, written in (("prompt_length", 1), ("output_tokens", 2)):
        found = [getattr(r, tokens) for r in made.requests]
        assert found == [max(1, round(int(row[written]) / 16)) for row in rows]
    assert file in made.source
    assert f"lengths × {1 / 16:g}" in made.source


def test_a_rate_plays_a_trace_faster_without_changing_its_shape():
    slow, fast = build("code", requests=256, rate=2), build("code", requests=256, rate=16)
    assert fast.requests[-1].arrival == pytest.approx(256 / 16)
    assert [r.arrival for r in slow.requests] == pytest.approx([8 * r.arrival for r in fast.requests])
    assert [r.prompt_length for r in slow.requests] == [r.prompt_length for r in fast.requests]


def clusters(workload: Workload) -> list[list[float]]:
    """Arrival times, cut wherever more than 50 ms pass."""
    groups = [[workload.requests[0].arrival]]
    for a, b in pairwise(r.arrival for r in workload.requests):
        if b - a > 0.05:
            groups.append([])
        groups[-1].append(b)
    return groups


@given(st.integers(0, 500))
def test_by_day_8_to_16_come_within_50_ms_and_then_nobody_for_a_while(seed):
    groups = clusters(build("day", seed=seed))
    assert all(8 <= len(g) <= 16 for g in groups[:-1])
    assert all(g[-1] - g[0] <= 0.05 + 1e-9 for g in groups)
    assert all(b[0] - a[-1] > 1 for a, b in pairwise(groups))


@given(st.integers(0, 500))
def test_by_night_one_or_two_come_at_a_time(seed):
    assert all(len(g) in (1, 2) for g in clusters(build("night", seed=seed)))


def test_a_rate_asks_the_same_mean_of_clusters_as_of_single_arrivals():
    day = build("day", requests=256, rate=2.0)
    assert day.requests[-1].arrival == pytest.approx(256 / 2.0, rel=0.15)


def test_own_prompts_keep_their_words_and_order():
    own = build("own", prompts=["Who are you?", "", "Why?"], rate=2)
    assert [r.prompt for r in own.requests] == ["Who are you?", "Why?"]
    assert own.requests[1].arrival > 0
    assert {r.arrival for r in build("own", prompts=["a", "b", "c"]).requests} == {0}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ({"name": "lunch"}, "scenario is 'lunch'; it must be one of chat, "),
        ({"name": "chat", "requests": 0}, "requests is 0; scenario 'chat' takes 1 to 256"),
        ({"name": "chat", "requests": 257}, "requests is 257; scenario 'chat' takes 1 to 256"),
        ({"name": "chat", "rate": 0}, "rate is 0 .* between 0.01 and 1000"),
        ({"name": "chat", "rate": math.nan}, "rate is nan"),
        ({"name": "chat", "rate": math.inf}, "rate is inf"),
        ({"name": "chat", "seed": -1}, "seed is -1; it must be 0 or more"),
        ({"name": "chat", "prompts": ["hello"]}, "only 'own' takes a visitor's"),
        ({"name": "own"}, "there is no prompt; give 1 to 16"),
        ({"name": "own", "prompts": ["a"], "requests": 5}, "requests is 5, but there are 1 prompts"),
    ],
)
def test_what_cannot_be_built_is_refused_in_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        build(**call)


def test_equalise_lets_prompts_of_another_length_ask_the_first_question():
    asked = (("short one", (1, 2)), ("a longer one", (1, 2, 3)), ("other one", (4, 5)))
    uneven = Workload(
        "equal", tuple(Request(i, 0.0, 4, prompt=p, prompt_ids=ids) for i, (p, ids) in enumerate(asked))
    )
    even = equalise(uneven)
    assert [r.prompt for r in even.requests] == ["short one", "short one", "other one"]
    assert [r.prompt_ids for r in even.requests] == [(1, 2), (1, 2), (4, 5)]
    assert equalise(even) == even


def test_equalise_needs_tokens():
    with pytest.raises(ValueError, match="no prompt tokens yet"):
        equalise(build("equal"))
