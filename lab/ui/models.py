"""Which models a visitor may choose: a short list that belongs to the server's owner. No path is ever typed.

$BATCHING_LAB_MODEL is the first; $BATCHING_LAB_MODELS, names joined by commas, are the others. Knows no page.
"""

from __future__ import annotations

import os
from pathlib import Path

from lab.spec.model_shape import WELL_KNOWN

DEFAULT_MODEL = "smollm2-135m"
DUMMY = "dummy:"
_NAMES = {DEFAULT_MODEL: "SmolLM2-135M-Instruct"}
_MOST_PARAMETERS = 1e9  # of those that any machine may be asked to load


def first_model() -> str:
    return os.environ.get("BATCHING_LAB_MODEL") or DEFAULT_MODEL


def other_models() -> tuple[str, ...]:
    """By the names that they are loaded by; unless the owner says otherwise random weights of small models."""
    named = os.environ.get("BATCHING_LAB_MODELS")
    if named is None:
        small = [shape.name for shape in WELL_KNOWN.values() if shape.parameters < _MOST_PARAMETERS]
        return tuple(DUMMY + name for name in small if not _NAMES[DEFAULT_MODEL].startswith(name))
    wanted = [name.strip() for name in named.split(",")]
    return tuple(dict.fromkeys(name for name in wanted if name and name != first_model()))


def model_name(model: str) -> str:
    """For people; "" is the first. A folder says its last part only, where it lies is the owner's business."""
    model = model or first_model()
    if model.startswith(DUMMY):
        return model.removeprefix(DUMMY)
    return _NAMES.get(model) or (Path(model).expanduser().name if Path(model).is_absolute() else model)
