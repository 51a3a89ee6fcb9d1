"""Watch links: who holds one sees its owner's board, and each board that follows. The link cannot be guessed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import sha256

import streamlit as st

from lab.ui.board import Board
from lab.ui.device import me

MOST_CHANNELS = 256


class Channels:
    """The latest board of each owner who shows one, by the token of the link. May be called from any thread."""

    def __init__(self) -> None:
        self._boards: OrderedDict[str, Board] = OrderedDict()
        self._lock = threading.Lock()

    def show(self, token: str, board: Board) -> None:
        with self._lock:
            self._boards[token] = board
            self._boards.move_to_end(token)
            while len(self._boards) > MOST_CHANNELS:
                self._boards.popitem(last=False)

    def board(self, token: str) -> Board | None:
        """None for a link that is unknown or whose owner has not been here for long."""
        with self._lock:
            return self._boards.get(token)


@st.cache_resource(show_spinner=False)
def channels() -> Channels:
    return Channels()


def my_link() -> str:
    """The token of this visitor's watch link: the same after a reload, and who has it cannot cancel a run."""
    return sha256(f"watch {me()}".encode()).hexdigest()[:32]
