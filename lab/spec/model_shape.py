"""What a model's configuration says about its size: parameters, KV-cache bytes, supported or not.

Knows the shapes of the Llama family (Llama, SmolLM2, Qwen2, Qwen3). Refuses to know weights,
tensors, devices and time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SUPPORTED = {"LlamaForCausalLM": "llama", "Qwen2ForCausalLM": "qwen2", "Qwen3ForCausalLM": "qwen3"}


def kv_bytes_per_token(layers: int, kv_heads: int, head_dim: int, bytes_per_value: int) -> int:
    """Bytes that one token of context occupies: a key and a value per layer and KV head."""
    return 2 * layers * kv_heads * head_dim * bytes_per_value


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The dimensions of a decoder-only transformer of the Llama family.

    `head_dim` is stated, not derived: Qwen3's differs from hidden / heads.
    """

    name: str
    family: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    context: int
    rope_theta: float
    norm_eps: float
    tied: bool

    @property
    def qkv_bias(self) -> bool:
        return self.family == "qwen2"

    @property
    def qk_norm(self) -> bool:
        return self.family == "qwen3"

    @property
    def parameters(self) -> int:
        """All weights; a tied output head counts once."""
        q, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = 2 * self.hidden * q + 2 * self.hidden * kv
        if self.qkv_bias:
            attention += q + 2 * kv
        if self.qk_norm:
            attention += 2 * self.head_dim
        layer = attention + 3 * self.hidden * self.intermediate + 2 * self.hidden
        heads = 1 if self.tied else 2
        return self.layers * layer + heads * self.vocab * self.hidden + self.hidden

    @property
    def parameters_read_per_step(self) -> int:
        """Weights one decode step reads: an untied input embedding is only looked up, not read whole."""
        return self.parameters if self.tied else self.parameters - self.vocab * self.hidden

    def kv_bytes_per_token(self, bytes_per_value: int) -> int:
        return kv_bytes_per_token(self.layers, self.kv_heads, self.head_dim, bytes_per_value)


def shape_from_config(config: Mapping[str, Any], name: str) -> ModelShape:
    """Read a Hugging Face `config.json`.

    Raises ValueError where the architecture, a sliding window or a scaled rotary embedding is one
    that the lab's forward pass does not compute.
    """
    architecture = (config.get("architectures") or ["none stated"])[0]
    if architecture not in SUPPORTED:
        raise ValueError(f"{name} is a {architecture}; supported architectures are {', '.join(sorted(SUPPORTED))}")
    _refuse_unsupported_attention(config, name)
    heads = int(config["num_attention_heads"])
    return ModelShape(
        name=name,
        family=SUPPORTED[architecture],
        layers=int(config["num_hidden_layers"]),
        hidden=int(config["hidden_size"]),
        heads=heads,
        kv_heads=int(config.get("num_key_value_heads") or heads),
        head_dim=int(config.get("head_dim") or int(config["hidden_size"]) // heads),
        intermediate=int(config["intermediate_size"]),
        vocab=int(config["vocab_size"]),
        context=int(config["max_position_embeddings"]),
        rope_theta=float(_rope(config).get("rope_theta") or config.get("rope_theta") or 10000.0),
        norm_eps=float(config["rms_norm_eps"]),
        tied=bool(config.get("tie_word_embeddings", False)),
    )


def _rope(config: Mapping[str, Any]) -> Mapping[str, Any]:
    return config.get("rope_parameters") or config.get("rope_scaling") or {}


def _refuse_unsupported_attention(config: Mapping[str, Any], name: str) -> None:
    windowed = config.get("use_sliding_window", config.get("model_type") not in ("qwen2", "qwen3"))
    if config.get("sliding_window") and windowed:
        raise ValueError(
            f"{name} attends in a sliding window of {config['sliding_window']} tokens; "
            "the lab computes full attention only"
        )
    kind = _rope(config).get("rope_type") or _rope(config).get("type") or "default"
    if kind != "default":
        raise ValueError(f"{name} scales its rotary embedding ({kind!r}); the lab computes the plain one only")
    if config.get("attention_bias") and config.get("model_type") == "llama":
        raise ValueError(f"{name} has attention biases (attention_bias true); the lab computes Llama without them")
