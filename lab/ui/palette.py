"""Two colour systems that never mix: modes (titles, charts of modes) and requests (cells, with a number)."""

from __future__ import annotations

MODES = {"none": "#7F7F7F", "static": "#E69F00", "dynamic": "#0072B2", "continuous": "#009E73"}
OTHER_MODE = "#CC79A7"

# Paul Tol's light scheme: eight tints that a colour-blind eye tells apart and black text can be read on.
REQUESTS = ("#77AADD", "#EE8866", "#EEDD88", "#FFAABB", "#99DDFF", "#44BB99", "#BBCC33", "#DDDDDD")


def mode_colour(name: str) -> str:
    return MODES.get(name, OTHER_MODE)


def request_colour(number: int) -> str:
    return REQUESTS[number % len(REQUESTS)]


def darker(colour: str, part: float = 0.5) -> str:
    """The same hue, `part` as bright."""
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{int(c * part):02X}" for c in channels)
