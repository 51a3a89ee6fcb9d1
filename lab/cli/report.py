"""`report`: records as one HTML file, as pictures of their charts, as tables. Needs no model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.cli.options import path
from lab.cli.places import check_file, check_folder
from lab.cli.run_files import write_run
from lab.report.browser import find_browser
from lab.report.charts.style import picture_name
from lab.report.document import record_charts, report_html, scenario_of
from lab.report.pictures import FORMATS, pictures
from lab.report.words import LANGUAGES, Words
from lab.run.measuring import someone_measures
from lab.run.record import RunRecord
from lab.run.record_file import as_recorded, load, write_whole


def add_to(commands: Any) -> None:
    command = commands.add_parser("report", help="write records as one HTML file, as pictures, as tables")
    add = command.add_argument
    add("records", nargs="+", type=path, metavar="RECORD", help="one record.json, or two to four to be compared")
    add("--out", type=path, metavar="FILE", help="one HTML file that needs no network")
    add("--charts", type=path, metavar="DIR", help="a picture of each chart; needs a Chrome or Chromium")
    add("--format", metavar="A,B", help=f"of the pictures: {', '.join(FORMATS)} (both)")
    add(
        "--data", type=path, metavar="DIR", help="record.json and its tables, of each record in a folder of its own"
    )
    add("--language", choices=LANGUAGES, help="of report and charts (default: en)")
    command.set_defaults(command=report)


def report(options: argparse.Namespace) -> int:
    """What needs no browser is written first."""
    if not (options.out or options.charts or options.data):
        raise ValueError("nothing to write was named; give --out FILE, --charts DIR or --data DIR")
    _check(options)
    formats = _formats(options.format or ",".join(FORMATS))
    records, words = [load(file) for file in options.records], Words(options.language or LANGUAGES[0])
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(options.out, report_html(records, words))
        _say(options.out)
    if options.data:
        _write_data(records, options.data)
    if options.charts:
        _write_charts(records, formats, options.charts, words)
    return 0


def _check(options: argparse.Namespace) -> None:
    """What is named could be written, and nothing is asked for that would go unheard."""
    check_file("--out", options.out)
    check_folder("--charts", options.charts)
    check_folder("--data", options.data)
    if options.format is not None and not options.charts:
        raise ValueError(f"--format {options.format} is of pictures; name their folder with --charts DIR")
    if options.language is not None and not (options.out or options.charts):
        raise ValueError(f"--language {options.language} is of report and charts; tables have none")


def _formats(text: str) -> list[str]:
    given = [name.strip().lower() for name in text.split(",") if name.strip()]
    unknown = [name for name in given if name not in FORMATS]
    if unknown or not given:
        raise ValueError(f"--format is {text!r}; it must be {' or '.join(FORMATS)}, or both with a comma")
    return given


def _write_data(records: Sequence[RunRecord], folder: Path) -> None:
    for number, record in enumerate(records, start=1):
        own = folder if len(records) == 1 else folder / str(number)
        write_run(record, None, own)
        _say(own)


def _write_charts(records: Sequence[RunRecord], formats: Sequence[str], folder: Path, words: Words) -> None:
    if someone_measures():
        raise ValueError(
            "something is being measured on this machine, and the browser that draws pictures would disturb it; "
            "ask for --charts when that has ended"
        )
    made = pictures(record_charts([as_recorded(record) for record in records], words), formats, find_browser())
    folder.mkdir(parents=True, exist_ok=True)
    for (name, format), content in made.items():
        (folder / f"{picture_name(scenario_of(records), name)}.{format}").write_bytes(content)
    _say(folder)


def _say(place: Path) -> None:
    print(f"written to {place}", file=sys.stderr)
