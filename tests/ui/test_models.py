"""Which models a visitor may choose."""

import pytest

from lab.spec.model_shape import WELL_KNOWN
from lab.ui.models import first_model, model_name, other_models


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    monkeypatch.delenv("BATCHING_LAB_MODEL", raising=False)
    monkeypatch.delenv("BATCHING_LAB_MODELS", raising=False)


def test_unless_the_owner_says_otherwise_shapes_that_any_machine_can_hold_may_be_chosen():
    assert first_model() == "smollm2-135m"
    names = [name.removeprefix("dummy:") for name in other_models()]
    assert names
    assert all(WELL_KNOWN[name].parameters < 1e9 for name in names)


def test_the_servers_owner_says_which(monkeypatch):
    monkeypatch.setenv("BATCHING_LAB_MODEL", "/home/me/models/mine")
    monkeypatch.setenv("BATCHING_LAB_MODELS", "dummy:SmolLM2-360M, ,Qwen/Qwen3-0.6B,/home/me/models/mine")
    assert first_model() == "/home/me/models/mine"
    assert other_models() == ("dummy:SmolLM2-360M", "Qwen/Qwen3-0.6B")
    monkeypatch.setenv("BATCHING_LAB_MODELS", "")
    assert other_models() == ()


def test_a_name_says_nothing_of_where_a_folder_lies(monkeypatch):
    monkeypatch.setenv("BATCHING_LAB_MODEL", "/home/me/models/mine")
    assert model_name("") == "mine"
    assert model_name("dummy:Qwen3-0.6B") == "Qwen3-0.6B"
    assert model_name("smollm2-135m") == "SmolLM2-135M-Instruct"
    assert model_name("Qwen/Qwen3-0.6B") == "Qwen/Qwen3-0.6B"
