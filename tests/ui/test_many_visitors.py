"""A class on the page at once: the real server over its real socket, a scripted engine in the engine's process."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.ui.visitor import SCRIPTED, Visitor, engines, megabytes, served, wait_for

CLASS = 30
MINUTES, HURRY = 10, 100
REDRAWS = round(60 * MINUTES / 0.7)  # so often is a run's progress drawn anew


@pytest.fixture(scope="module")
def lab():
    """(process, "host:port"); one visitor has been there, so that all that is made once has been made."""
    with served(SCRIPTED, UNSEEN_SECONDS="5") as (server, host):
        visit(host, 0)
        yield server, host


def visit(host, seed, together=None):
    """Open the page, press Run with the others, stay until the result is there, go."""
    visitor = Visitor(host, f"requests=3&batch=2&seed={seed}")
    if together is not None:
        together.wait()
    visitor.rerun(press="run")
    answers = visitor.follow()
    shown = [number for number in range(CLASS + 1) if visitor.shows(f"requests: 3 · seed {number} ·")]
    visitor.leave()
    return shown, answers


def slow_visitor(host, prompts):
    """Has started a run of about a minute; with another number of prompts, one that nobody has measured before."""
    visitor = Visitor(host, "scenario=own")
    visitor.rerun(own="slow\n" * prompts)
    visitor.rerun(press="run")
    return visitor


def test_thirty_who_come_at_once_share_one_engine_and_get_each_their_own_result_in_turn(lab):
    server, host = lab
    [engine], before = engines(server), megabytes(server.pid)
    together = Barrier(CLASS)
    with ThreadPoolExecutor(CLASS) as pool:
        visits = list(pool.map(lambda seed: visit(host, seed, together), range(1, CLASS + 1)))
    assert [shown for shown, _ in visits] == [[seed] for seed in range(1, CLASS + 1)]
    assert engines(server) == [engine]
    assert max(answers[0]["position"] for _, answers in visits) >= CLASS / 2  # they did stand in line
    for _, answers in visits:
        places = [answer["position"] for answer in answers]
        assert places == sorted(places, reverse=True)
        assert answers[-1]["state"] == "finished"
    assert megabytes(server.pid) - before < 100


def test_updates_cost_less_than_fifty_megabytes_in_half_an_hour(lab):
    server, host = lab
    visitor = slow_visitor(host, 16)
    visitor.let_fragments_run(1, HURRY)
    before, until = megabytes(server.pid), visitor.reruns + REDRAWS
    while visitor.reruns < until:
        if [visitor.pull() for _ in range(5)][-1]["over"]:
            visitor.rerun(press="run")
        visitor.let_fragments_run(0.05, HURRY)
    visitor.leave()
    assert megabytes(server.pid) - before < 50 * MINUTES / 30


def test_a_closed_tab_takes_its_run_along_and_the_line_goes_on(lab):
    _, host = lab
    gone = slow_visitor(host, 15)
    wait_for(lambda: gone.pull()["state"] == "running")
    gone.leave()
    stays = Visitor(host, "requests=3&batch=2&seed=77")
    stays.rerun(press="run")
    assert stays.follow()[-1]["state"] == "finished"
    ended = gone.pull()
    assert (ended["state"], ended["error"]["why"]) == ("cancelled", "unseen")
