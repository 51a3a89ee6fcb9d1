"""Runs of the scenes that ship with the lab: to read a lesson before a model is there, or where none runs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from lab.lesson.expression import Runs, Taken
from lab.lesson.lesson import scenes
from lab.lesson.scene import Scene
from lab.run.record import RunRecord
from lab.run.record_file import load

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "records" / "scenes"


@cache
def recorded_scene(name: str) -> RunRecord | None:
    """None where no such run ships."""
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        return None
    record = load(path)
    return replace(record, provenance=replace(record.provenance, kind="recorded"))


def recorded_runs() -> Runs:
    """Of every scene that has one."""
    found = {name: (scene, recorded_scene(name)) for name, scene in scenes().items()}
    return {name: Taken(scene, record) for name, (scene, record) in found.items() if record is not None}


def is_of(record: RunRecord, scene: Scene) -> bool:
    """Was this run made of the scene as it is now? Tokens and lengths are found by the run and may not differ."""
    spec = scene.spec()
    asked = [replace(r, output_tokens=None) for r in spec.workload.requests]
    ran = [
        replace(r, output_tokens=None, prompt_ids=(), prompt=a.prompt if a.prompt_length else r.prompt)
        for r, a in zip(record.workload.requests, asked, strict=False)
    ]
    return ran == asked and [lane.policy for lane in record.lanes] == list(spec.policies)
