"""Finds a model's weights: the default one, a local folder, one on the model hub, or random ones.

Gives tensors by their names on the model hub, in the dtype they are stored in. Refuses to know what is
computed with them (see lab.engine.model). From a folder, neither transformers nor gguf is imported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lab.engine.fetch import MANIFEST, SMOLLM2, fetch
from lab.engine.progress import FetchError, Progress, silent
from lab.spec.model_shape import WELL_KNOWN, ModelShape, shape_from_config
from lab.spec.tensor_sizes import tensor_sizes

DEFAULT = SMOLLM2.name
DUMMY = "dummy:"
DUMMY_SEED = 0


@dataclass(frozen=True, slots=True)
class Weights:
    """A model before anything is computed.

    name      for people; a dummy's begins with "dummy:"
    revision  which weights these are: package and hash, commit, or a digest of the values
    tensors   by name on the model hub, on the CPU; matrices are [out, in]
    folder    where its tokenizer lies; None for random weights, which have none
    """

    name: str
    revision: str
    shape: ModelShape
    tensors: Mapping[str, Tensor]
    folder: Path | None

    def digest(self) -> str:
        """16 hexadecimal digits that tell these weights from others: of all sizes, vectors and first rows."""
        seen = sha256(repr(replace(self.shape, name="")).encode())
        for name, tensor in sorted(self.tensors.items()):
            first = tensor if tensor.dim() == 1 else tensor[0]
            seen.update(f"{name} {tuple(tensor.shape)}".encode())
            seen.update(first.contiguous().view(torch.uint8).numpy().tobytes())
        return seen.hexdigest()[:16]


def load_weights(model: str, on_progress: Progress = silent) -> Weights:
    """`model` is "smollm2-135m" (fetched on first use), a local folder, a hub id such as "Qwen/Qwen3-0.6B", or
    "dummy:<name>" of lab.spec.model_shape.WELL_KNOWN.

    Raises ValueError for a name, architecture or file that cannot be used, FetchError where a download failed.
    """
    if model == DEFAULT:
        return _from_folder(fetch(None, on_progress), "SmolLM2-135M-Instruct", on_progress)
    if model.startswith(DUMMY):
        return random_weights(model.removeprefix(DUMMY))
    folder = Path(model).expanduser()
    if model and folder.is_dir():
        return _from_folder(folder, folder.resolve().name, on_progress)
    if re.fullmatch(r"[A-Za-z0-9][\w.-]*/[\w.-]+", model):
        return _from_folder(_from_hub(model, on_progress), model, on_progress)
    raise ValueError(
        f"model is {model!r}; it must be {DEFAULT!r}, an existing folder, a hub id like 'Qwen/Qwen3-0.6B', "
        f"or {DUMMY!r} and one of {', '.join(WELL_KNOWN)}"
    )


def random_weights(name: str, seed: int = DUMMY_SEED) -> Weights:
    """Weights of a real model's shape with nothing learned: for speed work. bf16, the same for the same seed."""
    if name not in WELL_KNOWN:
        raise ValueError(f"there is no dummy {name!r}; choose one of {', '.join(WELL_KNOWN)}")
    shape = WELL_KNOWN[name]
    generator = torch.Generator().manual_seed(seed)
    tensors = {
        key: torch.ones(size, dtype=torch.bfloat16)
        if "norm" in key
        else torch.empty(size, dtype=torch.bfloat16).normal_(0.0, 0.02, generator=generator)
        for key, size in tensor_sizes(shape).items()
    }
    return Weights(DUMMY + name, f"random weights, seed {seed}", shape, tensors, None)


def _from_folder(folder: Path, name: str, on_progress: Progress) -> Weights:
    shape = shape_from_config(_config(folder), name)
    tensors = _read_tensors(folder, shape, on_progress)
    weights = Weights(name, _revision(folder), shape, tensors, folder)
    return weights if weights.revision else replace(weights, revision=f"digest {weights.digest()}")


def _config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{folder} has no config.json; it must be a model folder of the hub's layout") from None
    except ValueError as error:
        raise ValueError(f"{path} is not readable JSON ({error}); save the model again") from error
    if not isinstance(config, dict):
        raise ValueError(f"{path} holds a {type(config).__name__}; it must be a table of settings")
    return config


def _revision(folder: Path) -> str:
    """From our manifest, or from the hub cache's folder layout (…/snapshots/<commit>); "" where neither is."""
    if (folder / MANIFEST).is_file():
        return str(json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["revision"])
    return folder.name if folder.parent.name == "snapshots" else ""


def _read_tensors(folder: Path, shape: ModelShape, on_progress: Progress) -> dict[str, Tensor]:
    """Every tensor of `tensor_sizes`, checked; others in the files are left alone."""
    from safetensors import SafetensorError, safe_open

    wanted = tensor_sizes(shape)
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ValueError(f"{folder} has no .safetensors file; save the model in that format")
    tensors: dict[str, Tensor] = {}
    for file in files:
        try:
            with safe_open(file, framework="pt") as opened:
                for name in wanted.keys() & set(opened.keys()):
                    tensors[name] = opened.get_tensor(name)
                    on_progress("load", len(tensors), len(wanted))
        except (SafetensorError, OSError) as error:
            raise ValueError(
                f"{file} cannot be read ({error}); remove the folder and fetch the model again"
            ) from error
    for name, size in wanted.items():
        found = tuple(tensors[name].shape) if name in tensors else None
        if found != size:
            said = "is missing" if found is None else f"is {found}"
            raise ValueError(f"{folder}: {name} {said} where its config.json calls for {size}")
    return tensors


def _from_hub(model: str, on_progress: Progress) -> Path:
    """Download through the hub's own client and cache; the configuration first, to refuse before gigabytes move."""
    from huggingface_hub import hf_hub_download, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    on_progress("download", 0, 0)
    try:
        config = Path(hf_hub_download(model, "config.json"))
        shape_from_config(_config(config.parent), model)
        return Path(snapshot_download(model, allow_patterns=["*.safetensors", "*.json", "*.jinja"]))
    except LocalEntryNotFoundError as error:
        reason = "it cannot be reached and the model is not in its cache"
        raise _not_from_hub(model, reason) from error
    except (HfHubHTTPError, OSError) as error:
        raise _not_from_hub(model, (str(error).strip() or type(error).__name__).splitlines()[0]) from error


def _not_from_hub(model: str, reason: str) -> FetchError:
    return FetchError(
        f"{model} could not be had from the model hub ({reason}); "
        "check the name and the network, or give a local folder"
    )
