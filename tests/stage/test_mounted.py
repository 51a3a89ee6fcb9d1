"""The stage on a real Streamlit page, real lanes in an engine process: mounted once, whatever the page does."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "tests/stage/demo_app.py", "--server.headless=true",
         f"--server.port={port}"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    url = f"http://localhost:{port}"
    try:
        deadline = time.monotonic() + 60
        while not answers(f"{url}/_stcore/health"):
            assert server.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.2)
        yield url
    finally:
        server.terminate()
        server.wait(30)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return response.status == 200
    except OSError:
        return False


@pytest.fixture
def page(tab, address):
    tab.faults, tab.requested = [], []
    tab.set_viewport_size({"width": 1280, "height": 720})
    tab.goto(address)
    tab.wait_for_function("globalThis.batchingStage?.get('stage')?.shown.length === 4", timeout=60_000)
    yield tab
    assert tab.faults == []
    assert [url for url in tab.requested if not url.startswith((address, "blob:", "data:"))] == []


def test_it_is_mounted_once_while_a_run_grows_and_the_page_reruns(page):
    session = "batchingStage.get('stage')"
    for _ in range(3):
        page.get_by_role("button", name="Rerun").click()
        page.wait_for_timeout(200)
    batch = page.get_by_role("slider", name="Max batch size")
    batch.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text("'max_batch_size': 8").wait_for()
    page.wait_for_function(f"{session}.runs.values().next().value.over", timeout=60_000)
    run = page.evaluate(f"{session}.ids[0]")
    page.get_by_text(f"finished: {run}").wait_for()
    assert page.evaluate(f"{session}.counters.mounts") == 1
    assert page.evaluate(f"{session}.runs.values().next().value.faults") == 0
    assert page.evaluate(f"{session}.feeds.values().next().value.pulls") > 5
    assert page.evaluate(f"{session}.shown.every(({{ lane }}) => lane.requests.every((r) => r.finished !== null))")
    page.get_by_role("img", name="continuous: 12 of 12 requests finished").wait_for()


def test_colours_come_from_the_page(page):
    theme = page.evaluate(
        "() => { const { theme } = batchingStage.get('stage').stage; return [theme.background, theme.em]; }"
    )
    assert theme == ["#FFFFFF", 16]
