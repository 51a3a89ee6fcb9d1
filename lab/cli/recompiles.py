"""`recompiles`: what a changing number of rows costs where a step is compiled, with torch.compile."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from lab.cli.options import path
from lab.cli.output import print_json
from lab.cli.places import check_file
from lab.cli.progress import ProgressLine
from lab.engine.compiled_call import CompiledCall
from lab.experiments.recompiles import CXX, RECORDED, Recompiles, cxx_compiler, measure_recompiles, recompiles_json
from lab.run.record_file import write_whole
from lab.spec.model_shape import WELL_KNOWN

MODEL = "SmolLM2-135M"


def add_to(commands: Any) -> None:
    command = commands.add_parser(
        "recompiles",
        help="how often torch.compile compiles a step anew as rows come and go",
        description="One MLP block of a model's sizes on the CPU, with random weights. Takes under a minute and "
        "needs a C++ compiler.",
    )
    add = command.add_argument
    add("--of", default=MODEL, choices=list(WELL_KNOWN), metavar="NAME", help=f"whose sizes (default: {MODEL})")
    add("--out", type=path, metavar="FILE", help=f"write the record, as {RECORDED.name} is")
    add("--json", action="store_true", help="one JSON object on stdout")
    command.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 1 where nothing can be compiled here."""
    check_file("--out", options.out)
    if cxx_compiler() is None:
        print(
            f"torch.compile needs a C++ compiler, and none of {', '.join(CXX)} was found. "
            "The lesson on continuous batching shows what was recorded elsewhere.",
            file=sys.stderr,
        )
        return 1
    with ProgressLine() as progress:
        found = measure_recompiles(WELL_KNOWN[options.of], progress.phase)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(options.out, recompiles_json(found))
        print(f"written to {options.out}", file=sys.stderr)
    if options.json:
        print_json(json.loads(recompiles_json(found)))
    else:
        print("\n".join(recompiles_text(found)))
    return 0


def recompiles_text(found: Recompiles) -> Iterator[str]:
    yield f"one MLP block of {found.model}, fp32 · {found.device} · threads: {found.threads} · torch {found.torch}"
    for name, calls in (("compiled for one shape at a time", found.fixed), ("told that it changes", found.dynamic)):
        yield f"{name}: {sum(c.compilations for c in calls)} compilations in {len(calls)} batches"
        yield f"{'rows':>6} {'compiled':>9} {'first call':>13} {'later call':>13}"
        yield from map(_row, calls)


def _row(c: CompiledCall) -> str:
    return f"{c.rows:6} {c.compilations:9} {c.first_s * 1e3:10,.1f} ms {c.later_s * 1e3:10.2f} ms"
