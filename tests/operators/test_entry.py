"""Whatever a generated entry cannot take ends in one line that names the operator and says what it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilesmith.operators.definition import parse_definition
from tilesmith.operators.kernels.kernel_file import KernelVariant, triton_text

DEFINITION = """import torch
SHAPES = {"x": ["...", "N"], "bias": ["N"]}
def shifted(x: torch.Tensor, bias: torch.Tensor, scale: float = 2.0, count: int = 3) -> torch.Tensor:
    return x * scale + bias
"""
WRITTEN = '''"""A row for each program."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def shifted_kernel(x_ptr, bias_ptr, y_ptr, N, scale, BLOCK_N: tl.constexpr):
    cols = tl.arange(0, BLOCK_N)
    places = tl.program_id(0) * N + cols
    x = tl.load(x_ptr + places, mask=cols < N)
    y = x * scale + tl.load(bias_ptr + cols, mask=cols < N)
    tl.store(y_ptr + places, y.to(y_ptr.dtype.element_ty), mask=cols < N)


def shifted(x, bias, scale):
    M, N = x.shape
    assert N <= 65536, "a row must fit in the registers of one program"
    y = torch.empty_like(x)
    shifted_kernel[(M,)](x.contiguous(), bias.contiguous(), y, N, scale, BLOCK_N=triton.next_power_of_2(max(N, 1)))
    return y


class ModelNew(nn.Module):
    def forward(self, x, bias, scale, count):
        return shifted(x, bias, scale)
'''
TAKES = "shifted takes x [..., N], bias [N]; float32, float16, bfloat16; count 3"
WHERE = "shifted takes tensors on one GPU, or on the CPU with TRITON_INTERPRET=1 set before its import"
LONG = "shifted is written for N <= 65536, not N = 70000: a row must fit in the registers of one program"
GRADIENT = "shifted has no gradient: call it under torch.no_grad(), or export it with --to module"
PROGRAM = """
import torch
from shifted_triton import shifted
x, bias = torch.randn(4, 5), torch.randn(5)
with torch.{mode}():
    print(torch.equal(shifted({call}), x * 2 + bias))
"""
REFUSED = {
    "None, bias": TAKES,
    "x, None": TAKES,
    "[1.0], bias": TAKES,
    "1.0, bias": TAKES,
    "x.numpy(), bias": TAKES,
    "x.double(), bias.double()": TAKES,
    "x, bias.half()": TAKES,
    "x, bias[1:]": TAKES,
    "x[0, 0], bias": TAKES,
    "x, bias, None": TAKES,
    "x, bias, 'two'": TAKES,
    "x, bias, torch.tensor(2.0)": TAKES,
    "x, bias, 2.0, 4": TAKES,
    "x, bias, 2.0, None": TAKES,
    "x, bias.to('meta')": WHERE,
    "torch.ones(1, 70000), torch.ones(70000)": LONG,
    "x, bias.requires_grad_()": GRADIENT,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    operator = parse_definition(DEFINITION, "shifted").operator
    place = tmp_path_factory.mktemp("entry")
    (place / "shifted_triton.py").write_text(triton_text(operator, [KernelVariant(operator.dtypes, WRITTEN)]))
    return place


def run(program: str, folder: Path, interpret: str = "1", *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *options, "-c", program]
    environment = os.environ | {"TRITON_INTERPRET": interpret}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("options", [(), ("-O",)], ids=str)
def test_what_an_entry_refuses_is_one_line(folder: Path, options: tuple[str, ...]) -> None:
    """Also where Python leaves assertions out."""
    tries = "".join(
        f"try:\n    print(shifted({call}).shape)\nexcept ValueError as error:\n    print(error)\n"
        for call in REFUSED
    )
    done = run(PROGRAM.format(mode="enable_grad", call="x, bias") + tries, folder, "1", *options)
    assert done.stdout.splitlines() == ["True", *REFUSED.values()], done.stderr


@pytest.mark.parametrize("call", ["x, bias, 2", "x.requires_grad_(), bias", "x, bias, scale=2.0, count=3"])
def test_what_an_entry_takes(folder: Path, call: str) -> None:
    done = run(PROGRAM.format(mode="no_grad", call=call), folder)
    assert done.stdout == "True\n", done.stderr


def test_a_cpu_without_the_interpreter_is_refused(folder: Path) -> None:
    done = run(PROGRAM.format(mode="no_grad", call="x, bias"), folder, "0")
    assert done.stderr.splitlines()[-1] == f"ValueError: {WHERE}"
