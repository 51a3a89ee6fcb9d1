"""The device of the demo page: real lanes on a scripted engine, in a process of its own."""

import sys
from functools import partial
from pathlib import Path

import streamlit as st

from lab.run.engine_process import EngineProcess
from lab.run.messages import Load
from lab.run.visitors import Device

HOST = Path(__file__).resolve().parents[1] / "run" / "scripted_host.py"


@st.cache_resource(show_spinner=False)
def device() -> Device:
    return Device(Load("scripted"), partial(EngineProcess, command=(sys.executable, str(HOST))))
