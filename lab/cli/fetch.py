"""`fetch`: bring the default model here, or into a folder for a room without a network."""

from __future__ import annotations

import argparse
from typing import Any

from lab.cli.options import path
from lab.cli.places import check_folder
from lab.cli.progress import ProgressLine


def add_to(commands: Any) -> None:
    command = commands.add_parser("fetch", help="download and convert the default model")
    command.add_argument(
        "--to",
        type=path,
        metavar="DIR",
        help="a folder to carry to another machine, named there in BATCHING_LAB_CACHE (default: the cache)",
    )
    command.set_defaults(command=fetch)


def fetch(options: argparse.Namespace) -> int:
    check_folder("--to", options.to)
    from lab.engine import fetch as engine_fetch

    with ProgressLine() as progress:
        folder = engine_fetch.fetch(options.to, progress.phase)
    print(f"the model lies in {folder}")
    return 0
