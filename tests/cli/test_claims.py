"""The table of the lessons' claims, and the progress through their scenes."""

import pytest

from lab.cli.claims import bounds, claims_table
from lab.cli.main import main
from lab.cli.scene_progress import SceneProgress
from lab.lesson.lesson import lesson_named, lessons, scenes
from lab.lesson.measured import ClaimFound, scenes_needed
from lab.lesson.text import lesson_text
from lab.run.record import Provenance, RunRecord
from lab.workload.request import Request, Workload

ORIGIN = Provenance("measured", "m", "1", "fp32", "a device", 2, (), "", "2026-01-02T03:04:05+00:00", 100, 1000)


def found(values, held, lesson="continuous", key="ties"):
    made = lesson_named(lesson)
    return ClaimFound(made, next(c for _, c in made.claims if c.key == key), values, held)


def rows(table):
    return [line.split(" | ") for line in table.splitlines() if line.startswith("| 5")]


def test_a_row_has_the_median_and_the_ends_and_what_they_had_to_be():
    [row] = rows(claims_table([found((0.9, 1.0, 1.1), 3)], ORIGIN, 3))
    assert row[1] == lesson_text(lesson_named("continuous").folder, "en").sections["ties"].heading
    assert row[2:] == ["`continuous.throughput / static.throughput`", "0.85 to 1.15", "×1", "×0.900 to ×1.10",
                       "holds |"]  # fmt: skip


def test_ends_that_are_equal_are_written_once():
    [row] = rows(claims_table([found((1.0, 1.0), 2, key="equal_steps")], ORIGIN, 2))
    assert row[3:] == ["= 1", "×1", "×1", "holds |"]


def test_verdicts_are_counted_and_what_did_not_hold_is_followed_by_its_reason():
    text = lesson_text(lesson_named("continuous").folder, "en").sections
    table = claims_table(
        [found((1.0,), 1), found((1.1, 2.0), 1, key="wins"), found((2.0,), 0, key="stumbles")], ORIGIN, 2
    )
    assert "holds: 1, does not hold: 1, inconclusive: 1." in table
    assert f"*{text['wins'].heading}* {text['wins'].body}" in table
    assert f"*{text['stumbles'].heading}* {text['stumbles'].body}" in table
    assert text["ties"].body not in table


def test_a_table_says_how_it_was_made():
    assert "`python -m lab claims --lesson continuous --out docs/claims.md`" in claims_table(
        [found((1.0,), 1)], ORIGIN, 5
    )
    every = [ClaimFound(lesson, claim, (1.0,), 1) for lesson in lessons() for _, claim in lesson.claims]
    assert "`python -m lab claims --out docs/claims.md`" in claims_table(every, ORIGIN, 5)


def test_every_table_cell_of_the_lessons_claims_stays_one_cell():
    every = [ClaimFound(lesson, claim, (1.0,), 1) for lesson in lessons() for _, claim in lesson.claims]
    lines = [line for line in claims_table(every, ORIGIN, 5).splitlines() if line.startswith("| ")]
    assert len(lines) == len(every) + 1
    assert {line.count("|") for line in lines} == {8}


@pytest.mark.parametrize(
    ("least", "most", "told"), [(1, None, "≥ 1"), (None, 0.7, "≤ 0.7"), (1, 2.5, "1 to 2.5"), (1, 1, "= 1")]
)
def test_bounds_are_told(least, most, told):
    assert bounds(least, most) == told


def test_only_lanes_that_a_claim_rests_on_are_run():
    needed = scenes_needed([lesson_named("putting-it-together")], scenes())
    assert list(needed) == ["ladder", "modes"]
    assert "continuous16" not in needed["ladder"].lanes
    assert list(needed["modes"].lanes) == ["none", "static", "continuous"]
    assert list(scenes_needed([lesson_named("load")], scenes())["heavy"].lanes) == ["none", "continuous"]


def test_each_run_knows_the_bandwidth_that_some_claims_ask_for(monkeypatch):
    class Engine:
        def read_bandwidth(self):
            return 5e9

    bare = RunRecord(ORIGIN, Workload("chat", (Request(0, 0.0, 1, prompt_ids=(1,), output_tokens=1),)), ())
    seen = []

    def measured(lessons, all_scenes, run, repeats):
        seen.append(run(*next(iter(all_scenes.items()))))
        return [found((1.0,), 1)]

    monkeypatch.setattr("lab.cli.claims.engine_of", lambda options, progress: Engine())
    monkeypatch.setattr("lab.cli.claims.provenance_of", lambda engine, reference: ORIGIN)
    monkeypatch.setattr("lab.cli.claims.run_bare", lambda spec, engine: bare)
    monkeypatch.setattr("lab.cli.claims.measure_claims", measured)
    assert main(["claims", "--lesson", "half-truths"]) == 0
    assert seen[0].provenance.read_bytes_per_s == 5e9
    assert seen[0].workload == bare.workload


def test_a_lesson_that_is_not_there_is_refused_before_a_model_is_loaded(capsys):
    assert main(["claims", "--lesson", "nothing"]) == 2
    assert "no lesson 'nothing'; there are one-request" in capsys.readouterr().err


def test_progress_says_which_scene_and_how_long_the_rest_will_take(capsys):
    clock = iter([0.0, 10.0, 100.0])
    progress = SceneProgress(50, lambda: next(clock))
    for name in ("light", "middle", "heavy"):
        progress.begin(name)
    assert capsys.readouterr().err.splitlines() == [
        "scene 1 of 50: light",
        "scene 2 of 50: middle; about 8 min to go",
        "scene 3 of 50: heavy; about 40 min to go",
    ]
