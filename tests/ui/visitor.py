"""A server as a user starts it, and visitors who speak to it as a browser does, without a browser.

A `Visitor` keeps the page's socket open, presses buttons, reruns fragments when their time comes, and pulls what
its run has grown by, as the stage does.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

ROOT = Path(__file__).resolve().parents[2]
REAL = ("-m", "streamlit", "run", "app.py")
SCRIPTED = ("tests/ui/scripted_server.py",)
PATIENCE = 240.0  # seconds


@contextmanager
def served(program, **environment):
    """(process, "host:port") of REAL or SCRIPTED, until the block is left."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, *program, "--server.headless=true", f"--server.port={port}"]
    server = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)} | environment)
    try:
        wait_for(lambda: server.poll() is not None or _is_up(port))
        assert server.poll() is None, "the server ended"
        yield server, f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(60)


def _is_up(port):
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def wait_for(condition, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


def engines(server):
    """Process ids of the engines that this server has running."""
    children = subprocess.run(["pgrep", "-P", str(server.pid)], capture_output=True, text=True).stdout.split()
    return [int(pid) for pid in children if "host" in Path(f"/proc/{pid}/cmdline").read_text()]


def megabytes(pid):
    """Memory of a process that is in RAM, in MB (10^6 bytes)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


class Visitor:
    """One tab on the page at `host`, opened with `query`; `shown` is what it shows, as bytes of its elements."""

    def __init__(self, host, query=""):
        self._host = host
        self._open = ExitStack()
        self._socket = self._open.enter_context(
            connect(f"ws://{host}/_stcore/stream", subprotocols=["streamlit"], max_size=None, open_timeout=PATIENCE)
        )
        self._timers = {}  # fragment -> [seconds between its runs, when it runs next]
        self._ends = ""
        self._ids = {}  # by key, of the widgets on the page
        self.query, self.shown, self.reruns = query, [], 0
        self.rerun()

    def rerun(self, press=None, **typed):
        """Run the page's script once and take in what it sends; with a button pressed, or text typed."""
        message = self._message()
        widgets = message.rerun_script.widget_states.widgets
        if press is not None:
            widgets.add(id=self._ids[press], trigger_value=True)
        for name, text in typed.items():
            widgets.add(id=self._ids[name], string_value=text)
        self._send(message)

    @property
    def run_id(self):
        """The runs on its stage, as the address names them."""
        return urllib.parse.parse_qs(self.query).get("run", [""])[0]

    def shows(self, text):
        return any(text.encode() in element for element in self.shown)

    def pull(self):
        """What the stage asks: the run's answer, from where the last one ended."""
        address = f"http://{self._host}/api/run/{self.run_id}?since={self._ends}&viewer={id(self)}"
        with urllib.request.urlopen(address, timeout=PATIENCE) as response:
            answer = json.load(response)
        self._ends = ",".join(".".join(map(str, end)) for end in map(_end, answer["lanes"]))
        return answer

    def follow(self):
        """Pull until the run is over and the page has drawn its result; all answers."""
        answers = [self.pull()]
        while not answers[-1]["over"]:
            self.let_fragments_run(answers[-1]["poll_ms"] / 1000)
            answers.append(self.pull())
        while self._timers:
            self.let_fragments_run(0.1)
        return answers

    def let_fragments_run(self, seconds, hurry=1.0):
        """So long, at `hurry` times their pace."""
        deadline = time.monotonic() + seconds
        while (now := time.monotonic()) < deadline:
            for fragment, timer in list(self._timers.items()):
                if now >= timer[1]:
                    timer[1] = now + timer[0] / hurry
                    message = self._message()
                    message.rerun_script.fragment_id = fragment
                    message.rerun_script.is_auto_rerun = True
                    self._send(message)
            time.sleep(max(0.0, min([0.05, deadline - time.monotonic(), *self._until_next()])))

    def leave(self):
        self._open.close()

    def _until_next(self):
        return [timer[1] - time.monotonic() for timer in self._timers.values()]

    def _message(self):
        message = BackMsg()
        message.rerun_script.query_string = self.query
        message.rerun_script.context_info.url = f"http://{self._host}/"
        message.rerun_script.context_info.locale = "en-US"
        return message

    def _send(self, message):
        self._socket.send(message.SerializeToString())
        self.reruns += 1
        while not self._take(self._receive()):
            pass

    def _receive(self):
        message = ForwardMsg()
        message.ParseFromString(self._socket.recv(PATIENCE))
        return message

    def _take(self, message):
        """Is the script's run over with this message?"""
        match message.WhichOneof("type"):
            case "new_session" if not message.metadata.run.fragment_ids:
                self._timers, self._ids, self.shown = {}, {}, []
            case "page_info_changed":
                self.query = message.page_info_changed.query_string
            case "auto_rerun":
                timer = message.auto_rerun
                self._timers[timer.fragment_id] = [timer.interval, time.monotonic() + timer.interval]
            case "stop_auto_rerun":
                for fragment in message.stop_auto_rerun.fragment_ids:
                    self._timers.pop(fragment, None)
            case "delta" if message.delta.WhichOneof("type") == "new_element":
                self._show(message.delta.new_element)
            case "script_finished":
                return message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
        return False

    def _show(self, element):
        self.shown.append(element.SerializeToString())
        name = getattr(getattr(element, element.WhichOneof("type")), "id", "")
        if name.startswith("$$ID-"):
            self._ids[name.split("-", 2)[2]] = name


def _end(lane):
    c = lane["columns"]
    grown = (len(c["start"]), len(c["seconds"]), len(c["slot"]), len(c["token"]))
    return [a + b for a, b in zip(lane["from"], grown, strict=True)]
