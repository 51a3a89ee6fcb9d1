"""Opening an engine: what may be asked for and what is refused."""

import pytest
import torch

from lab.engine.loaded import faster_dtype, load_engine
from lab.engine.machine import free_memory, pick_device
from lab.engine.progress import silent


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"device": "gpu"}, "device is 'gpu'; it must be 'auto', 'cpu' or 'cuda'"),
        ({"dtype": "int4"}, "dtype is 'int4'; it must be 'auto', 'fp32' or 'bf16'"),
        ({"threads": 0}, "threads is 0; it must be at least 1"),
    ],
)
def test_an_argument_that_cannot_be_is_refused_with_its_value(wrong, said):
    with pytest.raises(ValueError, match=said):
        load_engine("smollm2-135m", **wrong)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_where_there_is_none_is_refused_and_auto_takes_the_cpu():
    with pytest.raises(ValueError, match="sees no CUDA device"):
        pick_device("cuda")
    assert pick_device("auto").type == "cpu"


def test_a_dummy_has_no_text_and_takes_bytes_for_tokens():
    engine = load_engine("dummy:SmolLM2-135M", device="cpu", dtype="bf16")
    assert engine.model.startswith("dummy:")
    assert engine.text is None
    assert engine.stop_ids == frozenset()
    assert engine.coder.encode("hé") == (104, 195, 169)
    assert len(engine.coder.encode("")) == 1


@pytest.mark.parametrize("quick", ["fp32", "bf16"])
def test_auto_takes_the_dtype_whose_steps_are_faster(quick):
    class Steps:
        def __init__(self, seconds):
            self.seconds = seconds

        def decode_seconds(self, rows, count):
            return (self.seconds,) * count

    candidates = {name: Steps(0.01 if name == quick else 0.02) for name in ("fp32", "bf16")}
    assert faster_dtype(candidates, silent) == quick


def test_free_memory_is_between_nothing_and_everything():
    assert 0 < free_memory(torch.device("cpu")) < 2**50


def test_progress_is_told_and_may_cancel():
    class Cancelled(Exception):
        pass

    def cancel(phase, done, total):
        raise Cancelled

    with pytest.raises(Cancelled):
        load_engine("smollm2-135m", on_progress=cancel)
