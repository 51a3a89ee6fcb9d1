"""The one device of this page process, and the token that tells its visitors apart."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from lab.engine.text import Text
from lab.run.messages import Load
from lab.run.visitors import Device

DEFAULT_MODEL = "smollm2-135m"


def new_device() -> Device:
    """$BATCHING_LAB_MODEL, $BATCHING_LAB_DEVICE and $BATCHING_LAB_DTYPE choose the engine."""
    return Device(
        Load(
            model=os.environ.get("BATCHING_LAB_MODEL") or DEFAULT_MODEL,
            device=os.environ.get("BATCHING_LAB_DEVICE") or "auto",
            dtype=os.environ.get("BATCHING_LAB_DTYPE") or "auto",
        )
    )


@st.cache_resource(show_spinner=False, on_release=Device.close)
def device() -> Device:
    """Started on first use; the same for all visitors."""
    return new_device()


def token_bytes(job: str) -> Callable[[int], bytes] | None:
    """The text of the loaded model's tokens, for whoever follows a run; None where there is no tokenizer."""
    facts = device().engine.facts
    return _text(facts.folder).token_bytes if facts is not None and facts.folder else None


@st.cache_resource(show_spinner=False, max_entries=2)
def _text(folder: str) -> Text:
    return Text.load(Path(folder))


def me() -> str:
    """This visitor, as long as the tab is open."""
    token: str = st.session_state.setdefault("me", uuid.uuid4().hex)
    return token
