"""The one entry: `streamlit run app.py` serves the page."""

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

from lab.ui.device import device, token_bytes
from lab.ui.predicting import scenes
from lab.ui.preview import preview_route
from lab.ui.routes import run_route


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """The engine starts with the server, so that the model loads while the first visitor reads."""
    running = device()
    gc.collect()
    gc.freeze()
    yield
    running.close()


app = st.App(
    Path(__file__).parent / "lab" / "ui" / "main.py",
    routes=[run_route(device, token_bytes), preview_route(device, scenes)],
    lifespan=lifespan,
    # Streamlit serves its own files uncompressed: 7 MB for a page with a chart, 2.5 with this.
    middleware=[Middleware(GZipMiddleware, minimum_size=1024, compresslevel=5)],
)
