"""The knobs in an address. What is out of bounds is clamped, what cannot be read is dropped, and both leave a
Notice: nothing is changed in silence. No streamlit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Literal, NamedTuple

from lab.scheduling.policy import MODES
from lab.ui.knobs import BOUNDS, DEFAULTS, EDGE, FLAGS, MOST_EDGES, SITUATIONS, TURNS, Bounds, Knobs

KNOBS = tuple(field.name for field in fields(Knobs))


class Notice(NamedTuple):
    """What an address held for a knob, and what was taken in its place."""

    kind: Literal["clamped", "unread", "repeated"]
    knob: str
    given: str
    taken: str


def last_of(query: Mapping[str, Sequence[str]]) -> tuple[dict[str, str], list[Notice]]:
    """An address that says something more than once: the last of each counts, and of a knob that is said."""
    found = {name: values[-1] for name, values in query.items() if values}
    repeated = [name for name in KNOBS if len(query.get(name, ())) > 1]
    return found, [Notice("repeated", name, " & ".join(query[name])[:40], "") for name in repeated]


def from_query(query: Mapping[str, str], models: Collection[str] = ()) -> tuple[Knobs, list[Notice]]:
    """The knobs of an address; what it does not name keeps its default. `models` may be chosen."""
    notices: list[Notice] = []
    numbers = {name: _number(name, query, notices) for name in BOUNDS}
    flags = {name: _flag(name, query, notices) for name in FLAGS}
    knobs = Knobs(
        scenario=_one_of("scenario", SITUATIONS, query, notices),
        modes=_some_of("modes", MODES, query, notices) or MODES,
        model=_one_of("model", models, query, notices),
        turned=_some_of("turned", TURNS, query, notices),
        buckets=_edges(query, notices),
        **numbers,  # type: ignore[arg-type]
        **flags,
    )
    return knobs, notices


def to_query(knobs: Knobs) -> dict[str, str]:
    """What an address must hold to open with these knobs: those that differ from their defaults."""
    found: dict[str, str] = {}
    for name in ("scenario", *BOUNDS, "model", *FLAGS):
        value = getattr(knobs, name)
        if value is not None and value != getattr(DEFAULTS, name):
            found[name] = _written(value)
    if set(knobs.modes) != set(MODES):
        found["modes"] = ",".join(name for name in MODES if name in knobs.modes)
    if knobs.turned:
        found["turned"] = ",".join(knobs.turned)
    if knobs.buckets:
        found["buckets"] = ",".join(map(str, knobs.buckets))
    return found


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _number(name: str, query: Mapping[str, str], notices: list[Notice]) -> float | None:
    default: float | None = getattr(DEFAULTS, name)
    if name not in query:
        return default
    found = _read(name, query[name], BOUNDS[name], notices)
    return default if found is None else found


def _read(name: str, given: str, bounds: Bounds, notices: list[Notice]) -> float | None:
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        notices.append(Notice("unread", name, given[:40], ""))
        return None
    taken = min(max(value, bounds.least), bounds.most)
    taken = round(taken) if bounds.whole else float(taken)
    if taken != value:
        notices.append(Notice("clamped", name, given[:40], f"{taken:g}"))
    return taken


def _flag(name: str, query: Mapping[str, str], notices: list[Notice]) -> bool:
    given, default = query.get(name), bool(getattr(DEFAULTS, name))
    if given not in (None, "0", "1"):
        notices.append(Notice("unread", name, str(given)[:40], ""))
        return default
    return default if given is None else given == "1"


def _edges(query: Mapping[str, str], notices: list[Notice]) -> tuple[int, ...]:
    """Boundaries of buckets: whole numbers, in order, each once, so many as there are sliders for."""
    if "buckets" not in query:
        return DEFAULTS.buckets
    given = query["buckets"]
    try:
        asked = [int(part) for part in given[:200].split(",")]
    except ValueError:
        notices.append(Notice("unread", "buckets", given[:40], ""))
        return DEFAULTS.buckets
    within = {int(min(max(edge, EDGE.least), EDGE.most)) for edge in asked}
    taken = tuple(sorted(within)[:MOST_EDGES])
    if list(taken) != asked:
        notices.append(Notice("clamped", "buckets", given[:40], ",".join(map(str, taken))))
    return taken


def _one_of(name: str, known: Collection[str], query: Mapping[str, str], notices: list[Notice]) -> str:
    given, default = query.get(name), str(getattr(DEFAULTS, name))
    if given is None or given in known:
        return given or default
    notices.append(Notice("unread", name, given[:40], ""))
    return default


def _some_of(name: str, known: Sequence[str], query: Mapping[str, str], notices: list[Notice]) -> tuple[str, ...]:
    """Those named, in the order of `known`; none where none is named."""
    if name not in query:
        return ()
    named = query[name].split(",")
    found = tuple(each for each in known if each in named)
    if not found or len(found) != len(named):
        notices.append(Notice("unread", name, query[name][:40], ""))
    return found
