"""Does watching disturb what is measured? Prints decode step times with 0, 1 and 30 viewers of a run.

    python tests/ui/measure_viewers.py

The real engine process, the real route, the default model; viewers ask over HTTP as often as the stage does, from a
process of low priority. Runs take turns, three times each.
"""

import os
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
VIEWERS = (0, 1, 30)
REPEATS = 3
PORT = 8765


def watch(base: str, viewers: int) -> None:
    """As many threads, each pulling what it lacks of the run until it is over."""
    import json
    import urllib.request

    def one() -> None:
        me, marks = uuid.uuid4().hex[:8], ""
        while True:
            with urllib.request.urlopen(f"{base}?since={marks}&viewer={me}", timeout=30) as response:
                answer = json.load(response)
            if answer["over"]:
                return
            if answer["lanes"]:
                ends = []
                for lane in answer["lanes"]:
                    c = lane["columns"]
                    grown = (len(c["start"]), len(c["seconds"]), len(c["slot"]), len(c["token"]))
                    ends.append(".".join(str(a + b) for a, b in zip(lane["from"], grown, strict=True)))
                marks = ",".join(ends)
            time.sleep(answer["poll_ms"] / 1000)

    threads = [threading.Thread(target=one) for _ in range(viewers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def decode_steps(device, viewers: int) -> list[float]:
    """Seconds of every decode step of one run, watched by so many."""
    from lab.run.lanes import RunSpec
    from lab.scheduling.policy import mode
    from lab.workload.scenarios import build

    job = device.submit(RunSpec(build("equal", requests=4), (mode("none"),)), "owner")
    url = f"http://localhost:{PORT}/api/run/{job}"
    command = ["nice", "-n", "10", sys.executable, __file__, "watch", url, str(viewers)]
    watching = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}) if viewers else None
    while not (look := device.look(job)).state.over:
        time.sleep(0.5)
    if watching is not None:
        watching.wait(60)
    assert look.record is not None, look.detail
    return [run.seconds[0] for run in look.record.lanes[0].runs() if not run.prefill]


def main() -> None:
    import uvicorn
    from starlette.applications import Starlette

    from lab.run.messages import Load
    from lab.run.visitors import Device
    from lab.ui.routes import run_route

    device = Device(Load("smollm2-135m", "cpu", "bf16"))
    app = Starlette(routes=[run_route(lambda: device, lambda job: None)])
    server = uvicorn.Server(uvicorn.Config(app, port=PORT, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    decode_steps(device, 0)  # loads the model and warms up
    steps = {viewers: [] for viewers in VIEWERS}
    for repeat in range(REPEATS):
        for viewers in VIEWERS if repeat % 2 == 0 else reversed(VIEWERS):
            steps[viewers].append(sorted(decode_steps(device, viewers)))
    print("| viewers | p50 ms (each repeat) | p99 ms (each repeat) |\n|---|---|---|")
    for viewers, runs in steps.items():
        p50 = [median(run) * 1e3 for run in runs]
        p99 = [run[int(0.99 * len(run))] * 1e3 for run in runs]
        print(f"| {viewers} | {show(p50)} | {show(p99)} |")
    device.close()


def show(values: list[float]) -> str:
    return f"{median(values):.1f} ({', '.join(f'{v:.1f}' for v in values)})"


if __name__ == "__main__":
    if sys.argv[1:2] == ["watch"]:
        watch(sys.argv[2], int(sys.argv[3]))
    else:
        main()
