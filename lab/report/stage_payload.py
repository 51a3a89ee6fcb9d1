"""What the stage's component is given: runs, their lanes, knobs, strings and colours, ready for JSON. No page."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.report.gloss import glosses
from lab.report.palette import MODES, OTHERS, REQUESTS
from lab.report.stage_data import expected as expected_lanes
from lab.report.stage_data import whole
from lab.report.words import Language, texts
from lab.run.lanes import RunSpec
from lab.run.record import RunRecord

PREFIXES = ("stage.", "mode.", "phase.", "line.", "why.")  # the strings that it uses


@dataclass(frozen=True, slots=True)
class Source:
    """A run to show: a record (whole, or as far as it has come), or None to fetch it from the server by its id.

    over       no more will come than is in the record
    situation  what must be equal for this run's results to stand on one curve with earlier ones
    """

    id: str
    record: RunRecord | None = None
    over: bool = True
    situation: str = ""


@dataclass(frozen=True, slots=True)
class Knob:
    """A slider over a list of values; None among them means "no limit". `name` is a key of stage.knob; `lanes` are
    the modes whose lanes it changes."""

    name: str
    stops: tuple[float | None, ...]
    value: float | None
    lanes: tuple[str, ...] = tuple(MODES)


def stage_payload(
    sources: Sequence[Source],
    language: Language,
    *,
    lanes: Sequence[tuple[str, str]] | None = None,
    knobs: Sequence[Knob] = (),
    revision: str = "",
    expected: RunSpec | None = None,
    preview: Mapping[str, str] | None = None,
    owner: str = "",
    autoplay: bool = False,
    fresh: bool = False,
    scale: float = 1.0,
    words: Sequence[str] | None = None,
    key: str = "stage",
) -> dict[str, Any]:
    """The component's `data`; its shape is said in assets/stage/main.js.

    lanes     (source id, mode) of each lane to show; None: all of the first source
    revision  the component takes the knobs' values from here only when this changes
    expected  its lanes are shown empty as long as there is nothing else to show
    preview   {url, scene}: where to ask what the knobs would give while one is moved, see lab.ui.preview
    owner     who this tab is: kept by the tab over a reload
    fresh     what was shown before goes at once, not only when the lanes to show have begun
    scale     of its letters: more than 1 for a projector
    words     that whoever looks has met (lab.lesson.lesson.Word): it shows nothing that needs another; None: all
    key       two stages on a page have two
    """
    items = [{"name": k.name, "stops": list(k.stops), "value": k.value, "lanes": list(k.lanes)} for k in knobs]
    return {
        "key": key,
        "language": language,
        "text": stage_texts(language),
        "gloss": dict(glosses(language)),
        "words": None if words is None else list(words),
        "colours": {"modes": MODES, "others": list(OTHERS), "requests": list(REQUESTS)},
        "runs": [_source(source) for source in sources],
        "lanes": None if lanes is None else [{"run": run, "lane": lane} for run, lane in lanes],
        "knobs": {"revision": revision, "items": items} if items else None,
        "expected": None if expected is None else _expected(expected),
        "preview": preview,
        "owner": owner,
        "autoplay": autoplay,
        "fresh": fresh,
        "scale": scale,
    }


def stage_texts(language: Language) -> Mapping[str, str]:
    return {name: text for name, text in texts(language).items() if name.startswith(PREFIXES)}


def _source(source: Source) -> dict[str, Any]:
    made: dict[str, Any] = {"id": source.id, "situation": source.situation}
    if source.record is None:
        return made | {"url": f"/api/run/{source.id}"}
    return made | {"record": whole(source.record), "over": source.over}


def _expected(spec: RunSpec) -> dict[str, Any]:
    """Another spec has another id."""
    return {"id": f"expected-{zlib.crc32(repr(spec).encode())}", "record": expected_lanes(spec)}
