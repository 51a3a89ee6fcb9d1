"""What a visitor's page shows, told to whoever predicts what its knobs would give (lab.ui.preview)."""

from __future__ import annotations

from hashlib import sha256

import streamlit as st

from lab.ui.device import me
from lab.ui.knobs import Knobs
from lab.ui.preview import URL, Scene, Scenes
from lab.ui.traces import current_trace
from lab.workload.prompts import MAX_OWN_PROMPTS


@st.cache_resource(show_spinner=False)
def scenes() -> Scenes:
    return Scenes()


def preview_of(knobs: Knobs) -> dict[str, str]:
    """Where the stage asks for predictions: {url, scene}."""
    own = str(st.session_state.get("own") or "").splitlines()[: MAX_OWN_PROMPTS + 1]
    scene = Scene(
        knobs,
        tuple(own) if knobs.scenario == "own" else (),
        current_trace() if knobs.scenario == "trace" else None,
    )
    scene_id = sha256(f"preview {me()}".encode()).hexdigest()[:32]  # cannot be guessed, and is no permission to run
    scenes().show(scene_id, scene)
    return {"url": URL, "scene": scene_id}
