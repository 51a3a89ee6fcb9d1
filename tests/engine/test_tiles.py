"""The products written for the machine, held to exact ones: every way of multiplying, every size of a tile."""

import os
import subprocess
import sys

import pytest
import torch

from lab.engine.linear import PackedLinear
from lab.engine.team import Team
from lab.engine.tiles import FP32, PAIRS, WIDENED, Kind, kind_of

KINDS = [Kind(FP32, 16), Kind(FP32, 8), Kind(WIDENED, 16), Kind(WIDENED, 8), Kind(PAIRS, 16)]
DTYPES = {FP32: torch.float32, WIDENED: torch.bfloat16, PAIRS: torch.bfloat16}
# Of the sum of the sizes of what is added up: fp32's own rounding, bf16's rounding of the result.
CLOSE = {torch.float32: 1e-6, torch.bfloat16: 2**-8}
ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 25, 250)


@pytest.fixture(params=KINDS, ids=str)
def kind(request):
    if request.param.product == PAIRS and kind_of("bf16") != request.param:
        pytest.skip("this CPU has no such instruction")
    return request.param


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def numbers(kind, *size):
    return torch.randn(size).to(DTYPES[kind.product])


@pytest.mark.parametrize("rows", ROWS)
def test_a_product_is_the_sum_of_its_terms(kind, rows):
    x, weight = numbers(kind, rows, 576), numbers(kind, 96, 576)
    got = PackedLinear(weight, None, kind)(x)
    exact, sizes = x.double() @ weight.double().T, x.double().abs() @ weight.double().abs().T
    assert got.shape == exact.shape
    assert ((got.double() - exact).abs() <= CLOSE[got.dtype] * sizes).all()


def test_a_row_comes_out_the_same_to_the_last_bit_in_whatever_company(kind):
    x, weight = numbers(kind, 27, 64), numbers(kind, 64, 64)
    product = PackedLinear(weight, None, kind)
    together = product(x)
    for rows in ROWS[:-2]:
        assert torch.equal(product(x[:rows]), together[:rows])


@pytest.mark.parametrize("value", [1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8, 1 + 2**-9, 3.0e38, 0.0])
def test_bf16_is_rounded_to_the_nearest_and_ties_to_even(value):
    kind = kind_of("bf16")
    parts = torch.tensor(value).bfloat16(), (torch.tensor(value) - torch.tensor(value).bfloat16()).bfloat16()
    x, weight = torch.zeros(1, 2, dtype=torch.bfloat16), torch.ones(kind.block, 2, dtype=torch.bfloat16)
    x[0, 0], x[0, 1] = parts
    exact = parts[0].float() + parts[1].float()
    assert (PackedLinear(weight, None, kind)(x) == exact.bfloat16()).all()


@pytest.mark.parametrize(
    "wrong",
    [
        torch.zeros(2, 64),
        torch.zeros(2, 62, dtype=torch.bfloat16),
        torch.zeros(1, 2, 64, dtype=torch.bfloat16),
        torch.zeros(2, 64, dtype=torch.bfloat16, device="meta"),
    ],
)
def test_what_the_loop_would_misread_is_refused(wrong):
    product = PackedLinear(torch.zeros(64, 64, dtype=torch.bfloat16), None, kind_of("bf16"))
    with pytest.raises(ValueError, match=r"it must be torch.bfloat16 \[rows, 64\] on a CPU"):
        product(wrong)


def test_no_rows_give_no_rows(kind):
    assert PackedLinear(numbers(kind, 64, 64), None, kind)(numbers(kind, 0, 64)).shape == (0, 64)


@pytest.mark.parametrize("told", ["CPU_NAME", "CPU_FEATURES"])
def test_where_numba_compiles_for_another_cpu_there_are_no_loops(monkeypatch, told):
    monkeypatch.setattr(f"lab.engine.tiles.config.{told}", "generic")
    with pytest.raises(LookupError, match="some other CPU"):
        kind_of("bf16")


@pytest.mark.parametrize("setting", [{"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_ENABLE_AVX": "0"}])
def test_a_numba_that_may_not_compile_so_leaves_products_to_torch(setting, tmp_path):
    program = (
        "import torch\n"
        "from lab.engine.linear import ReorderedLinear, linear\n"
        "product = linear(torch.eye(64))\n"
        "assert isinstance(product, ReorderedLinear)\n"
        "assert torch.equal(product(torch.eye(64)), torch.eye(64))\n"
    )
    environment = os.environ | setting | {"NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=120)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_every_block_is_computed_by_one_of_the_threads_however_many_there_are(kind, threads):
    before = torch.get_num_threads()
    x, weight = numbers(kind, 5, 32), numbers(kind, 5 * kind.block, 32)
    product = PackedLinear(weight, None, kind)
    expected = product(x)
    try:
        torch.set_num_threads(threads)
        assert torch.equal(product(x), expected)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("features", "bf16", "fp32"),
    [
        ({"avx512f": True, "avx512bf16": True, "avx2": True, "fma": True}, Kind(PAIRS, 16), Kind(FP32, 16)),
        ({"avx512f": True, "avx2": True, "fma": True}, Kind(WIDENED, 16), Kind(FP32, 16)),
        ({"avx2": True, "fma": True}, Kind(WIDENED, 8), Kind(FP32, 8)),
    ],
)
def test_the_widest_registers_and_the_instruction_for_bf16_are_used_where_there_are_any(
    monkeypatch, features, bf16, fp32
):
    monkeypatch.setattr("lab.engine.tiles.binding.get_host_cpu_features", lambda: features)
    monkeypatch.setattr("lab.engine.tiles._share_of", lambda kind: None)
    assert (kind_of("bf16"), kind_of("fp32")) == (bf16, fp32)


def test_other_cpus_have_none(monkeypatch):
    monkeypatch.setattr("lab.engine.tiles.binding.get_host_cpu_features", lambda: {"sse4.2": True})
    with pytest.raises(LookupError, match="no wide registers"):
        kind_of("fp32")


def test_where_openmp_is_not_gnus_it_is_said(monkeypatch):
    def none(path, **_):
        raise FileNotFoundError(path)

    monkeypatch.setattr("builtins.open", none)
    with pytest.raises(LookupError, match="not loaded"):
        Team()
