"""Share and keep: links, files to take along, and runs kept by name for this visit. No file is written here."""

from __future__ import annotations

import socket
from urllib.parse import urlencode, urlsplit

import streamlit as st

from lab.report.markup import as_code
from lab.report.words import Words
from lab.run.record import RunRecord
from lab.run.record_file import as_recorded, from_json
from lab.ui.board import Board
from lab.ui.channels import my_link
from lab.ui.exports import show_downloads
from lab.ui.result import finished_record

MOST_KEPT = 12
MOST_UPLOAD_MB = 20


def shown_record() -> RunRecord | None:
    """The kept run that the visitor wants to see; None: what the knobs say."""
    name = st.session_state.get("kept_shown")
    return _kept().get(name) if name else None


def show_keep(board: Board, words: Words) -> None:
    record = shown_record() or finished_record(board)
    with st.container(horizontal=True, gap="small", key="keep"):
        _share(words)
        if record is not None:
            show_downloads(record, _kept(), words)
        with st.popover(words("keep.runs"), width="content"):
            if record is not None:
                _keep_this(record, words)
            _choose(words)
            _load(words)


def _kept() -> dict[str, RunRecord]:
    kept: dict[str, RunRecord] = st.session_state.setdefault("kept", {})
    return kept


def _share(words: Words) -> None:
    with st.popover(words("share.button"), width="content"):
        base = (st.context.url or "").split("?")[0]
        st.markdown(words("share.settings"))
        st.code(f"{base}?{_query()}", language=None)
        st.markdown(words("share.watch"))
        st.code(f"{base}?watch={my_link()}", language=None)
        if urlsplit(base).hostname in ("localhost", "127.0.0.1", "::1"):
            st.caption(words("share.local", address=_for_others(base)))


def _for_others(base: str) -> str:
    """This page's address by this machine's own in its network; nothing is sent to find it."""
    parts = urlsplit(base)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            host = probe.getsockname()[0]
        except OSError:
            host = socket.gethostname()
    return parts._replace(netloc=f"{host}:{parts.port}" if parts.port else host).geturl()


def _query() -> str:
    """The address of the settings alone: a run is forgotten one day, settings are not."""
    return urlencode({name: value for name, value in st.query_params.to_dict().items() if name != "run"})


def _keep_this(record: RunRecord, words: Words) -> None:
    name = st.text_input(words("keep.name"), max_chars=40, key="keep_name", placeholder=words("keep.example"))
    full = len(_kept()) >= MOST_KEPT
    if st.button(words("keep.button"), key="keep_this", disabled=not name.strip() or full):
        _kept()[_free_name(name.strip())] = record


def _choose(words: Words) -> None:
    if not _kept():
        return
    st.selectbox(
        words("keep.show"),
        list(_kept()),
        index=None,
        placeholder=words("keep.current"),
        key="kept_shown",
        persist_state="session",
    )


def _load(words: Words) -> None:
    """An uploaded record is somebody's file: read under bounds, shown as recorded, never written."""
    st.file_uploader(
        words("keep.load"), type="json", max_upload_size=MOST_UPLOAD_MB, key="keep_file", on_change=_take_file
    )
    if sentence := st.session_state.get("keep_error"):
        st.error(words("keep.unreadable", detail=as_code(sentence)))


def _take_file() -> None:
    """Before the page is drawn: the loaded run is on the stage at once."""
    file = st.session_state["keep_file"]
    st.session_state["keep_error"] = ""
    if file is None:
        return
    try:
        if len(_kept()) >= MOST_KEPT:
            raise ValueError(f"{len(_kept())} runs are kept already; reload the page to begin anew")
        record = from_json(file.getvalue().decode("utf-8"))
        name = _free_name(file.name[:40])
        _kept()[name] = as_recorded(record)
        st.session_state["kept_shown"] = name
    except ValueError as error:
        st.session_state["keep_error"] = str(error)


def _free_name(name: str) -> str:
    """This name, or with a number where a run is kept under it."""
    taken, number, free = _kept(), 2, name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free
