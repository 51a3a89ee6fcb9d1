"""Large texts that must fit one file: compressed here, unpacked by the browser. The same bytes each time."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import plotly

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "report"


def packed(text: str) -> str:
    """gzip in base64: nothing in it can end the element that holds it."""
    return base64.b64encode(gzip.compress(text.encode("utf-8"), 9, mtime=0)).decode("ascii")


def packed_json(content: Any) -> str:
    """Strict JSON, packed."""
    return packed(json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":")))


def script_hash(source: str) -> str:
    """As a content security policy names a script that may run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode('utf-8')).digest()).decode('ascii')}'"


@cache
def asset(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


@cache
def plotly_js() -> str:
    """The drawing library as its Python package ships it (MIT license)."""
    path = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    return path.read_text(encoding="utf-8").replace("\r\n", "\n")


@cache
def plotly_packed() -> str:
    return packed(plotly_js())
