"""A page that starts a slow run at once, mounts the stage, and can be rerun while it plays."""

import streamlit as st
from demo_device import device

from lab.report.stage_payload import Knob, Source, stage_payload
from lab.run.lanes import RunSpec
from lab.scheduling.policy import MODES, mode
from lab.ui.stage import stage
from lab.workload.request import Request, Workload

st.set_page_config(layout="wide", page_icon="🚌")

PROMPTS = ("slow", "slow and longer than the others by some words")


def start() -> str:
    requests = tuple(
        Request(i, 0.06 * i, 16, prompt=PROMPTS[i % 2], output_tokens=4 + (7 * i) % 12) for i in range(12)
    )
    spec = RunSpec(Workload("demo", requests), tuple(mode(name, 4, 0.1) for name in MODES))
    return device().submit(spec, "demo")


if "run" not in st.session_state:
    st.session_state.run = start()
st.session_state.reruns = st.session_state.get("reruns", -1) + 1
st.button("Rerun", type="tertiary")
knobs = [Knob("max_batch_size", (1, 2, 4, 8), 4), Knob("max_queue_delay_ms", tuple(range(0, 501, 10)), 100)]
stage(stage_payload([Source(st.session_state.run, situation="demo")], "en", knobs=knobs, revision="1"))
result = st.session_state.stage
st.text(f"finished: {st.session_state.get('done', result.get('finished'))} reruns: {st.session_state.reruns}")
st.text(f"knobs: {result.get('knobs')}")
if result.get("finished"):
    st.session_state.done = result.get("finished")
