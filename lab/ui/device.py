"""The one device of this page process, and the token that tells its visitors apart."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from lab.engine.text import Text
from lab.run.messages import Load
from lab.run.visitors import Device
from lab.ui.models import first_model


def new_device() -> Device:
    """$BATCHING_LAB_MODEL, $BATCHING_LAB_DEVICE and $BATCHING_LAB_DTYPE choose the engine."""
    return Device(
        Load(
            model=first_model(),
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
    return text_of(facts.folder).token_bytes if facts is not None and facts.folder else None


@st.cache_resource(show_spinner=False, max_entries=2)
def text_of(folder: str) -> Text:
    """The tokenizer that lies there."""
    return Text.load(Path(folder))


def me() -> str:
    """This visitor's secret, as long as the tab is open: who knows it may cancel and replace its run. The tab keeps
    it over a reload (assets/stage/owner.js); no address shows it."""
    token: str = st.session_state.setdefault("me", uuid.uuid4().hex)
    return token


def be_again(token: object) -> None:
    """After a reload the tab says who it was. Too late where a run of the new one is in line already."""
    if isinstance(token, str) and re.fullmatch(r"[0-9a-f]{32}", token) and not st.session_state.get("has_run"):
        st.session_state["me"] = token
