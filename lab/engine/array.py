"""numpy's view of a tensor, for loops that know nothing of torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def as_array(x: Tensor) -> np.ndarray[Any, Any]:
    """The memory of a tensor on the CPU; bf16 as its 16 bits."""
    return (x.view(torch.uint16) if x.dtype == torch.bfloat16 else x).numpy()
