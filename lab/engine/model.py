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
from torch import Tensor

from lab.engine.batch import Batch
from lab.engine.kv import KvPool
from lab.engine.linear import Linear, linear
from lab.engine.norm import RmsNorm
from lab.engine.operators import TorchOperators, looped_operators
from lab.engine.rotary import pairs_together, turns
from lab.engine.weights import Weights


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
        turned = turns(self.shape).to(device)
        self._torch = TorchOperators(self.shape, turned)
        self._loops = looped_operators(self.shape, turned)

    @property
    def loop_cores(self) -> int:
        """On how many cores compiled loops attend in small batches; 0 where this device has none."""
        return self._loops.cores if self._loops else 0

    def forward(self, batch: Batch, kv: KvPool) -> Tensor:
        """Logits [rows, vocab] of each row's next token; keys and values of all tokens go into `kv`."""
        return self._forward(self._layers, batch, kv)

    def set_up(self, batch: Batch, kv: KvPool) -> None:
        """Have torch make its kernels for a batch of these sizes: all layers share the first one's."""
        self._forward(self._layers[:1], batch, kv)

    @torch.inference_mode()
    def _forward(self, layers: Sequence[Layer], batch: Batch, pool: KvPool) -> Tensor:
        operators = self._loops if self._loops and batch.looped else self._torch
        x = operators.residual(self._embedding[batch.ids])
        attention = operators.attention(batch, pool)
        for i, layer in enumerate(layers):
            every = layer.qkv(x.normed(layer.input_norm))
            self._norm_heads(layer, every)
            x.add(layer.out(attention(i, every)))
            x.add(layer.down(operators.gated(layer.gate_up(x.normed(layer.mlp_norm)))))
        return self._head(x.of(batch.last).normed(self._norm))

    def _norm_heads(self, layer: Layer, every: Tensor) -> None:
        """Qwen3 normalises each head's queries and keys; `every` is [tokens, queries, keys and values]."""
        if layer.q_norm is None or layer.k_norm is None:
            return
        s = self.shape
        by_head = every.view(len(every), s.heads + 2 * s.kv_heads, s.head_dim)
        for norm, first, heads in ((layer.q_norm, 0, s.heads), (layer.k_norm, s.heads, s.kv_heads)):
            part = by_head.narrow(1, first, heads)
            part.copy_(norm(part))


class _Maker:
    """Names on the model hub → what the forward pass uses."""

    def __init__(self, weights: Weights, dtype: torch.dtype, device: torch.device) -> None:
        self._weights, self._dtype, self._device = weights, dtype, device

    def tensor(self, name: str) -> Tensor:
        return self._weights.tensors[name].to(self._device, self._dtype)

    def norm(self, name: str) -> RmsNorm:
        return RmsNorm(self.tensor(f"{name}.weight"), self._weights.shape.norm_eps)

    def head_norm(self, name: str) -> RmsNorm:
        return RmsNorm(pairs_together(self.tensor(f"{name}.weight"), 1), self._weights.shape.norm_eps)

    def linear(self, *names: str) -> Linear:
        """One product for several matrices that share an input."""
        return linear(torch.cat([self.tensor(f"{name}.weight") for name in names]))

    def qkv(self, at: str) -> Linear:
        shape = self._weights.shape

        def stacked(kind: str) -> Tensor:
            q, k, v = (self.tensor(f"{at}.{x}_proj.{kind}") for x in "qkv")
            return torch.cat((pairs_together(q, shape.heads), pairs_together(k, shape.kv_heads), v))

        return linear(stacked("weight"), stacked("bias") if shape.qkv_bias else None)

    def layer(self, at: str) -> Layer:
        shape, attention, mlp = self._weights.shape, f"{at}.self_attn", f"{at}.mlp"
        return Layer(
            input_norm=self.norm(f"{at}.input_layernorm"),
            qkv=self.qkv(attention),
            q_norm=self.head_norm(f"{attention}.q_norm") if shape.qk_norm else None,
            k_norm=self.head_norm(f"{attention}.k_norm") if shape.qk_norm else None,
            out=self.linear(f"{attention}.o_proj"),
            mlp_norm=self.norm(f"{at}.post_attention_layernorm"),
            gate_up=self.linear(f"{mlp}.gate_proj", f"{mlp}.up_proj"),
            down=self.linear(f"{mlp}.down_proj"),
        )
