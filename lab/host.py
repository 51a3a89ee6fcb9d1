"""`python -m lab.host`: the engine's process, as the page starts it. What it does is in lab.run.host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.engine.progress import Progress
from lab.run.calibration import Calibration
from lab.run.host import run_host
from lab.run.messages import Load

if TYPE_CHECKING:
    from lab.engine.loaded import Engine


def _load(load: Load, on_progress: Progress) -> Engine:
    from lab.engine.loaded import load_engine  # here, so that a missing torch becomes a sentence

    return load_engine(load.model, load.device, load.dtype, load.threads, on_progress)


def _calibrate(engine: Engine, on_progress: Progress) -> Calibration:
    from lab.experiments.calibrate import calibrate  # here, so that no run waits for scipy

    return calibrate(engine, on_progress)


if __name__ == "__main__":
    run_host(_load, _calibrate)
