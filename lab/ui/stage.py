"""The stage on a Streamlit page: registers the component once, and mounts it with a run to show.

The component draws and replays in the browser alone; what it shows comes as a whole record or is fetched from the
route of lab.ui.routes. Refuses to know how a run is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from lab.report.stage_assets import stage_css, stage_js
from lab.report.stage_payload import Knob, Source, stage_payload
from lab.report.words import Language
from lab.run.lanes import RunSpec

_mount = st.components.v2.component(
    "batching_stage", html='<div class="stage">\n</div>', css=stage_css(), js=stage_js()
)


def stage(
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
    scale: float = 1.0,
    key: str = "stage",
    on_finished: Callable[[], None] = lambda: None,
    on_unreachable: Callable[[], None] = lambda: None,
    on_knobs: Callable[[], None] = lambda: None,
    on_owner: Callable[[], None] = lambda: None,
) -> None:
    """Mount it, once in a script run.

    lanes           (source id, mode) of each lane to show; None: all of the first source
    scale           of its letters: more than 1 for a projector
    revision        the component takes the knobs' values from here only when this changes
    expected        its lanes are shown empty as long as there is nothing else to show
    preview         {url, scene}: where to ask what the knobs would give while one is moved, see lab.ui.preview
    owner           who this tab is: kept by the tab over a reload
    on_finished     a fetched run is over: its id is st.session_state[key].finished
    on_unreachable  the route does not answer: mount it again with a record, and again as that grows
    on_knobs        a slider was let go: st.session_state[key].knobs is {revision, name: value, …}
    on_owner        the tab was reloaded: st.session_state[key].owner is the owner that it was before
    """
    _mount(
        key=key,
        data=stage_payload(
            sources,
            language,
            lanes=lanes,
            knobs=knobs,
            revision=revision,
            expected=expected,
            preview=preview,
            owner=owner,
            autoplay=autoplay,
            scale=scale,
            key=key,
        ),
        on_finished_change=on_finished,
        on_unreachable_change=on_unreachable,
        on_knobs_change=on_knobs,
        on_owner_change=on_owner,
    )
