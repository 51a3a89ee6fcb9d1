"""A device that visitors share, on links to no engine at all and under a clock that a test moves."""

from lab.run.messages import Load, Run
from lab.run.visitors import TICK, Device


class FakeLink:
    def __init__(self, listener):
        self.listener, self.sent, self.closed = listener, [], False

    def send(self, command):
        self.sent.append(command)

    def close(self):
        self.closed = True

    def says(self, *reports):
        for report in reports:
            self.listener.hear(self, report)

    def dies(self, why="it was killed"):
        self.listener.ended(self, why)

    @property
    def running(self):
        return [c.job for c in self.sent if isinstance(c, Run)]


class World:
    """A device, its links so far and its clock."""

    def __init__(self):
        self.now, self.links = 0.0, []
        self.device = Device(Load("fake"), self._start, now=lambda: self.now)

    def _start(self, listener):
        self.links.append(FakeLink(listener))
        return self.links[-1]

    @property
    def link(self):
        return self.links[-1]

    def wait(self, seconds):
        """As the reaper sees it."""
        for _ in range(round(seconds / TICK)):
            self.now += TICK
            self.device.reap()
