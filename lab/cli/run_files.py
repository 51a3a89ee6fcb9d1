"""The files that a run leaves in a folder: each is written whole, and the record last."""

from __future__ import annotations

from pathlib import Path

from lab.analysis.metrics import Slo
from lab.analysis.steps import steps_table
from lab.analysis.tables import csv_text, metrics_table, requests_table
from lab.run.record import RunRecord
from lab.run.record_file import save, write_whole


def write_run(record: RunRecord, slo: Slo | None, folder: Path) -> None:
    """metrics.csv, requests.csv, steps.csv, record.json; makes the folder, replaces files of these names."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "metrics.csv", csv_text(metrics_table(record, slo)))
    write_whole(folder / "requests.csv", csv_text(requests_table(record)))
    write_whole(folder / "steps.csv", csv_text(steps_table(record)))
    save(record, folder / "record.json")
