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

    Raises ValueError where it describes something that the lab's forward pass does not compute: another
    architecture, a sliding window, a scaled rotary embedding, other biases or activations, quantized weights.
    """
    architecture = (config.get("architectures") or ["none stated"])[0]
    if architecture not in SUPPORTED:
        raise ValueError(f"{name} is a {architecture}; supported architectures are {', '.join(sorted(SUPPORTED))}")
    family = SUPPORTED[architecture]
    _refuse_what_is_not_computed(config, family, name)
    heads = _number(config, "num_attention_heads", name)
    kv_heads = int(config.get("num_key_value_heads") or heads)
    if heads % kv_heads:
        raise ValueError(f"{name} has {heads} heads on {kv_heads} KV heads; each KV head must serve as many heads")
    hidden = _number(config, "hidden_size", name)
    return ModelShape(
        name=name,
        family=family,
        layers=_number(config, "num_hidden_layers", name),
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=int(config.get("head_dim") or hidden // heads),
        intermediate=_number(config, "intermediate_size", name),
        vocab=_number(config, "vocab_size", name),
        context=_number(config, "max_position_embeddings", name),
        rope_theta=float(_rope(config).get("rope_theta") or config.get("rope_theta") or 10000.0),
        norm_eps=float(config.get("rms_norm_eps") or 1e-6),
        tied=bool(config.get("tie_word_embeddings", False)),
    )


def _number(config: Mapping[str, Any], field: str, name: str) -> int:
    value = config.get(field)
    if not isinstance(value, int) or value < 1:
        raise ValueError(
            f"{name}: {field} is {value!r} in its config.json; it must be a whole number of at least 1"
        )
    return value


def _rope(config: Mapping[str, Any]) -> Mapping[str, Any]:
    return config.get("rope_parameters") or config.get("rope_scaling") or {}


def _refuse_what_is_not_computed(config: Mapping[str, Any], family: str, name: str) -> None:
    windowed = config.get("use_sliding_window", family == "llama") and config.get("sliding_window")
    if windowed or "sliding_attention" in (config.get("layer_types") or ()):
        raise ValueError(
            f"{name} attends in a sliding window of {config.get('sliding_window')} tokens; "
            "the lab computes full attention only"
        )
    kind = _rope(config).get("rope_type") or _rope(config).get("type") or "default"
    if kind != "default":
        raise ValueError(f"{name} scales its rotary embedding ({kind!r}); the lab computes the plain one only")
    if (_rope(config).get("partial_rotary_factor") or config.get("partial_rotary_factor") or 1) != 1:
        raise ValueError(f"{name} rotates a part of each head only; the lab rotates whole heads")
    if config.get("attention_bias", family == "qwen2") is not (family == "qwen2") or config.get("mlp_bias"):
        raise ValueError(
            f"{name} has biases that are unusual in its family; the lab knows Qwen2's q, k, v biases only"
        )
    if config.get("hidden_act", "silu") != "silu":
        raise ValueError(f"{name} uses the activation {config['hidden_act']!r}; the lab computes 'silu' only")
    if config.get("quantization_config"):
        raise ValueError(f"{name} has quantized weights; the lab computes with dense ones (bf16 or fp32)")


# The published configurations of models worth knowing; the parameter counts they give are tested.
WELL_KNOWN: Mapping[str, ModelShape] = {
    shape.name: shape
    for shape in (
        #           name, family, layers, hidden, heads, KV heads, head dim, intermediate, vocab, context, theta, …
        ModelShape("SmolLM2-135M", "llama", 30, 576, 9, 3, 64, 1536, 49152, 8192, 1e5, 1e-5, tied=True),
        ModelShape("SmolLM2-360M", "llama", 32, 960, 15, 5, 64, 2560, 49152, 8192, 1e5, 1e-5, tied=True),
        ModelShape("Qwen2.5-0.5B", "qwen2", 24, 896, 14, 2, 64, 4864, 151936, 32768, 1e6, 1e-6, tied=True),
        ModelShape("Qwen3-0.6B", "qwen3", 28, 1024, 16, 8, 128, 3072, 151936, 40960, 1e6, 1e-6, tied=True),
        ModelShape("Llama-3.1-8B", "llama", 32, 4096, 32, 8, 128, 14336, 128256, 131072, 5e5, 1e-5, tied=False),
        ModelShape("Llama-3.1-70B", "llama", 80, 8192, 64, 8, 128, 28672, 128256, 131072, 5e5, 1e-5, tied=False),
    )
}
