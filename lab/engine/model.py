"""The forward pass of the Llama family, small enough to be read in class.

    x = embedding of each token
    for each layer:
        x = x + attention(normed x)
        x = x + mlp(normed x)
    logits = head(normed x), of each row's last token only

Knows tensors. Refuses to know requests, policies and time.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from lab.engine.attention import attend
from lab.engine.batch import Batch
from lab.engine.kv import KvPool
from lab.engine.linear import Linear
from lab.engine.weights import Weights
from lab.spec.model_shape import ModelShape


@dataclass(frozen=True, slots=True)
class Layer:
    """One block's weights. q_norm and k_norm are Qwen3's."""

    input_norm: Tensor
    qkv: Linear
    q_norm: Tensor | None
    k_norm: Tensor | None
    out: Linear
    mlp_norm: Tensor
    gate_up: Linear
    down: Linear


class Model:
    """Weights made ready for one device and dtype."""

    def __init__(self, weights: Weights, dtype: torch.dtype, device: torch.device) -> None:
        shape = weights.shape

        def tensor(name: str) -> Tensor:
            return weights.tensors[name].to(device, dtype)

        def optional(name: str, wanted: bool) -> Tensor | None:
            return tensor(name) if wanted else None

        def stacked(prefix: str, names: tuple[str, ...], bias: bool) -> Linear:
            parts = [f"{prefix}.{name}_proj" for name in names]
            return Linear(
                torch.cat([tensor(f"{part}.weight") for part in parts]),
                torch.cat([tensor(f"{part}.bias") for part in parts]) if bias else None,
            )

        def layer(at: str) -> Layer:
            return Layer(
                input_norm=tensor(f"{at}.input_layernorm.weight"),
                qkv=stacked(f"{at}.self_attn", ("q", "k", "v"), shape.qkv_bias),
                q_norm=optional(f"{at}.self_attn.q_norm.weight", shape.qk_norm),
                k_norm=optional(f"{at}.self_attn.k_norm.weight", shape.qk_norm),
                out=stacked(f"{at}.self_attn", ("o",), False),
                mlp_norm=tensor(f"{at}.post_attention_layernorm.weight"),
                gate_up=stacked(f"{at}.mlp", ("gate", "up"), False),
                down=stacked(f"{at}.mlp", ("down",), False),
            )

        self.shape, self.dtype, self.device = shape, dtype, device
        self._embedding = tensor("model.embed_tokens.weight")
        self._layers = [layer(f"model.layers.{i}") for i in range(shape.layers)]
        self._norm = tensor("model.norm.weight")
        self._head = Linear(self._embedding if shape.tied else tensor("lm_head.weight"))
        self._cos, self._sin = (t.to(device, dtype) for t in rotary_tables(shape))

    @torch.inference_mode()
    def forward(self, batch: Batch, kv: KvPool) -> Tensor:
        """Logits [rows, vocab] (fp32) of each row's next token; keys and values of all tokens go into `kv`."""
        x = self._embedding[batch.ids]
        cos, sin = self._cos[batch.positions], self._sin[batch.positions]
        for i, layer in enumerate(self._layers):
            x = x + self._attention(i, layer, self._normed(x, layer.input_norm), cos, sin, batch, kv)
            x = x + self._mlp(layer, self._normed(x, layer.mlp_norm))
        return self._head(self._normed(x[batch.last], self._norm)).float()

    def _attention(
        self, i: int, layer: Layer, x: Tensor, cos: Tensor, sin: Tensor, batch: Batch, kv: KvPool
    ) -> Tensor:
        s = self.shape
        heads = layer.qkv(x).view(-1, s.heads + 2 * s.kv_heads, s.head_dim)
        qk, v = heads[:, : s.heads + s.kv_heads], heads[:, s.heads + s.kv_heads :]
        if layer.q_norm is not None and layer.k_norm is not None:
            q, k = qk[:, : s.heads], qk[:, s.heads :]
            qk = torch.cat((self._normed(q, layer.q_norm), self._normed(k, layer.k_norm)), dim=1)
        qk = rotate(qk, cos, sin)
        q, k = qk[:, : s.heads], qk[:, s.heads :]
        kv.write(i, batch.slots, batch.positions, torch.stack((k, v), dim=1))
        return layer.out(attend(q, k, v, batch, kv, i))

    def _mlp(self, layer: Layer, x: Tensor) -> Tensor:
        gate, up = layer.gate_up(x).chunk(2, dim=-1)
        return layer.down(F.silu(gate) * up)

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, weight.shape, weight, self.shape.norm_eps)


def rotary_tables(shape: ModelShape) -> tuple[Tensor, Tensor]:
    """cos and sin of every position's angles, [context, 1, head_dim] each, the halves equal; fp32."""
    exponents = torch.arange(0, shape.head_dim, 2, dtype=torch.float32) / shape.head_dim
    angles = torch.outer(torch.arange(shape.context, dtype=torch.float32), 1.0 / shape.rope_theta**exponents)
    angles = torch.cat((angles, angles), dim=-1).unsqueeze(1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn each head's pairs (value i, value i + head_dim / 2) by its token's angles; x is [tokens, heads, dim]."""
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin
