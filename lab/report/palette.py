"""Two colour systems that never mix: modes (titles, charts of modes) and requests (cells, with a number)."""

from __future__ import annotations

from lab.scheduling.hybrid import base_of

MODES = {"none": "#7F7F7F", "static": "#E69F00", "dynamic": "#0072B2", "continuous": "#009E73"}
OTHER_MODE = "#CC79A7"

# Paul Tol's light scheme: eight tints that a colour-blind eye tells apart and black text can be read on.
REQUESTS = ("#77AADD", "#EE8866", "#BBCC33", "#FFAABB", "#AAAA00", "#99DDFF", "#EEDD88", "#44BB99")


def mode_colour(name: str) -> str:
    """A hybrid's is that of its mode."""
    return MODES.get(base_of(name), OTHER_MODE)
