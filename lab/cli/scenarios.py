"""`scenarios`: what can be run, and the requests of one of them, before anything runs."""

from __future__ import annotations

import argparse
from typing import Any

from lab.cli.options import path, workload_of
from lab.cli.output import print_json
from lab.workload.request import Workload
from lab.workload.scenarios import SCENARIOS


def add_to(commands: Any) -> None:
    command = commands.add_parser("scenarios", help="list the scenarios, or the requests of one")
    command.add_argument("scenario", nargs="?", metavar="NAME", help="show this scenario's requests")
    command.add_argument("--requests", type=int, metavar="N")
    command.add_argument("--request-rate", type=float, metavar="R", help="requests per second")
    command.add_argument("--prompts", type=path, metavar="FILE", help="for the scenario own")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")
    command.set_defaults(command=scenarios)


def scenarios(options: argparse.Namespace) -> int:
    if options.scenario is not None or options.prompts is not None:
        workload = workload_of(options)
        if options.json:
            print_json({"scenario": workload.name, "seed": workload.seed, "requests": _rows(workload)})
        else:
            print(_list(workload))
        return 0
    _check_nothing_else(options)
    if options.json:
        print_json({"scenarios": {s.name: {"about": s.about, "requests": s.requests} for s in SCENARIOS.values()}})
    else:
        print("\n".join(f"{s.name:12} {s.requests:4} requests   {s.about}" for s in SCENARIOS.values()))
    return 0


def _check_nothing_else(options: argparse.Namespace) -> None:
    """The list of all scenarios has no requests that these options could change."""
    for option, given in (
        ("--requests", options.requests),
        ("--request-rate", options.request_rate),
        ("--seed", options.seed or None),
    ):
        if given is not None:
            raise ValueError(f"{option} {given:g} changes the requests of a scenario; name one, such as chat")


def _rows(workload: Workload) -> list[dict[str, Any]]:
    return [
        {"id": r.id, "arrival_s": r.arrival, "max_new_tokens": r.max_new_tokens, "prompt": r.prompt}
        for r in workload.requests
    ]


def _list(workload: Workload) -> str:
    lines = ["  id  arrival  at most  prompt"]
    for r in workload.requests:
        prompt = " ".join(r.prompt.split())
        prompt = prompt if len(prompt) <= 80 else prompt[:79] + "…"
        lines.append(f"{r.id:4} {r.arrival:7.2f}s {r.max_new_tokens:4} tok  {prompt}")
    return "\n".join(lines)
