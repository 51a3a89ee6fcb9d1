"""The forward pass of the Llama family, small enough to be read in class.

    x = embedding of each token
    for each layer:
        x = x + attention(normed x)
        x = x + mlp(normed x)
    logits = head(normed x), of each row's last token only

Knows tensors. Refuses to know requests, policies and time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from lab.engine.attention import attend
from lab.engine.batch import Batch
from lab.engine.kv import KvPool
from lab.engine.linear import Linear, linear
from lab.engine.norm import RmsNorm
from lab.engine.weights import Weights
from lab.spec.model_shape import ModelShape


@dataclass(frozen=True, slots=True)
class Layer:
    """One block's weights. q_norm and k_norm are Qwen3's."""

    input_norm: RmsNorm
    qkv: Linear
    q_norm: RmsNorm | None
    k_norm: RmsNorm | None
    out: Linear
    mlp_norm: RmsNorm
    gate_up: Linear
    down: Linear


class Model:
    """Weights made ready for one device and dtype."""

    def __init__(self, weights: Weights, dtype: torch.dtype, device: torch.device) -> None:
        self.shape, self.dtype, self.device = weights.shape, dtype, device
        make = _Maker(weights, dtype, device)
        self._embedding = make.tensor("model.embed_tokens.weight")
        self._layers = [make.layer(f"model.layers.{i}") for i in range(self.shape.layers)]
        self._norm = make.norm("model.norm")
        self._head = linear(self._embedding if self.shape.tied else make.tensor("lm_head.weight"))
        self._cos, self._sin = (t.to(device, dtype) for t in rotary_tables(self.shape))

    def forward(self, batch: Batch, kv: KvPool) -> Tensor:
        """Logits [rows, vocab] of each row's next token; keys and values of all tokens go into `kv`."""
        return self._forward(self._layers, batch, kv)

    def set_up(self, batch: Batch, kv: KvPool) -> None:
        """Have torch make its kernels for a batch of these sizes: all layers share the first one's."""
        self._forward(self._layers[:1], batch, kv)

    @torch.inference_mode()
    def _forward(self, layers: Sequence[Layer], batch: Batch, kv: KvPool) -> Tensor:
        x = self._embedding[batch.ids]
        turn = self._cos[batch.positions], self._sin[batch.positions]
        for i, layer in enumerate(layers):
            x = x + self._attention(i, layer, layer.input_norm(x), turn, batch, kv)
            x = x + self._mlp(layer, layer.mlp_norm(x))
        return self._head(self._norm(x[batch.last]))

    def _attention(
        self, i: int, layer: Layer, x: Tensor, turn: tuple[Tensor, Tensor], batch: Batch, kv: KvPool
    ) -> Tensor:
        s = self.shape
        heads = layer.qkv(x).view(-1, s.heads + 2 * s.kv_heads, s.head_dim)
        q, k, v = heads[:, : s.heads], heads[:, s.heads : -s.kv_heads], heads[:, -s.kv_heads :]
        if layer.q_norm is not None and layer.k_norm is not None:
            q.copy_(layer.q_norm(q))
            k.copy_(layer.k_norm(k))
        rotate_(heads[:, : -s.kv_heads], *turn)
        kv.write(i, batch, heads[:, s.heads :].view(-1, 2, s.kv_heads, s.head_dim))
        return layer.out(attend(q, k, v, batch, kv, i))

    def _mlp(self, layer: Layer, x: Tensor) -> Tensor:
        gate, up = layer.gate_up(x).chunk(2, dim=-1)
        return layer.down(F.silu(gate).mul_(up))


class _Maker:
    """Names on the model hub → what the forward pass uses."""

    def __init__(self, weights: Weights, dtype: torch.dtype, device: torch.device) -> None:
        self._weights, self._dtype, self._device = weights, dtype, device

    def tensor(self, name: str) -> Tensor:
        return self._weights.tensors[name].to(self._device, self._dtype)

    def norm(self, name: str) -> RmsNorm:
        return RmsNorm(self.tensor(f"{name}.weight"), self._weights.shape.norm_eps)

    def linear(self, *names: str, bias: bool = False) -> Linear:
        """One product for several matrices that share an input."""
        return linear(
            torch.cat([self.tensor(f"{name}.weight") for name in names]),
            torch.cat([self.tensor(f"{name}.bias") for name in names]) if bias else None,
        )

    def layer(self, at: str) -> Layer:
        shape, attention, mlp = self._weights.shape, f"{at}.self_attn", f"{at}.mlp"
        return Layer(
            input_norm=self.norm(f"{at}.input_layernorm"),
            qkv=self.linear(*(f"{attention}.{x}_proj" for x in "qkv"), bias=shape.qkv_bias),
            q_norm=self.norm(f"{attention}.q_norm") if shape.qk_norm else None,
            k_norm=self.norm(f"{attention}.k_norm") if shape.qk_norm else None,
            out=self.linear(f"{attention}.o_proj"),
            mlp_norm=self.norm(f"{at}.post_attention_layernorm"),
            gate_up=self.linear(f"{mlp}.gate_proj", f"{mlp}.up_proj"),
            down=self.linear(f"{mlp}.down_proj"),
        )


def rotary_tables(shape: ModelShape) -> tuple[Tensor, Tensor]:
    """cos and signed sin of every position's angles, [context, 1, head_dim] each; fp32.

    A head's halves turn by the same angles; the sign that makes it a rotation lies in the sines.
    """
    exponents = torch.arange(0, shape.head_dim, 2, dtype=torch.float32) / shape.head_dim
    angles = torch.outer(torch.arange(shape.context, dtype=torch.float32), 1.0 / shape.rope_theta**exponents)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((cos, cos), dim=-1).unsqueeze(1), torch.cat((-sin, sin), dim=-1).unsqueeze(1)


def rotate_(x: Tensor, cos: Tensor, sin: Tensor) -> None:
    """Turn each head's pairs (value i, value i + head_dim / 2) by its token's angles, in place.

    x is [tokens, heads, head_dim]; cos and sin are rows of `rotary_tables`, [tokens, 1, head_dim].
    """
    other_half = x.roll(x.shape[-1] // 2, dims=-1)
    x.mul_(cos).addcmul_(other_half, sin)
