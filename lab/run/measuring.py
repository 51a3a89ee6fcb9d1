"""Who measures on this machine? Others of this user ask before they do what would disturb a measurement.

Each process that measures locks a file of its own in the cache folder. The system drops the lock when the process
ends, however it ends, so nobody is taken for measuring who is gone. Knows no engine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lab.engine.fetch import cache_folder

_PATIENCE = 1.0  # seconds: somebody who asks holds the file for a moment


@contextmanager
def measuring() -> Iterator[None]:
    """As long as this lasts, `someone_measures()` is true elsewhere. Where the cache folder cannot be written, and
    within another such block of this process, nothing is said."""
    path = _folder() / f"{os.getpid()}.lock"
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=_PATIENCE)
    except (OSError, Timeout):
        yield
        return
    try:
        yield
    finally:
        lock.release()
        _forget(path)


def someone_measures() -> bool:
    """In any process of this user that has the same cache folder."""
    held = [_is_held(path) for path in _folder().glob("*.lock")]  # all of them: what is left over goes, each time
    return any(held)


def _is_held(path: Path) -> bool:
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:
        return False
    lock.release()
    _forget(path)
    return False


def _forget(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return  # another has it open; it will be asked again


def _folder() -> Path:
    return cache_folder() / "measuring"
