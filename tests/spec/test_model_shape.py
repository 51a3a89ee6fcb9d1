"""Shapes from configurations: the KV formula, published parameter counts, and what is refused."""

import pytest

from lab.spec.model_shape import WELL_KNOWN, kv_bytes_per_token, shape_from_config

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "vocab_size": 49152,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-5,
    "rope_theta": 100000,
    "tie_word_embeddings": True,
    "attention_bias": False,
    "rope_scaling": None,
}


def _config(**changes):
    return {**LLAMA, **changes}


@pytest.mark.parametrize(
    ("layers", "kv_heads", "head_dim", "bytes_per_value", "expected"),
    [
        (32, 8, 128, 2, 131_072),  # 32 query heads share 8: the query heads do not count
        (12, 12, 64, 4, 73_728),  # GPT-2 small, fp32
        (36, 8, 128, 2, 147_456),  # hidden 2560 on 32 heads, and head_dim stated as 128
    ],
)
def test_kv_bytes_count_kv_heads_and_the_stated_head_dim(layers, kv_heads, head_dim, bytes_per_value, expected):
    assert kv_bytes_per_token(layers, kv_heads, head_dim, bytes_per_value) == expected


@pytest.mark.parametrize(
    ("name", "parameters", "kv_bytes", "weight_bytes"),
    [
        ("SmolLM2-135M", 134_515_008, 23_040, 269_030_016),
        ("SmolLM2-360M", 361_821_120, 40_960, 723_642_240),
        ("Qwen2.5-0.5B", 494_032_768, 12_288, 988_065_536),
        ("Qwen3-0.6B", 596_049_920, 114_688, 1_192_099_840),
        ("Llama-3.1-8B", 8_030_261_248, 131_072, 15_009_849_344),
        ("Llama-3.1-70B", 70_553_706_496, 327_680, 139_006_066_688),
    ],
)
def test_published_shapes_give_published_counts(name, parameters, kv_bytes, weight_bytes):
    shape = WELL_KNOWN[name]
    assert shape.parameters == parameters
    assert shape.kv_bytes_per_token(2) == kv_bytes
    assert 2 * shape.parameters_read_per_step == weight_bytes


def test_the_hub_configuration_of_smollm2_gives_its_shape():
    shape = shape_from_config(LLAMA, "SmolLM2-135M")
    assert shape == WELL_KNOWN["SmolLM2-135M"]


def test_a_stated_head_dim_wins_over_hidden_divided_by_heads():
    assert shape_from_config(_config(head_dim=128), "m").head_dim == 128


def test_without_kv_heads_every_head_has_its_own():
    assert shape_from_config(_config(num_key_value_heads=None), "m").kv_heads == 9


def test_rotary_parameters_are_read_from_the_newer_layout():
    config = _config(rope_parameters={"rope_type": "default", "rope_theta": 7e5}, rope_theta=None)
    assert shape_from_config(config, "m").rope_theta == 7e5


def test_qwen2_has_biases_and_qwen3_has_normed_queries():
    qwen2 = shape_from_config(
        {**LLAMA, "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "attention_bias": True}, "m"
    )
    qwen3 = shape_from_config(_config(architectures=["Qwen3ForCausalLM"], model_type="qwen3"), "m")
    assert (qwen2.qkv_bias, qwen2.qk_norm) == (True, False)
    assert (qwen3.qkv_bias, qwen3.qk_norm) == (False, True)


def test_a_window_that_is_stated_and_not_used_is_no_window():
    config = {
        **LLAMA,
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "attention_bias": True,
        "sliding_window": 32768,
        "use_sliding_window": False,
        "layer_types": ["full_attention"] * 30,
    }
    assert shape_from_config(config, "m").layers == 30


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"architectures": ["MixtralForCausalLM"]}, "MixtralForCausalLM; supported architectures are Llama"),
        ({"architectures": None}, "none stated"),
        ({"sliding_window": 4096}, "window of 4096"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "sliding window"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "'llama3'"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "'linear'"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6}}, "'yarn'"),
        ({"partial_rotary_factor": 0.5}, "a part of each head"),
        ({"attention_bias": True}, "biases"),
        ({"mlp_bias": True}, "biases"),
        ({"hidden_act": "gelu"}, "'gelu'"),
        ({"quantization_config": {"quant_method": "awq"}}, "quantized"),
        ({"num_key_value_heads": 4}, "9 heads on 4 KV heads"),
        ({"hidden_size": None}, "hidden_size is None"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
    ],
)
def test_what_the_forward_pass_does_not_compute_is_refused_with_its_value(changes, said):
    with pytest.raises(ValueError, match=said):
        shape_from_config(_config(**changes), "somebody/model")
