"""Where a command is to write: asked before the work, made after it, so that a call that fails leaves nothing."""

from __future__ import annotations

import os
from pathlib import Path

from lab.run.record_file import PART, part_of

LONGEST_NAME = 255  # bytes; of a file on all usual file systems


def check_folder(option: str, folder: Path | None) -> None:
    """ValueError where the folder that this option names could not be made, or not be written into."""
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{option} is {folder}, which is a file; name a folder")
    _check_writable(option, folder, folder)


def check_file(option: str, file: Path | None) -> None:
    """ValueError where the file that this option names could not be written, its folders being made."""
    if file is None:
        return
    if file.is_dir():
        raise ValueError(f"{option} is {file}, which is a folder; name a file")
    _check_writable(option, file, file.absolute().parent)
    part = part_of(file)
    if len(os.fsencode(part.name)) > LONGEST_NAME:
        most = LONGEST_NAME - len(PART)
        raise ValueError(f"{option} is {file.name[:40]}…, a name too long; it may have {most} bytes")
    if part.is_dir():
        raise ValueError(f"{option} is {file}, which is written by way of {part}, and that is a folder; move it")


def _check_writable(option: str, named: Path, folder: Path) -> None:
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        raise ValueError(f"{option} is {named}, and {there} is a file; name another place")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"{option} is {named}, and {there} cannot be written; name another place")
