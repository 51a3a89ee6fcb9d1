"""Charts as picture files, drawn by a browser of this machine without a window and without a network."""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from collections.abc import Mapping, Sequence

from lab.report.browser import NoBrowser, dump
from lab.report.charts.style import SLIDE, Chart
from lab.report.pack import asset, packed_json, plotly_js, plotly_packed, script_hash

FORMATS = ("svg", "png")
SECONDS_EACH = 20.0
_FOUND = re.compile(r'<pre id="made">(.*?)</pre>', re.DOTALL)


def pictures(
    charts: Sequence[Chart], formats: Sequence[str], program: str, slide: Mapping[str, int] = SLIDE
) -> dict[tuple[str, str], bytes]:
    """The files' bytes by (chart name, format). Raises NoBrowser where the browser does not make all of them."""
    wanted = [(chart.name, format) for chart in charts for format in formats]
    page = _page(charts, formats, slide)
    found = _FOUND.search(dump(program, page, SECONDS_EACH * (1 + len(wanted))))
    try:
        made: dict[str, str] = json.loads(html.unescape(found[1])) if found else {}
        return {
            (name, format): base64.b64decode(made[f"{name}.{format}"], validate=True) for name, format in wanted
        }
    except (KeyError, ValueError, binascii.Error) as error:
        raise NoBrowser(f"{program} did not draw all charts ({type(error).__name__}: {error})") from None


def _page(charts: Sequence[Chart], formats: Sequence[str], slide: Mapping[str, int]) -> str:
    """Draws each chart, and leaves all pictures as JSON of base64 in its document."""
    boot, draw = asset("unpack.js"), asset("pictures.js")
    policy = " ".join(map(script_hash, (boot + draw, plotly_js())))
    content = {
        "charts": [{"name": c.name, "figure": json.loads(c.figure.to_json())} for c in charts],
        "formats": list(formats),
        "slide": dict(slide),
    }
    return (
        '<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src '
        f"'none'; script-src {policy}; style-src 'unsafe-inline'; img-src data: blob:\">"
        f'<script type="text/plain" id="packed-plotly">{plotly_packed()}</script>'
        f'<script type="text/plain" id="packed-data">{packed_json(content)}</script>'
        f"<script>{boot}{draw}</script>"
    )
