"""Where weights come from, and what is said when they cannot be used."""

import json
import shutil
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from lab.engine.progress import FetchError
from lab.engine.weights import load_weights, random_weights
from lab.spec.model_shape import WELL_KNOWN
from lab.spec.tensor_sizes import tensor_sizes


@pytest.fixture
def folder(llama, tmp_path):
    """A copy of the tiny llama's folder, to be spoilt."""
    return shutil.copytree(llama.folder, tmp_path / "model")


def _reconfigure(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_folder_gives_the_tensors_that_transformers_saved(pair):
    weights = load_weights(str(pair.folder))
    state = pair.reference.state_dict()
    assert set(weights.tensors) <= set(state)
    assert sum(t.numel() for t in weights.tensors.values()) == weights.shape.parameters
    assert all(torch.equal(tensor, state[name]) for name, tensor in weights.tensors.items())


def test_weights_in_several_files_are_read_together(folder, llama):
    tensors = load_file(folder / "model.safetensors")
    names = sorted(tensors)
    (folder / "model.safetensors").unlink()
    for part, chosen in enumerate((names[:5], names[5:])):
        save_file({name: tensors[name] for name in chosen}, folder / f"model-{part}.safetensors")
    assert load_weights(str(folder)).digest() == load_weights(str(llama.folder)).digest()


def test_other_weights_have_another_digest_and_revision(folder, llama):
    tensors = load_file(folder / "model.safetensors")
    tensors["model.norm.weight"][0] += 1
    save_file(tensors, folder / "model.safetensors")
    changed, original = load_weights(str(folder)), load_weights(str(llama.folder))
    assert changed.digest() != original.digest()
    assert changed.revision != original.revision


@pytest.mark.parametrize("model", ["", "smollm", "no/such/folder", "./absent", "gpt-4", "a b/c"])
def test_a_name_that_means_nothing_is_refused_with_what_would(model):
    with pytest.raises(ValueError, match="it must be 'smollm2-135m', an existing folder, a hub id"):
        load_weights(model)


def test_a_model_of_the_hub_without_network_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(FetchError, match="nobody/nothing could not be had from the model hub") as failed:
        load_weights("nobody/nothing")
    assert "\n" not in str(failed.value)


def test_an_unknown_dummy_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"no dummy 'GPT-5'; choose one of SmolLM2-135M, .*Llama-3.1-70B"):
        load_weights("dummy:GPT-5")


def test_a_dummy_has_the_real_shape_says_what_it_is_and_repeats():
    weights = load_weights("dummy:SmolLM2-135M")
    assert weights.name == "dummy:SmolLM2-135M"
    assert "random" in weights.revision
    assert weights.folder is None
    assert {name: tuple(t.shape) for name, t in weights.tensors.items()} == tensor_sizes(WELL_KNOWN["SmolLM2-135M"])
    assert weights.digest() == random_weights("SmolLM2-135M").digest()
    assert weights.digest() != random_weights("SmolLM2-135M", seed=1).digest()


def test_a_folder_without_a_configuration_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no config\.json"):
        load_weights(str(tmp_path))


@pytest.mark.parametrize("config", ["{not json", "[1]"])
def test_a_configuration_that_cannot_be_read_is_refused(folder, config):
    (folder / "config.json").write_text(config)
    with pytest.raises(ValueError, match=r"config\.json"):
        load_weights(str(folder))


def test_another_architecture_is_refused_with_the_supported_ones(folder):
    _reconfigure(folder, architectures=["GPT2LMHeadModel"])
    with pytest.raises(ValueError, match="GPT2LMHeadModel; supported architectures are LlamaForCausalLM, Qwen2"):
        load_weights(str(folder))


def test_a_folder_without_safetensors_is_refused(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"no \.safetensors file"):
        load_weights(str(folder))


def test_a_cut_off_weights_file_is_refused(folder):
    with (folder / "model.safetensors").open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(ValueError, match="cannot be read"):
        load_weights(str(folder))


def test_a_missing_tensor_is_named(folder):
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"model\.layers\.1\.mlp\.up_proj\.weight is missing"):
        load_weights(str(folder))


def test_a_tensor_of_another_size_than_the_configuration_says_is_named(folder):
    _reconfigure(folder, intermediate_size=64)
    with pytest.raises(
        ValueError, match=r"gate_proj\.weight is \(160, 96\) where its config\.json calls for \(64, 96\)"
    ):
        load_weights(str(folder))


def test_a_folder_of_safetensors_needs_neither_transformers_nor_gguf(llama):
    code = (
        "import sys, torch; from lab.engine.weights import load_weights; from lab.engine.model import Model\n"
        f"Model(load_weights({str(llama.folder)!r}), torch.float32, torch.device('cpu'))\n"
        "print(sorted({'transformers', 'gguf', 'huggingface_hub'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
