"""llama.cpp's decode steps on the same weights, through llama-cpp-python where it is installed.

The weights are written once as a GGUF file in the engine's dtype, without a tokenizer: tokens in, logits out.
Refuses to know how it is compared.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

SETTINGS = "llama.cpp through llama-cpp-python, same weights and threads, KV cache of the same dtype, no mmap"
BATCH_SIZES = (1, 4, 8, 16)
CONTEXT = 128
REPEATS = 30
_GGML_TYPES = {"fp32": 0, "bf16": 30}  # of ggml.h; the binding names only some
_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def missing(engine: Engine) -> str:
    """Why it cannot be timed here; "" if it can."""
    if find_spec("llama_cpp") is None:
        return "llama-cpp-python is not installed"
    if engine.folder is None or engine.shape.family != "llama" or engine.executor.device.type != "cpu":
        return "it is compared on a CPU, with a model of the Llama family from a folder"
    return ""


def time_steps(engine: Engine) -> dict[int, tuple[float, float]]:
    """(median, largest - smallest) seconds of a decode step, by batch size, each row with 128 tokens cached."""
    import llama_cpp

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        _write_gguf(engine, path)
        with _session(llama_cpp, path, engine) as (context, batch):
            for row in range(max(BATCH_SIZES)):
                _decode(llama_cpp, context, batch, [(row, at) for at in range(CONTEXT)])
            return {size: _time(llama_cpp, context, batch, size) for size in BATCH_SIZES}


def _time(llama_cpp: Any, context: Any, batch: Any, size: int) -> tuple[float, float]:
    memory = llama_cpp.llama_get_memory(context)
    samples = []
    for repeat in range(REPEATS + 3):
        start = time.perf_counter()
        _decode(llama_cpp, context, batch, [(row, CONTEXT) for row in range(size)])
        if repeat >= 3:
            samples.append(time.perf_counter() - start)
        for row in range(size):  # forget the token again: every step sees the same context
            llama_cpp.llama_memory_seq_rm(memory, row, CONTEXT, -1)
    return median(samples), max(samples) - min(samples)


def _decode(llama_cpp: Any, context: Any, batch: Any, tokens: list[tuple[int, int]]) -> None:
    """Feed one token at each (row, position) and wait for the logits."""
    batch.n_tokens = len(tokens)
    for i, (row, position) in enumerate(tokens):
        batch.token[i] = 1 + position
        batch.pos[i] = position
        batch.n_seq_id[i] = 1
        batch.seq_id[i][0] = row
        batch.logits[i] = position == CONTEXT
    if llama_cpp.llama_decode(context, batch) != 0:
        raise RuntimeError("llama.cpp could not decode a batch")
    if tokens[-1][1] == CONTEXT:
        llama_cpp.llama_get_logits_ith(context, len(tokens) - 1)


@contextlib.contextmanager
def _session(llama_cpp: Any, path: Path, engine: Engine) -> Iterator[tuple[Any, Any]]:
    silent = llama_cpp.llama_log_callback(lambda level, text, data: None)  # kept: C holds no reference
    llama_cpp.llama_log_set(silent, None)
    llama_cpp.llama_backend_init()
    model_rules = llama_cpp.llama_model_default_params()
    model_rules.use_mmap = False
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), model_rules)
    rules = llama_cpp.llama_context_default_params()
    rows = max(BATCH_SIZES)
    rules.n_ctx = rows * 2 * CONTEXT
    rules.n_batch = rules.n_ubatch = 512
    rules.n_seq_max = rows
    rules.n_threads = rules.n_threads_batch = engine.threads
    kind = _GGML_TYPES[engine.dtype]
    rules.type_k = rules.type_v = kind
    context = llama_cpp.llama_init_from_model(model, rules)
    if not context:
        raise RuntimeError("llama.cpp could not load the converted weights")
    batch = llama_cpp.llama_batch_init(512, 0, 1)
    try:
        yield context, batch
    finally:
        llama_cpp.llama_batch_free(batch)
        llama_cpp.llama_free(context)
        llama_cpp.llama_model_free(model)


def _write_gguf(engine: Engine, path: Path) -> None:
    import gguf
    from safetensors.torch import load_file

    assert engine.folder is not None
    s = engine.shape
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(s.context)
    writer.add_embedding_length(s.hidden)
    writer.add_block_count(s.layers)
    writer.add_feed_forward_length(s.intermediate)
    writer.add_head_count(s.heads)
    writer.add_head_count_kv(s.kv_heads)
    writer.add_layer_norm_rms_eps(s.norm_eps)
    writer.add_rope_freq_base(s.rope_theta)
    writer.add_rope_dimension_count(s.head_dim)
    writer.add_vocab_size(s.vocab)
    writer.add_tokenizer_model("none")
    for name, tensor in load_file(engine.folder / "model.safetensors").items():
        _add_tensor(gguf, writer, name, tensor.float(), engine)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tensor(gguf: Any, writer: Any, name: str, tensor: torch.Tensor, engine: Engine) -> None:
    """Under llama.cpp's name; query and key rows in its order of rotary pairs; vectors stay in fp32."""
    stem = name.removesuffix(".weight")
    if stem.startswith("model.layers."):
        _, _, layer, inner = stem.split(".", 3)
        to = f"blk.{layer}.{_NAMES[inner]}.weight"
        if inner in ("self_attn.q_proj", "self_attn.k_proj"):
            heads = engine.shape.heads if inner.endswith("q_proj") else engine.shape.kv_heads
            tensor = tensor.view(heads, 2, -1, tensor.shape[-1]).transpose(1, 2).reshape(tensor.shape)
    else:
        to = f"{_NAMES[stem]}.weight" if stem in _NAMES else "output.weight"
    if tensor.dim() == 1 or engine.dtype == "fp32":
        writer.add_tensor(to, tensor.contiguous().numpy())
        return
    raw = tensor.to(torch.bfloat16).contiguous().view(torch.uint8).numpy()
    writer.add_tensor(to, raw, raw_shape=raw.shape, raw_dtype=gguf.GGMLQuantizationType.BF16)
