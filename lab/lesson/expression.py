"""Measures reckoned together: "continuous.throughput / static.throughput", read once and then asked of runs.

A name is `lane.measure`, `list.measure` or `machine.measure`, or any of these behind the name of a scene. Allowed
are + - * / and brackets, and `max(a, b)`, `min(a, b)`. No number but 1 may stand in it: all else is measured.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from lab.lesson.measures import LANE, LIST, MACHINE, Number, Unit, see
from lab.lesson.scene import Scene
from lab.run.record import RunRecord


@dataclass(frozen=True, slots=True)
class Taken:
    """A scene and a run of it."""

    scene: Scene
    record: RunRecord


Runs = Mapping[str, Taken]
"""By the name of the scene."""


@dataclass(frozen=True, slots=True)
class Name:
    """`scene` is "" for that of the step at hand; `of` is a lane's key, "list" or "machine"."""

    scene: str
    of: str
    measure: str

    @property
    def unit(self) -> Unit:
        if self.of == "list":
            return LIST[self.measure][0]
        return MACHINE[self.measure][0] if self.of == "machine" else LANE[self.measure].unit

    def value(self, runs: Runs, here: str) -> Number:
        taken = runs.get(self.scene or here)
        if taken is None:
            return None
        if self.of == "list":
            return LIST[self.measure][1](taken.record)
        if self.of == "machine":
            return MACHINE[self.measure][1](taken.record)
        return LANE[self.measure].of(see(taken.record, taken.scene.lane_name(self.of)))


_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], Number]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b if b else None,
}
_DOTTED = re.compile(r"\w+(\.\w+){1,2}")
_FUNCTIONS: Mapping[str, Callable[..., float]] = {"max": max, "min": min}


@cache
def _read(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        raise ValueError(f"{text!r} is no expression of measures") from None


def names(text: str) -> Iterator[Name]:
    """Every measure named in it. Raises ValueError for what is not allowed or unknown."""
    yield from _names(_read(text), text)


def value(text: str, runs: Runs, here: str) -> Number:
    """None where something of it is undefined in these runs, or a scene has no run."""
    return _value(_read(text), text, runs, here)


def unit(text: str) -> Unit | None:
    """That of the result, where it is plain from the parts: of equal units a ratio is "x", a sum has theirs."""
    return _unit(_read(text), text)


def _names(node: ast.expr, text: str) -> Iterator[Name]:
    match node:
        case ast.Attribute():
            yield _name(node, text)
        case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
            yield from _names(left, text)
            yield from _names(right, text)
        case ast.Call(ast.Name(function), [*parts], []) if function in _FUNCTIONS:
            for part in parts:
                yield from _names(part, text)
        case ast.Constant(1):
            return
        case _:
            raise ValueError(
                f"{ast.unparse(node)!r} in {text!r} is no measure; write lane.measure, joined by + - * /"
            )


def _name(node: ast.Attribute, text: str) -> Name:
    if not _DOTTED.fullmatch(dotted := ast.unparse(node)):
        raise ValueError(f"{dotted!r} in {text!r} is no measure; write lane.measure or scene.lane.measure")
    parts = dotted.split(".")
    name = Name(parts[0] if len(parts) == 3 else "", parts[-2], parts[-1])
    known = {"list": LIST, "machine": MACHINE}.get(name.of, LANE)
    if name.measure not in known:
        raise ValueError(f"{name.measure!r} in {text!r} is unknown; it must be one of {', '.join(known)}")
    return name


def _value(node: ast.expr, text: str, runs: Runs, here: str) -> Number:
    match node:
        case ast.Attribute():
            return _name(node, text).value(runs, here)
        case ast.BinOp(left, operator, right):
            a, b = _value(left, text, runs, here), _value(right, text, runs, here)
            return None if a is None or b is None else _OPERATORS[type(operator)](a, b)
        case ast.Call(ast.Name(function), parts):
            found = [_value(part, text, runs, here) for part in parts]
            return None if None in found else _FUNCTIONS[function](*found)
        case ast.Constant(1):
            return 1.0
    raise AssertionError(f"not checked: {text}")


def _unit(node: ast.expr, text: str) -> Unit | None:
    match node:
        case ast.Attribute():
            return _name(node, text).unit
        case ast.BinOp(left, operator, right):
            a, b = _unit(left, text), _unit(right, text)
            if isinstance(operator, ast.Div):
                return "x" if a == b else "s" if (a, b) == ("B", "B/s") else a if b in ("n", "x") else None
            if isinstance(operator, ast.Mult):
                return _product(a, b)
            return a if a == b else None
        case ast.Call(_, [first, *_]):
            return _unit(first, text)
        case ast.Constant():
            return "n"
    return None


def _product(a: Unit | None, b: Unit | None) -> Unit | None:
    if "n" in (a, b) or "x" in (a, b):
        return b if a in ("n", "x") else a
    return "n" if {a, b} in ({"req/s", "s"}, {"tok/s", "s"}) else None
