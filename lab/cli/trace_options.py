"""The options that cut a trace, for its preview and for its run, and the values they become."""

from __future__ import annotations

import argparse
from pathlib import Path

from lab.workload.request import Workload
from lab.workload.trace.reading import read_trace_file
from lab.workload.trace.replay import Cut, Replay, cut, workload_of

# The option, what it sets in a Replay, its type and its help; `--requests`, which limits a trace too, is elsewhere.
_OPTIONS = (
    ("--from", "start", float, "S", "seconds from the trace's first row at which the slice begins (default: 0)"),
    ("--to", "end", float, "S", "seconds at which it ends (default: the trace's end)"),
    ("--length-scale", "length_scale", float, "X", "tokens of prompts and answers, multiplied by it (default: 1)"),
    ("--max-prompt-tokens", "most_prompt_tokens", int, "N", "cut longer prompts to N tokens, after scaling"),
    ("--max-output-tokens", "most_output_tokens", int, "N", "cut longer answers to N tokens, after scaling"),
    ("--max-gap", "longest_gap", float, "S", "shorten times without an arrival to S seconds, before the speed-up"),
    ("--speed-up", "speed_up", float, "X", "X times as many requests per second (default: 1)"),
)


def add_trace_options(command: argparse.ArgumentParser) -> None:
    for option, field, kind, metavar, words in _OPTIONS:
        command.add_argument(option, dest=field, type=kind, metavar=metavar, help=words)


def cut_of(options: argparse.Namespace, file: Path) -> Cut:
    given = {field: getattr(options, field) for _, field, *_ in _OPTIONS}
    replay = Replay(requests=options.requests, **{k: v for k, v in given.items() if v is not None})
    return cut(read_trace_file(file), replay)


def traced(options: argparse.Namespace) -> Workload | None:
    """The workload of `--trace FILE`; None without one. ValueError for options that do not go together."""
    if options.trace is None:
        alone = [option for option, field, *_ in _OPTIONS if getattr(options, field) is not None]
        if alone:
            raise ValueError(f"{alone[0]} cuts a trace; name one with --trace FILE")
        return None
    for option, value in (("--scenario", options.scenario), ("--prompts", options.prompts)):
        if value is not None:
            raise ValueError(f"{option} {value} does not go with --trace: a trace brings its own requests")
    if options.request_rate is not None:
        raise ValueError(f"--request-rate {options.request_rate:g} does not go with --trace; use --speed-up")
    made = cut_of(options, options.trace)
    return workload_of(made, f"trace {made.trace.name}", options.seed)
