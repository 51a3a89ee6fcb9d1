"""`claims`: measure what the lessons claim, on this machine, and write it down."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lab.cli.options import add_model_options, check_repeats, engine_of, path
from lab.cli.output import print_json
from lab.cli.places import check_file
from lab.cli.progress import ProgressLine
from lab.cli.scene_progress import SceneProgress
from lab.lesson.expression import unit
from lab.lesson.lesson import lesson_named, lessons, scenes
from lab.lesson.measured import FEWEST_REPEATS, ClaimFound, measure_claims, scenes_needed
from lab.lesson.numbers import written
from lab.lesson.scene import Scene
from lab.lesson.text import Section, lesson_text
from lab.run.job import run_bare
from lab.run.provenance import provenance_of
from lab.run.record import Provenance, RunRecord
from lab.run.record_file import write_whole


def add_to(commands: Any) -> None:
    command = commands.add_parser("claims", help="measure what the lessons claim, on this machine")
    add_model_options(command)
    command.add_argument("--repeats", type=int, default=FEWEST_REPEATS, metavar="N", help="at least 5 (default: 5)")
    command.add_argument("--lesson", action="append", metavar="NAME", help="this one only; may be given again")
    command.add_argument("--out", type=path, metavar="FILE", help="write the table, as docs/claims.md is")
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")
    command.set_defaults(command=measure)


def measure(options: argparse.Namespace) -> int:
    """Exit code 1 where a claim does not hold, or noise leaves it open."""
    check_repeats(options.repeats, FEWEST_REPEATS)
    check_file("--out", options.out)
    wanted = [lesson_named(name) for name in options.lesson or [lesson.name for lesson in lessons()]]
    with ProgressLine() as progress:
        engine = engine_of(options, progress)
        provenance = replace(provenance_of(engine, ()), read_bytes_per_s=engine.read_bandwidth())
        done = SceneProgress(options.repeats * len(scenes_needed(wanted, scenes())))

        def run(name: str, scene: Scene) -> RunRecord:
            done.begin(name)
            return replace(run_bare(scene.spec(), engine), provenance=provenance)  # some claims ask for bandwidth

        found = measure_claims(wanted, scenes(), run, options.repeats)
    table = claims_table(found, provenance, options.repeats)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
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
    open_ones = [f for f in found if f.verdict != "holds"]
    lines = [
        "# What the lessons claim, measured",
        "",
        f"Made by `{_command({f.lesson.name for f in found})}`. "
        f"{p.model} · {p.dtype} · {p.device} · threads: {p.threads} · {p.created} · each scene {repeats} times.",
        "A claim holds where its measure lay within the bounds in every repeat; where repeats disagree it is "
        "inconclusive.",
        "",
        ", ".join(f"{verdict}: {counted[verdict]}" for verdict in ("holds", "does not hold", "inconclusive")) + ".",
        "",
        "| lesson | claim | measure | must be | median | lowest to highest | verdict |",
        "|---|---|---|---|---|---|---|",
        *map(_row, found),
        "",
    ]
    if open_ones:
        lines += ["## What did not come out so in every repeat, and why that may be", ""]
        lines += [f"- Lesson {f.lesson.number}, *{_section(f).heading}* {_section(f).body}" for f in open_ones]
        lines.append("")
    return "\n".join(lines)


def _command(measured: set[str]) -> str:
    """That makes this table."""
    some = "".join(f" --lesson {x.name}" for x in lessons() if x.name in measured)
    return f"python -m lab claims{'' if measured == {x.name for x in lessons()} else some} --out docs/claims.md"


def _section(f: ClaimFound) -> Section:
    """Its words: the claim as a heading, and what may be the matter where it does not hold."""
    return lesson_text(f.lesson.folder, "en").sections[f.claim.key]


def _row(f: ClaimFound) -> str:
    kind = unit(f.claim.measure)
    ends = dict.fromkeys(written(end, kind) for end in (min(f.values), max(f.values))) if f.values else ["–"]
    cells = (
        str(f.lesson.number),
        _section(f).heading,
        f"`{f.claim.measure}`",
        bounds(f.claim.least, f.claim.most),
        written(f.median, kind),
        " to ".join(ends),
        f.verdict,
    )
    return f"| {' | '.join(cells)} |"


def bounds(least: float | None, most: float | None) -> str:
    if least == most:
        return f"= {least:g}"
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
