"""`streamlit run tests/stage/demo_app.py`: the stage alone on a page, an engine process with a scripted engine."""

import sys
from contextlib import asynccontextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import streamlit as st  # noqa: E402
from demo_device import device  # noqa: E402

from lab.ui.routes import run_route  # noqa: E402

WORDS = ("the", "answer", "is", "that", "a", "small", "model", "reads", "its", "weights", "for", "every", "step")


@asynccontextmanager
async def lifespan(app):
    running = device()
    yield
    running.close()


def token_bytes(token: int) -> bytes:
    return f" {WORDS[token % len(WORDS)]}".encode()


app = st.App(HERE / "demo_page.py", routes=[run_route(device, lambda job_id: token_bytes)], lifespan=lifespan)
