"""The table of steps, and what every table says of the run it comes from."""

import csv
import io
import re
from pathlib import Path

import pytest

from lab.analysis.facts import FACTS_COLUMNS
from lab.analysis.steps import STEPS_COLUMNS, steps_table
from lab.analysis.tables import REQUESTS_COLUMNS, csv_text, metrics_table, requests_table

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "data.md"


@pytest.fixture
def record(by_hand):
    """Two requests in a padded batch (answers of 1 and 3 tokens, a step a second) and one request alone."""
    workload = by_hand.workload([1, 3])
    static = by_hand.lane(by_hand.mode("static", 2), by_hand.padded_batch([1, 3]))
    none = by_hand.lane(by_hand.mode("none"), by_hand.stream([0.5]), refused=[(1, "needs 6 tokens")])
    return by_hand.record(workload, static, none, versions=(("torch", "2"), ("numpy", "3")))


def test_the_steps_table_has_a_row_for_each_step_of_each_lane(record):
    rows = steps_table(record)
    assert all(list(row) == list(STEPS_COLUMNS) for row in rows)
    assert [(r["lane"], r["step"], r["start_s"], r["duration_s"]) for r in rows] == [
        ("static", 0, 0.0, 1.0), ("static", 1, 1.0, 1.0), ("static", 2, 2.0, 1.0), ("none", 0, 0.0, 0.5),
    ]  # fmt: skip
    first, second = rows[:2]
    assert (first["rows"], first["live_rows"], first["prompts"], first["positions"], first["cached"]) == (
        2,
        2,
        2,
        6,
        0,
    )
    assert (second["rows"], second["live_rows"], second["prompts"], second["cached"]) == (2, 1, 0, 3)
    assert first["requests"] == "0 1"


def test_a_run_of_equal_steps_becomes_one_row_a_step(by_hand):
    steps = [
        by_hand.step(0.0, (1.0,), (by_hand.row(0, 0, fed=3),)),
        by_hand.step(1.0, (0.5, 0.25), (by_hand.row(0, 3),)),
    ]
    record = by_hand.record(by_hand.workload([3]), by_hand.lane(by_hand.mode("none"), steps))
    assert [(r["start_s"], r["duration_s"], r["cached"]) for r in steps_table(record)] == [
        (0.0, 1.0, 0), (1.0, 0.5, 3), (1.5, 0.25, 4),
    ]  # fmt: skip


@pytest.mark.parametrize("table", [metrics_table, requests_table, steps_table])
def test_every_file_says_under_what_it_was_made(record, table):
    back = list(csv.DictReader(io.StringIO(csv_text(table(record)))))
    for lane in ("static", "none"):
        first = next(row for row in back if row["lane"] == lane)
        assert (first["scenario"], first["seed"], first["model"]) == ("hand-written", "0", "hand-written")
        assert first["versions"] == "torch 2; numpy 3"
        assert first["padded"] == str(lane == "static")
    assert [row["model"] for row in requests_table(record)] == ["hand-written", None] * 2


def test_every_column_is_documented_with_its_meaning(record):
    document = DOCUMENT.read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w+)`", document))
    assert set(metrics_table(record)[0]) <= documented
    for columns in (FACTS_COLUMNS, REQUESTS_COLUMNS, STEPS_COLUMNS):
        for name, meaning in columns.items():
            assert f"| `{name}` | {meaning} |" in document
