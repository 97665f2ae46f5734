"""What the forge wrote becomes a file with an entry that refuses what it was not written for."""

from __future__ import annotations

import ast

import pytest
from sample_operators import BIAS_ADD, EVERY_FIELD, WRITTEN

from tilesmith.errors import ProjectError
from tilesmith.operators.definition import parse_definition
from tilesmith.operators.kernels.kernel_file import KernelVariant, rename, triton_text
from tilesmith.operators.records import FLOATS


def test_kernel_and_launcher_get_names_beside_the_entry() -> None:
    text = triton_text(BIAS_ADD, [KernelVariant(BIAS_ADD.dtypes, WRITTEN)])
    functions = [one.name for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)]
    assert functions == ["bias_add_kernel", "launch_bias_add", "bias_add"]
    assert "    bias_add = tl.load(x_ptr)  # a variable of the same name\n" in text
    assert "return launch_bias_add(x, bias)" in text
    assert "torch.nn" not in text


def test_prose_names_constants_and_forgets_the_task() -> None:
    text = triton_text(BIAS_ADD, [KernelVariant(BIAS_ADD.dtypes, WRITTEN)])
    summary = ast.get_docstring(ast.parse(text)) or ""
    assert "One program per BLOCK elements of the flat output, NUM_WARPS warps: every input" in summary
    assert "4096" not in summary


def test_what_the_entry_makes_sure_of_is_not_asserted_again() -> None:
    text = triton_text(BIAS_ADD, [KernelVariant(BIAS_ADD.dtypes, WRITTEN)])
    assert "x.dim() == 2" not in text
    assert "bias.shape[-1] == x.shape[-1]" not in text
    assert (
        '    if x.shape[-1] != 64:\n        raise ValueError("bias_add is written for x.shape[-1] == 64")\n'
    ) in text
    assert "ROWS" not in text


def test_the_entry_refuses_other_shapes_and_dtypes() -> None:
    text = triton_text(BIAS_ADD, [KernelVariant(BIAS_ADD.dtypes, WRITTEN)])
    assert (
        "    if (\n"
        "        not (torch.is_tensor(x) and torch.is_tensor(bias))\n"
        "        or x.dim() != 2\n"
        "        or bias.shape != (x.shape[1],)\n"
        "        or x.dtype not in DTYPES\n"
        "        or bias.dtype != x.dtype\n"
        "    ):\n"
        '        raise ValueError("bias_add takes x [M, N], bias [N]; float32, float16, bfloat16")\n'
    ) in text


def test_a_kernel_is_written_for_one_whole_number() -> None:
    written = (
        "class ModelNew:\n    def forward(self, x, target, count, alpha, flag, reduction):\n        return x\n"
    )
    text = triton_text(EVERY_FIELD, [KernelVariant(EVERY_FIELD.dtypes, written)])
    for condition in ("count != 3", "flag != False", "reduction != 'me\"an'", "x.shape[-1] != 4"):
        assert f"or {condition}\n" in text
    assert "or alpha" not in text
    assert "or target.shape != (*x.shape[:-2],)\n" in text


def test_leading_sizes_become_one_and_come_back() -> None:
    definition = parse_definition(
        "SHAPES = {'x': ['...', 'N'], 'y': ['...', 'N']}\ndef total(x, y): return x + y", "total"
    )
    written = "class ModelNew:\n    def forward(self, x, y):\n        return add(x, y)\n"
    text = triton_text(definition.operator, [KernelVariant(FLOATS, written)])
    assert text.endswith(
        "    leading = x.shape[:-1]\n"
        "    x = x.reshape(leading.numel(), x.shape[-1])\n"
        "    y = y.reshape(leading.numel(), y.shape[-1])\n"
        "    y = add(x, y)\n"
        "    return y.reshape(leading + y.shape[1:])\n"
    )


ROWS_AT_ONCE = '''"""softmax over rows in one kernel.

One program of 4 warps per 16 rows, the whole row on chip.
"""
ROWS = 16
NUM_WARPS = 4

def softmax_kernel(x_ptr, M, N, ROWS: tl.constexpr, BLOCK_N: tl.constexpr):
    tl.store(x_ptr, ROWS)

def softmax(x: torch.Tensor) -> torch.Tensor:
    N = x.shape[-1]
    M = x.numel() // N
    assert N <= 65536, "a row must fit in the registers of one program"
    softmax_kernel[(triton.cdiv(M, ROWS),)](
        x, M, N,
        ROWS=ROWS, BLOCK_N=triton.next_power_of_2(N), num_warps=NUM_WARPS,
    )
    return x

class ModelNew(nn.Module):
    def forward(self, x):
        return softmax(x)
'''


def test_rows_at_once_depend_on_their_length() -> None:
    operator = parse_definition("def softmax(x): return x.softmax(-1)", "softmax").operator
    text = triton_text(operator, [KernelVariant(FLOATS, ROWS_AT_ONCE)])
    assert "BLOCK = 2048\nNUM_WARPS = 4\n" in text
    assert "    M, N = x.shape\n" in text
    assert (
        "    BLOCK_N = triton.next_power_of_2(max(N, 1))\n"
        "    rows = max(1, BLOCK // BLOCK_N)  # short rows together, long ones alone\n"
        "    warps = min(16, max(NUM_WARPS, BLOCK_N // 512))\n"
        "    softmax_kernel[(triton.cdiv(M, rows),)](\n"
        "        x, M, N,\n"
        "        ROWS=rows, BLOCK_N=BLOCK_N, num_warps=warps,\n"
    ) in text
    assert "One program of NUM_WARPS warps or more per BLOCK elements" in text


def test_variants_are_chosen_by_dtype() -> None:
    variants = [KernelVariant(("float16", "bfloat16"), WRITTEN), KernelVariant(("float32",), WRITTEN)]
    text = triton_text(BIAS_ADD, variants)
    assert text.endswith(
        "    if x.dtype in (torch.float16, torch.bfloat16):\n"
        "        return launch_bias_add(x, bias)\n"
        "    return launch_bias_add_float32(x, bias)\n"
    )
    assert "BLOCK_FLOAT32 = 1024" in text
    assert "BLOCK=BLOCK_FLOAT32, num_warps=NUM_WARPS_FLOAT32" in text


def test_a_kernel_with_memory_is_no_operator() -> None:
    written = "class ModelNew:\n    def __init__(self): self.x = 0\n    def forward(self, x, bias): return x\n"
    with pytest.raises(ProjectError, match="keeps something between calls"):
        triton_text(BIAS_ADD, [KernelVariant(BIAS_ADD.dtypes, written)])


def test_only_names_of_the_module_are_renamed() -> None:
    text = "def f(): return 1\ndef g(f): return f\ndef h(): return f() + 'é'.f\n"
    assert rename(text, {"f": "ff"}) == "def ff(): return 1\ndef g(f): return f\ndef h(): return ff() + 'é'.f\n"


def test_a_whole_number_has_one_value_in_tests_and_by_default() -> None:
    operator = parse_definition("VALUES = {'k': 2}\ndef times(x, k: int = 3): return x * k", "times").operator
    written = "class ModelNew:\n    def forward(self, x, k):\n        return x\n"
    with pytest.raises(ProjectError, match="k is 2 in tests and 3 by default"):
        triton_text(operator, [KernelVariant(FLOATS, written)])
