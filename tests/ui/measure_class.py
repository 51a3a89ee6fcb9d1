"""A class of thirty on the real page with the real model, and an engine that is killed in mid-run: prints figures.

    python tests/ui/measure_class.py

Visitors speak to the page over its socket, from a process of low priority; no browser.
"""

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event, Thread

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.ui.visitor import REAL, Visitor, engines, megabytes, served, wait_for  # noqa: E402

CLASS = 30
QUERY = "requests=2&batch=2&seed={}"


def visit(host: str, seed: int, together: Barrier | None = None) -> tuple[bool, int]:
    """(got its own result and nobody else's, its first place in line)."""
    visitor = Visitor(host, QUERY.format(seed))
    if together is not None:
        together.wait()
    visitor.rerun(press="run")
    answers = visitor.follow()
    seeds = [other for other in range(CLASS + 2) if visitor.shows(f"requests: 2 · seed {other} ·")]
    visitor.leave()
    return seeds == [seed] and answers[-1]["state"] == "finished", answers[0]["position"]


def highest(pid: int, over: Event, seen: list[float]) -> None:
    while not over.wait(0.5):
        seen.append(megabytes(pid))


def measure_class(server, host: str) -> None:
    visit(host, 0)
    [engine], before = engines(server), megabytes(server.pid)
    print(f"page {before:.0f} MB, engine {megabytes(engine):.0f} MB before the class comes")
    together, over, seen = Barrier(CLASS), Event(), []
    Thread(target=highest, args=(server.pid, over, seen)).start()
    start = time.monotonic()
    with ThreadPoolExecutor(CLASS) as pool:
        visits = list(pool.map(lambda seed: visit(host, seed, together), range(1, CLASS + 1)))
    over.set()
    print(f"{sum(own for own, _ in visits)} of {CLASS} got their own result, in {time.monotonic() - start:.0f} s")
    print(f"longest line: {max(place for _, place in visits)}; same engine: {engines(server) == [engine]}")
    print(f"page: {max(seen) - before:+.0f} MB at most, {megabytes(server.pid) - before:+.0f} MB after they left")


def measure_death(server, host: str) -> None:
    struck, following = Visitor(host, "batch=2&seed=51"), Visitor(host, QUERY.format(52))
    struck.rerun(press="run")
    wait_for(lambda: struck.pull()["lanes"])
    following.rerun(press="run")
    os.kill(engines(server)[0], signal.SIGKILL)
    killed = time.monotonic()
    struck.follow()
    said = time.monotonic() - killed
    wait_for(lambda: any(lane["columns"]["start"] for lane in following.pull()["lanes"]))
    grows = time.monotonic() - killed
    ended = following.follow()[-1]["state"]
    told = struck.shows("The engine stopped during this run")
    print(f"killed: sentence {'' if told else 'NOT '}shown after {said:.1f} s, next run grows after {grows:.1f} s")
    print(f"next run {ended} after {time.monotonic() - killed:.1f} s")


if __name__ == "__main__":
    os.nice(10)
    with served(REAL) as (server, host):
        measure_class(server, host)
        measure_death(server, host)
