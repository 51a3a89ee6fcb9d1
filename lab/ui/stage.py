"""The stage on a Streamlit page: registers the component once, and mounts it with a run to show.

The component draws and replays in the browser alone; what it shows comes as a whole record or is fetched from the
route of lab.ui.routes. Refuses to know how a run is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from lab.run.record import RunRecord
from lab.ui.palette import MODES, OTHER_MODE, REQUESTS
from lab.ui.stage_assets import stage_css, stage_js
from lab.ui.stage_data import whole
from lab.ui.words import Language, texts

PREFIXES = ("stage.", "mode.", "phase.", "line.", "why.")  # the strings that it uses

_mount = st.components.v2.component(
    "batching_stage", html='<div class="stage">\n</div>', css=stage_css(), js=stage_js()
)


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
    """A slider over a list of values; None among them means "no limit". `name` is a key of stage.knob."""

    name: str
    stops: tuple[float | None, ...]
    value: float | None


def stage(
    sources: Sequence[Source],
    language: Language,
    *,
    lanes: Sequence[tuple[str, str]] | None = None,
    knobs: Sequence[Knob] = (),
    revision: str = "",
    autoplay: bool = False,
    scale: float = 1.0,
    key: str = "stage",
    on_finished: Callable[[], None] = lambda: None,
    on_unreachable: Callable[[], None] = lambda: None,
    on_knobs: Callable[[], None] = lambda: None,
) -> None:
    """Mount it, once in a script run.

    lanes           (source id, mode) of each lane to show; None: all of the first source
    scale           of its letters: more than 1 for a projector
    revision        the component takes the knobs' values from here only when this changes
    on_finished     a fetched run is over: its id is st.session_state[key].finished
    on_unreachable  the route does not answer: mount it again with a record, and again as that grows
    on_knobs        a slider was let go: st.session_state[key].knobs is {revision, name: value, …}
    """
    _mount(
        key=key,
        data=stage_payload(
            sources, language, lanes=lanes, knobs=knobs, revision=revision, autoplay=autoplay, scale=scale, key=key
        ),
        on_finished_change=on_finished,
        on_unreachable_change=on_unreachable,
        on_knobs_change=on_knobs,
    )


def stage_payload(
    sources: Sequence[Source],
    language: Language,
    *,
    lanes: Sequence[tuple[str, str]] | None = None,
    knobs: Sequence[Knob] = (),
    revision: str = "",
    autoplay: bool = False,
    scale: float = 1.0,
    key: str = "stage",
) -> dict[str, Any]:
    """The component's `data`; its shape is said in assets/stage/main.js."""
    items = [{"name": k.name, "stops": list(k.stops), "value": k.value} for k in knobs]
    return {
        "key": key,
        "language": language,
        "text": stage_texts(language),
        "colours": {"modes": MODES, "other": OTHER_MODE, "requests": list(REQUESTS)},
        "runs": [_source(source) for source in sources],
        "lanes": None if lanes is None else [{"run": run, "lane": lane} for run, lane in lanes],
        "knobs": {"revision": revision, "items": items} if items else None,
        "autoplay": autoplay,
        "scale": scale,
    }


def stage_texts(language: Language) -> Mapping[str, str]:
    return {name: text for name, text in texts(language).items() if name.startswith(PREFIXES)}


def _source(source: Source) -> dict[str, Any]:
    made: dict[str, Any] = {"id": source.id, "situation": source.situation}
    if source.record is None:
        return made | {"url": f"/api/run/{source.id}"}
    return made | {"record": whole(source.record), "over": source.over}
