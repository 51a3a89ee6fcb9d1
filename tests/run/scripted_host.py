"""The engine's process with a scripted engine in it: real frames, real pipes, no model. Run by tests.

A prompt steers it: "crash" kills the process at its first step, "mistake" and "no memory" raise there,
"print" writes to stdout, "slow" sleeps 20 ms a step. The model name "missing" cannot be loaded, "dies" ends
the process while loading; "unmeasurable" cannot be calibrated, and to calibrate "slow" takes its time.
Nothing is kept in a cache folder unless $SCRIPTED_CACHE names one.
"""

import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

os.environ["BATCHING_LAB_CACHE"] = os.environ.get("SCRIPTED_CACHE", f"{os.devnull}/none")

from lab.engine.cost_model import FIXED, KEYS, KNOTS, CostModel
from lab.engine.scripted import ScriptedExecutor
from lab.run.calibration import Calibration
from lab.run.host import run_host
from lab.run.messages import Load
from lab.run.provenance import provenance_of
from lab.spec.model_shape import WELL_KNOWN

WORDS = ("the", "answer", "is", "that", "a", "small", "model", "reads", "its", "weights", "for", "every", "step")
STOP = 49_999


class Executor(ScriptedExecutor):
    def __init__(self, engine):
        super().__init__(self._seconds_of, stop_id=STOP)
        self._engine = engine

    def _seconds_of(self, step):
        for act in self._engine.acts:
            _act(act)
        fed = sum(row.padded_to for row in step.rows if row.prefill)
        return 0.018 + 0.0012 * len(step.rows) + 0.0001 * fed

    def allocate(self, slots, slot_tokens):
        self.cached.clear()
        self._engine.begin()

    def clear(self):
        return 2_000_000_000

    def warm_up(self, batch_sizes, prompt_lengths):
        pass

    def reference_steps(self, count):
        return [0.02] * count

    def logit_gap(self, prefix):
        return 0.0004


def _act(act):
    match act:
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "mistake":
            raise RuntimeError("the script says so")
        case "no memory":
            raise MemoryError
        case "print":
            print("a stray line that must not disturb the frames")
            os.system("echo another, from a child process")
        case "slow":
            time.sleep(0.02)


class Text:
    def token_bytes(self, token):
        return f" {WORDS[token % len(WORDS)]}".encode()


class Engine:
    model, revision, dtype, device, threads = "scripted", "1", "float32", "no device", 1
    weight_bytes, kv_bytes_per_token = 270_000_000, 46_080
    stop_ids = frozenset({STOP})
    folder = None
    fingerprint = "scripted"
    shape = WELL_KNOWN["SmolLM2-135M"]
    text = Text()

    def __init__(self, name):
        self.name = name
        self.acts, self._next_acts = set(), set()
        self.executor = Executor(self)
        self.executors = (self.executor,)
        self.coder = self

    def begin(self):
        """A run begins with the acts that its prompts ask for."""
        if self._next_acts:
            self.acts, self._next_acts = self._next_acts, set()

    def encode(self, prompt):
        if prompt == "unreadable":
            raise ValueError("request 0 cannot be read: its prompt says so")
        self._next_acts.add(prompt)
        return tuple(range(1, 2 + len(prompt.split())))

    def cut(self, text, tokens):
        return f"{text[:20]}, cut", tuple(range(1, tokens + 1))

    def read_bandwidth(self):
        return 30e9


def load(wanted: Load, on_progress):
    if wanted.model == "missing":
        raise ValueError("there is no model 'missing'; known are: scripted")
    if wanted.model == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    on_progress("download", 10, 100)
    on_progress("download", 100, 100)
    return Engine(wanted.model)


def calibrate(engine, on_progress):
    if engine.name == "unmeasurable":
        raise ValueError("its steps cannot be measured")
    total = 500 if engine.name == "slow" else 5
    for done in range(total):
        on_progress("calibrating", done, total)
        time.sleep(0.02)
    coefficients = [0.018, 0.0, 0.0, 1e-6, 0.0, *[0.0012] * len(KNOTS)]
    assert coefficients[KEYS] == 1e-6
    assert len(coefficients) == FIXED + len(KNOTS)
    return Calibration(
        cost=CostModel(tuple(coefficients)),
        provenance=replace(provenance_of(engine, (0.02,)), read_bytes_per_s=30e9),
        shape=engine.shape,
        fingerprint=engine.fingerprint,
        folder="",
        free_bytes=engine.executor.clear(),
        flops_per_s=1e11,
        samples=total,
        held_out=1,
        error=0.0,
    )


if __name__ == "__main__":
    run_host(load, calibrate)
