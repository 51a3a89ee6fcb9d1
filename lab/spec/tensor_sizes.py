"""The tensors that a model of the Llama family consists of, by their names on the model hub."""

from __future__ import annotations

from lab.spec.model_shape import ModelShape


def tensor_sizes(shape: ModelShape) -> dict[str, tuple[int, ...]]:
    """Name and size of every tensor that a model of this shape has; nothing else is read."""
    s, q, kv = shape, shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    sizes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (s.vocab, s.hidden),
        "model.norm.weight": (s.hidden,),
    }
    if not s.tied:
        sizes["lm_head.weight"] = (s.vocab, s.hidden)
    layer: dict[str, tuple[int, ...]] = {
        "input_layernorm.weight": (s.hidden,),
        "self_attn.q_proj.weight": (q, s.hidden),
        "self_attn.k_proj.weight": (kv, s.hidden),
        "self_attn.v_proj.weight": (kv, s.hidden),
        "self_attn.o_proj.weight": (s.hidden, q),
        "post_attention_layernorm.weight": (s.hidden,),
        "mlp.gate_proj.weight": (s.intermediate, s.hidden),
        "mlp.up_proj.weight": (s.intermediate, s.hidden),
        "mlp.down_proj.weight": (s.hidden, s.intermediate),
    }
    if s.qkv_bias:
        layer |= {f"self_attn.{p}_proj.bias": (q if p == "q" else kv,) for p in "qkv"}
    if s.qk_norm:
        layer |= {f"self_attn.{p}_norm.weight": (s.head_dim,) for p in "qk"}
    return sizes | {f"model.layers.{i}.{name}": size for i in range(s.layers) for name, size in layer.items()}
