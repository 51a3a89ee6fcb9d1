"""A Chrome or Chromium of this machine, found, tried, and asked for what a page of ours makes of itself.

Every call has a time limit, after which the browser and all that it started are ended. Who asks for it sees to it
that nothing is being measured meanwhile (lab.run.measuring).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
PROBE_SECONDS = 30.0
_HELLO = "<!doctype html><title>probe</title><p id=here>"
_OPTIONS = (
    "--headless=new",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-extensions",
    "--no-first-run",
    "--no-default-browser-check",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--virtual-time-budget=600000",
    "--dump-dom",
)


class NoBrowser(ValueError):
    """There is none that answers; the sentence says what still works."""


def find_browser(seconds: float = PROBE_SECONDS) -> str:
    """The first that opens a page within so many seconds. Raises NoBrowser, with the reason."""
    found = [path for name in NAMES if (path := shutil.which(name))] + [p for p in PLACES if Path(p).is_file()]
    if not found:
        raise NoBrowser(_sentence("no Chrome or Chromium is found on this machine"))
    failures = []
    for program in dict.fromkeys(found):
        try:
            if 'id="here"' in dump(program, _HELLO, seconds):
                return program
            failures.append(f"{program} opens no page")
        except NoBrowser as error:
            failures.append(str(error))
    raise NoBrowser(_sentence("; ".join(failures)))


def dump(program: str, page: str, seconds: float) -> str:
    """The document that this page has become when its scripts are done. Raises NoBrowser after so many seconds."""
    with tempfile.TemporaryDirectory(prefix="batching-lab-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "page.html"
        path.write_text(page, encoding="utf-8")
        root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        command = [program, *_OPTIONS, *root, f"--user-data-dir={folder}/profile", path.as_uri()]
        return _run(command, seconds)


def _run(command: list[str], seconds: float) -> str:
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise NoBrowser(f"{command[0]} did not answer within {seconds:g} s") from None
        finally:
            _end(process)
    if process.returncode:
        raise NoBrowser(f"{command[0]} ended with code {process.returncode}")
    return out.decode("utf-8", errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """With all that it started, where the system can tell."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        pass  # it is gone


def _sentence(reason: str) -> str:
    return f"pictures need a browser, and {reason}; the report and the tables need none"
