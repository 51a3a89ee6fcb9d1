"""Reads the command, runs it, and turns every caller's mistake into one sentence and exit code 2."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from lab.cli import (
    bench,
    buckets,
    calibrate,
    claims,
    fetch,
    load,
    predict,
    recompiles,
    record_scenes,
    report,
    run,
    scenarios,
    sweep,
    trace,
    tune,
    validate,
    verify_clock,
    what_if,
)

COMMANDS = (
    run,
    report,
    predict,
    what_if,
    load,
    sweep,
    tune,
    calibrate,
    validate,
    verify_clock,
    bench,
    buckets,
    scenarios,
    trace,
    claims,
    recompiles,
    record_scenes,
    fetch,
)


LONGEST_WORD = 300  # characters, in an answer to a wrong call


def main(arguments: Sequence[str] | None = None) -> int:
    """0 = done; 1 = measured, and the answer is no; 2 = a wrong call. Ctrl-C passes through."""
    options = parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal without Unicode must not cost the result
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        code = command(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of our output has gone; leave quietly
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError, MemoryError) as error:
        print(f"lab: {_sentence(error)}", file=sys.stderr)
        return 2


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(_cut(message))


def parser() -> argparse.ArgumentParser:
    made = _Parser(
        prog="python -m lab",
        description="A real small language model answers the same requests under four batching modes.",
    )
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_to(commands)
    return made


def _sentence(error: BaseException) -> str:
    words = " ".join(str(error).split())
    return _cut(words) or f"{type(error).__name__} without a word of explanation"


def _cut(sentence: str) -> str:
    """What was given stays readable in an answer, also where it has thousands of digits."""
    return re.sub(rf"(\S{{{LONGEST_WORD // 2}}})\S{{{LONGEST_WORD},}}", r"\1…", sentence)
