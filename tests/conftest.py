"""The real model, loaded once for all tests that ask for it."""

import pytest

from lab.engine.loaded import let_waiting_threads_sleep, load_engine

let_waiting_threads_sleep()  # before any test module imports torch


@pytest.fixture(scope="session")
def engine():
    """SmolLM2-135M-Instruct in fp32 on the CPU (fetched on first use)."""
    return load_engine("smollm2-135m", device="cpu", dtype="fp32")
