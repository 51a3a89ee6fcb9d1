"""The engine as its page sees it: which process, which model, is it ready, how often did it die in a row?

Unlocked: a Device owns it, which holds a lock. Knows no runs and no visitors; it is told which model is wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lab.run.engine_process import Link, Listener, Start
from lab.run.messages import Command, Load, Loading, Ready

MOST_DEATHS = 1  # in a row before it was ready; one more, and this model cannot be loaded


@dataclass(frozen=True, slots=True)
class EngineState:
    """Is there a model to run on? `facts` once it is ready; `sentence` where it could not be loaded; `model` is
    the name that it is loaded by."""

    model: str = ""
    loading: Loading | None = None
    facts: Ready | None = None
    sentence: str = ""


class EngineSide:
    """`start` makes the link to an engine, which is told to `load`, later to load the same with another model."""

    def __init__(self, load: Load, start: Start) -> None:
        self._load = load
        self._start = start
        self._deaths = 0
        self.link: Link | None = None
        self.state = EngineState()

    @property
    def usual_model(self) -> str:
        """Of runs that name none."""
        return self._load.model

    def start(self, listener: Listener, model: str) -> None:
        self.link = self._start(listener)
        self.load(model)

    def load(self, model: str) -> None:
        self.state = EngineState(model, loading=Loading("start", 0, 0))
        self.send(replace(self._load, model=model))

    def send(self, command: Command) -> None:
        assert self.link is not None, "there is no engine"
        self.link.send(command)

    def let_go(self) -> Link | None:
        """Its link, which is nobody's from now on."""
        link, self.link = self.link, None
        return link

    # ---- what becomes of it

    def loading(self, report: Loading) -> None:
        self.state = replace(self.state, loading=report)

    def ready(self, report: Ready) -> None:
        self.state, self._deaths = EngineState(self.state.model, facts=report), 0

    def freed(self, free_bytes: int) -> None:
        facts = self.state.facts
        if facts is not None and facts.memory is not None:
            memory = facts.memory._replace(free_bytes=free_bytes)
            self.state = replace(self.state, facts=facts._replace(memory=memory))

    def died(self) -> bool:
        """Is another one worth trying? Not where one after the other dies before it is ready."""
        self.link = None
        self._deaths = 0 if self.state.facts else self._deaths + 1
        self.state = EngineState(self.state.model)
        return self._deaths <= MOST_DEATHS

    def failed(self, sentence: str) -> None:
        """Its model cannot be loaded."""
        self.state, self._deaths = EngineState(self.state.model, sentence=sentence), 0
