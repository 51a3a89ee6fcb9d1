"""`claims`: measure what the lessons claim, on this machine, and write it down."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from lab.cli.options import add_model_options, check_repeats, engine_of, path
from lab.cli.output import print_json
from lab.cli.progress import ProgressLine
from lab.lesson.expression import unit
from lab.lesson.lesson import lessons, scenes
from lab.lesson.measured import FEWEST_REPEATS, ClaimFound, measure_claims
from lab.lesson.numbers import written
from lab.lesson.text import lesson_text
from lab.run.job import run_job
from lab.run.provenance import provenance_of
from lab.run.record import Provenance
from lab.run.record_file import write_whole


def add_to(commands: Any) -> None:
    command = commands.add_parser("claims", help="measure what the lessons claim, on this machine")
    add_model_options(command)
    command.add_argument("--repeats", type=int, default=FEWEST_REPEATS, metavar="N", help="at least 5 (default: 5)")
    command.add_argument("--out", type=path, metavar="FILE", help="write the table, as docs/claims.md is")
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")
    command.set_defaults(command=measure)


def measure(options: argparse.Namespace) -> int:
    """Exit code 1 where a claim does not hold, or noise leaves it open."""
    check_repeats(options.repeats, FEWEST_REPEATS)
    with ProgressLine() as progress:
        engine = engine_of(options, progress)
        provenance = provenance_of(engine, ())
        found = measure_claims(
            lessons(), scenes(), lambda _, scene: run_job(scene.spec(), engine, progress.event), options.repeats
        )
    table = claims_table(found, provenance, options.repeats)
    if options.out is not None:
        write_whole(options.out, table)
        print(f"written to {options.out}", file=sys.stderr)
    if options.json:
        print_json({"device": provenance.device, "dtype": provenance.dtype, "claims": [_json(f) for f in found]})
    else:
        print(table)
    return 0 if all(f.verdict == "holds" for f in found) else 1


def claims_table(found: Sequence[ClaimFound], p: Provenance, repeats: int) -> str:
    """Markdown."""
    counted = Counter(f.verdict for f in found)
    lines = [
        "# What the lessons claim, measured",
        "",
        "Made by `python -m lab claims --out docs/claims.md`. "
        f"{p.model} · {p.dtype} · {p.device} · threads: {p.threads} · {p.created} · each scene {repeats} times.",
        "A claim holds where its measure lay within the bounds in every repeat; where repeats disagree it is "
        "inconclusive.",
        "",
        ", ".join(f"{n} {verdict}" for verdict, n in counted.items()) + ".",
        "",
        "| lesson | claim | measure | must be | median | lowest to highest | verdict |",
        "|---|---|---|---|---|---|---|",
        *map(_row, found),
        "",
    ]
    return "\n".join(lines)


def _row(f: ClaimFound) -> str:
    sentence = lesson_text(f.lesson.folder, "en").sections[f.claim.key].heading
    kind = unit(f.claim.measure)
    between = f"{written(min(f.values), kind)} to {written(max(f.values), kind)}" if f.values else "–"
    cells = (
        str(f.lesson.number),
        sentence,
        f"`{f.claim.measure}`",
        bounds(f.claim.least, f.claim.most),
        written(f.median, kind),
        between,
        f.verdict,
    )
    return f"| {' | '.join(cells)} |"


def bounds(least: float | None, most: float | None) -> str:
    if least is None:
        return f"≤ {most:g}"
    return f"≥ {least:g}" if most is None else f"{least:g} to {most:g}"


def _json(f: ClaimFound) -> dict[str, Any]:
    return {
        "lesson": f.lesson.number,
        "claim": f.claim.key,
        "measure": f.claim.measure,
        "least": f.claim.least,
        "most": f.claim.most,
        "values": list(f.values),
        "verdict": f.verdict,
    }
