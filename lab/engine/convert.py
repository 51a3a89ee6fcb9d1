"""Turns the GGUF file of the default model into the folder the lab loads: safetensors, config, tokenizer.

Done once, because reading a GGUF takes seconds each time. Dequantized values (4-bit steps times a half-precision
scale plus a half-precision offset) do not fit bf16 exactly, so they are kept in fp32 and lose nothing.
Reads the one layout it is for (architecture "llama", byte-level BPE with the "smollm" pre-tokenizer);
refuses to know where the file came from.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

_OUTSIDE_LAYERS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_IN_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_CONTROL_TOKEN = 3  # llama.cpp's token type of <|im_start|> and its like


def convert(gguf: Path, to: Path, on_tensor: Callable[[int, int], None]) -> None:
    """Write `model.safetensors`, `config.json`, `generation_config.json`, `tokenizer.json` and the chat template.

    `to` exists and is empty. `on_tensor(done, total)` is called after each tensor, in bytes written to memory.
    Raises ValueError where the file is not of the layout described above.
    """
    from gguf import GGUFReader
    from safetensors.numpy import save_file

    reader = GGUFReader(gguf)
    fields = _Fields(reader)
    config = _config(fields)
    save_file(dict(_tensors(reader, config, on_tensor)), to / "model.safetensors", metadata={"format": "pt"})
    _write_json(to / "config.json", config)
    _write_json(to / "generation_config.json", {"eos_token_id": fields["tokenizer.ggml.eos_token_id"]})
    _write_json(to / "tokenizer.json", _tokenizer(fields))
    shutil.copymode(to / "config.json", to / "model.safetensors")  # safetensors leaves it to its owner alone
    (to / "chat_template.jinja").write_text(fields["tokenizer.chat_template"], encoding="utf-8")


class _Fields:
    """The metadata of a GGUF file by name; a missing name is the file's fault."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def __getitem__(self, name: str) -> Any:
        field = self._reader.get_field(name)
        if field is None:
            raise ValueError(f"the GGUF file states no {name!r}; it is not the file this conversion is for")
        return field.contents()

    def expect(self, name: str, value: str) -> None:
        if self[name] != value:
            raise ValueError(f"the GGUF file's {name} is {self[name]!r}; this conversion is for {value!r} only")


def _config(fields: _Fields) -> dict[str, Any]:
    """The `config.json` that a Llama of this size has on the model hub."""
    fields.expect("general.architecture", "llama")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": fields["llama.embedding_length"],
        "intermediate_size": fields["llama.feed_forward_length"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_attention_heads": fields["llama.attention.head_count"],
        "num_key_value_heads": fields["llama.attention.head_count_kv"],
        "head_dim": fields["llama.rope.dimension_count"],
        "vocab_size": fields["llama.vocab_size"],
        "max_position_embeddings": fields["llama.context_length"],
        "rms_norm_eps": fields["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": fields["llama.rope.freq_base"],
        "tie_word_embeddings": True,
        "eos_token_id": fields["tokenizer.ggml.eos_token_id"],
    }


def _tensors(
    reader: Any, config: dict[str, Any], on_tensor: Callable[[int, int], None]
) -> Iterator[tuple[str, Array]]:
    """(name on the model hub, dense fp32 values) of every tensor."""
    from gguf import dequantize

    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    total = sum(4 * int(t.n_elements) for t in reader.tensors)
    done = 0
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)
        part = tensor.name.removesuffix(".weight").split(".")
        if part[0] == "blk":
            name = f"model.layers.{part[1]}.{_IN_LAYER[part[2]]}"
            if part[2] in heads:
                values = _halves_apart(values, heads[part[2]])
        else:
            name = _OUTSIDE_LAYERS[part[0]]
        yield f"{name}.weight", np.ascontiguousarray(values)
        done += values.nbytes
        on_tensor(done, total)


def _halves_apart(weight: Array, heads: int) -> Array:
    """llama.cpp stores the two members of each rotary pair side by side; the model hub a half-head apart."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def _tokenizer(fields: _Fields) -> dict[str, Any]:
    """A `tokenizer.json`: byte-level BPE that splits every digit off first, as SmolLM2 was trained with."""
    fields.expect("tokenizer.ggml.model", "gpt2")
    fields.expect("tokenizer.ggml.pre", "smollm")
    tokens: list[str] = fields["tokenizer.ggml.tokens"]
    kinds: list[int] = fields["tokenizer.ggml.token_type"]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": i, "content": token, **flags}
            for i, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
            if kind == _CONTROL_TOKEN
        ],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level],
        },
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in fields["tokenizer.ggml.merges"]],
        },
    }


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
