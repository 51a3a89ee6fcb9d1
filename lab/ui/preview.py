"""`POST /api/preview`: what a run would give, predicted while a hand still moves the knobs.

The question is JSON, {scene, knobs: {name: value}}: which page asks, and what its stage's sliders say. The answer
is JSON, one of

    {record}   a predicted run as lab.report.stage_data.whole gives it
    {wait_ms}  not now: ask again then, with the values that hold then
    {why: "calibrating", seconds}  the machine is yet to be measured: in so long, null where nobody knows
    {why: "refused", detail}       no such run can be
    {why: "long"}                  it cannot be predicted quickly enough
    {why: "unknown"}               no such page is here any more

One prediction is made at a time, and nobody stands in line for it: who comes meanwhile asks again, with newer
values. While the engine measures, all predictions together take a small share of one core.
"""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lab.engine.coder import Coder
from lab.engine.text import Text
from lab.report.stage_data import whole
from lab.run.calibration import Calibration
from lab.run.lanes import RunSpec
from lab.run.predict import predict
from lab.run.prepare import prepare_apart
from lab.ui.knobs import Knobs
from lab.workload.trace.reading import Trace

URL = "/api/preview"
SHARE = 0.04  # of one core, for all predictions while the engine measures: with the questions 5 % together
SOON = 0.03  # seconds until another prediction may be finished
MOST_WAIT = 4.0  # seconds
MOST_BYTES = 4096  # of a question
MOST_TOKENS = 120_000  # of answers, summed over the lanes
MOST_PROMPT_TOKENS = 300_000  # of a trace, all requests together
MOST_SCENES = 256

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scene:
    """What a page's knobs stand at, and what they do not hold."""

    knobs: Knobs
    own_prompts: tuple[str, ...] = ()
    trace: Trace | None = None

    def spec(self, told: Mapping[str, object]) -> RunSpec:
        """With the sliders as a browser tells; see Knobs.from_stage. Raises ValueError for what cannot be run."""
        changed: dict[str, Any] = Knobs.from_stage(told)
        return replace(self.knobs, **changed).spec(self.own_prompts, self.trace)


class Scenes:
    """The latest scene of each page, by an id that cannot be guessed. May be called from any thread."""

    def __init__(self) -> None:
        self._scenes: OrderedDict[str, Scene] = OrderedDict()
        self._lock = threading.Lock()

    def show(self, scene_id: str, scene: Scene) -> None:
        with self._lock:
            self._scenes[scene_id] = scene
            self._scenes.move_to_end(scene_id)
            while len(self._scenes) > MOST_SCENES:
                self._scenes.popitem(last=False)

    def scene(self, scene_id: object) -> Scene | None:
        with self._lock:
            return self._scenes.get(scene_id) if isinstance(scene_id, str) else None


class Allowance:
    """One prediction at a time, and pauses after each so that together they keep to SHARE where they must."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """`now` is a clock in seconds."""
        self._now = now
        self._busy = threading.Lock()
        self._sparing = False
        self._paid = now()  # when what was spent has been made up for

    def begin(self, sparing: bool) -> float:
        """0: go on, and `end` it. Else the seconds after which to ask again."""
        if not self._busy.acquire(blocking=False):
            return SOON
        self._sparing = sparing
        left = self._paid - self._now() if sparing else 0.0
        if left > 0:
            self._busy.release()
        return max(0.0, left)

    def end(self, cpu_seconds: float) -> None:
        if self._sparing:
            self._paid = self._now() + cpu_seconds / SHARE
        self._busy.release()


class Machine(Protocol):
    """What is asked of lab.run.visitors.Device."""

    @property
    def measuring(self) -> bool: ...

    def calibration(self, model: str = "") -> Calibration | None: ...

    def calibrated_in(self, model: str = "") -> float | None: ...


class Previews:
    """Answers questions. May be called from any thread."""

    def __init__(self, machine: Callable[[], Machine], scenes: Callable[[], Scenes]) -> None:
        self._machine = machine
        self._scenes = scenes
        self.allowance = Allowance()

    def answer(self, told: Mapping[str, Any]) -> bytes:
        """JSON, gzipped."""
        wait = self.allowance.begin(self._machine().measuring)
        if wait:
            return packed({"wait_ms": round(1000 * min(wait, MOST_WAIT)) + 1})
        began = time.thread_time()
        try:
            return packed(self._answer(told))
        finally:
            self.allowance.end(time.thread_time() - began)

    def _answer(self, told: Mapping[str, Any]) -> Answer:
        scene, knobs = self._scenes().scene(told.get("scene")), told.get("knobs")
        if scene is None or not isinstance(knobs, Mapping):
            return {"why": "unknown"}
        try:
            spec = scene.spec(knobs)
            calibration = self._machine().calibration(spec.model)
            if calibration is None:
                return {"why": "calibrating", "seconds": self._machine().calibrated_in(spec.model)}
            if is_long(spec):
                return {"why": "long"}
            return {"record": whole(predict(prepared(spec, calibration), calibration))}
        except ValueError as error:
            return {"why": "refused", "detail": str(error)}


def prepared(spec: RunSpec, calibration: Calibration) -> RunSpec:
    """With tokens and lengths, as a run of the calibrated model would have them as far as they are known."""
    coder = _coder(calibration.folder, calibration.shape.vocab)
    return replace(spec, workload=prepare_apart(spec.workload, coder, calibration.fingerprint)[0])


def is_long(spec: RunSpec) -> bool:
    """Whoever asks can make a server work for no longer than this."""
    requests = spec.workload.requests
    tokens = sum(r.output_tokens or r.max_new_tokens for r in requests) * len(spec.policies)
    return tokens > MOST_TOKENS or sum(r.prompt_length or 0 for r in requests) > MOST_PROMPT_TOKENS


@lru_cache(maxsize=4)
def _coder(folder: str, vocab: int) -> Coder:
    return Coder(Text.load(Path(folder)) if folder else None, vocab)


def packed(answer: Answer) -> bytes:
    text = json.dumps(answer, allow_nan=False, separators=(",", ":"))
    return gzip.compress(text.encode(), 1)


def preview_route(machine: Callable[[], Machine], scenes: Callable[[], Scenes]) -> Route:
    """The route to mount."""
    previews = Previews(machine, scenes)

    async def answer(request: Request) -> Response:
        told = await _question(request)
        if told is None:
            return Response("a question is a small JSON object: {scene, knobs}", 400)
        began = time.perf_counter()
        body = await run_in_threadpool(previews.answer, told)
        took = f"preview;dur={1000 * (time.perf_counter() - began):.1f}"  # for the browser's own tools
        headers = {"cache-control": "no-store", "content-encoding": "gzip", "server-timing": took}
        return Response(body, 200, headers, "application/json")

    return Route(URL, answer, methods=["POST"])


async def _question(request: Request) -> dict[str, Any] | None:
    """None for one that is too long, or none at all."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            return None
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None
