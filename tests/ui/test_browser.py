"""The whole lab in a real browser: the server, the engine's process, the real model, a small scenario."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from lab.scheduling.policy import MODES

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
START_SECONDS, RUN_MS = 60, 240_000


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        sentence = f"no browser found; looked for {', '.join(BROWSERS)}"
        if os.environ.get("CI") == "true":
            pytest.fail(sentence)
        pytest.skip(sentence)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        started = playwright.chromium.launch(executable_path=found, args=flags)
        yield started
        started.close()


@pytest.fixture(scope="module")
def address():
    """Of a server that runs until the module's tests are done, as the user would start it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        "--server.headless=true",
        f"--server.port={port}",
    ]
    server = subprocess.Popen(
        command,
        cwd=ROOT,
        env={
            **os.environ,
            "BATCHING_LAB_DEVICE": "cpu",
            "BATCHING_LAB_DTYPE": "fp32",
            "OMP_NUM_THREADS": "1",  # threads that wait for each other crawl on a busy machine
        },
    )
    url = f"http://localhost:{port}"
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(f"{url}/_stcore/health"):
            assert server.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.2)
        yield url
    finally:
        server.terminate()
        server.wait(START_SECONDS)


@pytest.fixture
def visit(browser, address):
    """Opens the page in a fresh tab; afterwards the tab must have asked nobody else and complained of nothing."""
    complaints, hosts, contexts = [], set(), []

    def open_tab(query, **options):
        contexts.append(browser.new_context(**options))
        tab = contexts[-1].new_page()
        tab.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda r: hosts.add(r.url.split("/")[2]) if r.url.startswith("http") else None)
        tab.goto(f"{address}/{query}")
        tab.locator(".st-key-run button").wait_for()
        return tab

    yield open_tab
    for context in contexts:
        context.close()
    assert complaints == []
    assert hosts == {address.removeprefix("http://")}


def test_a_small_scenario_runs_for_real_and_shows_four_lanes(visit):
    tab = visit("?scenario=night&requests=2&batch=2", viewport={"width": 1280, "height": 720})
    tab.locator(".st-key-run button").click()
    lanes = tab.locator(".st-key-slots .annotation-text")
    lanes.first.wait_for(timeout=RUN_MS)
    names = lanes.all_text_contents()
    assert [name for name in names if name in MODES] == list(MODES)
    assert tab.locator(".st-key-slots .barlayer .point").count() > 8
    shown = tab.locator("body").inner_text()
    assert "Measured here at" in shown
    assert "SmolLM2-135M-Instruct" in shown
    assert "2 of 2 answers are the same in all modes" in shown
    assert "run=" in tab.evaluate("location.search")
    tab.reload()
    lanes.first.wait_for(timeout=RUN_MS)


def test_a_phone_needs_no_sideways_scrolling_and_speaks_chinese(visit):
    evil = "?scenario=![x](http://elsewhere.test/x.png)"
    tab = visit(evil, viewport={"width": 400, "height": 800}, locale="zh-CN", color_scheme="dark")
    assert tab.locator(".st-key-run button").inner_text() == "运行"
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400


def _answers(url):
    try:
        return urllib.request.urlopen(url, timeout=1).status == 200
    except (urllib.error.URLError, OSError):
        return False
