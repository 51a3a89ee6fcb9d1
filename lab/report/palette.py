"""Two colour systems that never mix: modes (titles, charts of modes) and requests (cells, with a number)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle

from lab.scheduling.hybrid import base_of

MODES = {"none": "#7F7F7F", "static": "#E69F00", "dynamic": "#0072B2", "continuous": "#009E73"}
# Lanes that bear no mode's name, in the order in which they are shown; on white and on black they stand out.
OTHERS = ("#CC79A7", "#D55E00", "#9467BD", "#3A9BDC", "#A6761D", "#999933")

# Paul Tol's light scheme: eight tints that a colour-blind eye tells apart and black text can be read on.
REQUESTS = ("#77AADD", "#EE8866", "#BBCC33", "#FFAABB", "#AAAA00", "#99DDFF", "#EEDD88", "#44BB99")


def mode_colour(name: str) -> str:
    """A hybrid's is that of its mode."""
    return MODES.get(base_of(name), OTHERS[0])


def lane_colours(names: Iterable[str]) -> dict[str, str]:
    """Of lanes shown together: a mode's own, and for the others one after another of OTHERS."""
    made: dict[str, str] = {}
    others = cycle(OTHERS)
    for name in names:
        if name not in made:
            made[name] = MODES.get(base_of(name)) or next(others)
    return made
