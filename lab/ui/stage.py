"""The stage on a Streamlit page: registers the component once, and mounts it with a run to show.

The component draws and replays in the browser alone; what it shows comes as a whole record or is fetched from the
route of lab.ui.routes. Refuses to know how a run is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from lab.report.stage_assets import stage_css, stage_js

_mount = st.components.v2.component(
    "batching_stage", html='<div class="stage">\n</div>', css=stage_css(), js=stage_js()
)


def stage(
    payload: Mapping[str, Any],
    *,
    on_finished: Callable[[], None] = lambda: None,
    on_unreachable: Callable[[], None] = lambda: None,
    on_knobs: Callable[[], None] = lambda: None,
    on_owner: Callable[[], None] = lambda: None,
) -> None:
    """Mount it, once in a script run; `payload` is made by lab.report.stage_payload, `key` is the one in it.

    on_finished     a fetched run is over: its id is st.session_state[key].finished
    on_unreachable  the route does not answer: mount it again with a record, and again as that grows
    on_knobs        a slider was let go: st.session_state[key].knobs is {revision, name: value, …}
    on_owner        the tab was reloaded: st.session_state[key].owner is the owner that it was before
    """
    _mount(
        key=payload["key"],
        data=payload,
        on_finished_change=on_finished,
        on_unreachable_change=on_unreachable,
        on_knobs_change=on_knobs,
        on_owner_change=on_owner,
    )
