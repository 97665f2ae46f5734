"""What the workshop writes runs in Triton's own interpreter, not in the judge's alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tilesmith.operators.definition import parse_definition
from tilesmith.operators.judged_task import accuracy_calls, accuracy_kernel, single_kernel
from tilesmith.operators.kernels.kernel_file import KernelVariant, triton_text
from tilesmith.operators.writing import accuracy_text, baseline_text

DEFINITION = """import torch
SHAPES = {"x": ["N"]}
ACCURACY = [{"N": 1}, {"N": 700}]
def squash(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x) + torch.round(3 * x) + torch.pow(1.7, x)
"""
WRITTEN = '''"""A file with functions that only libdevice has."""

import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def squash_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < N
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    y = libdevice.tanh(x) + libdevice.rint(3 * x) + libdevice.pow(1.7, x)
    tl.store(y_ptr + offs, y.to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        squash_kernel[(triton.cdiv(x.numel(), 256),)](x.contiguous(), y, x.numel(), BLOCK=256)
        return y
'''


def test_libdevice_is_computed_by_pytorch(tmp_path: Path) -> None:
    definition = parse_definition(DEFINITION, "squash")
    operator = definition.operator
    triton = triton_text(operator, [KernelVariant(operator.dtypes, WRITTEN)])
    texts = {"triton": triton, "baseline": baseline_text(definition), "accuracy": accuracy_text(operator)}
    for kind, text in texts.items():
        (tmp_path / operator.file_name(kind)).write_text(text)
    file = tmp_path / "squash_accuracy.py"
    environment = os.environ | {"TRITON_INTERPRET": "0"}  # the file asks for the interpreter by itself
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, env=environment)
    assert "18 passed" in done.stdout, done.stdout


def test_the_judge_sees_what_a_gpu_runs() -> None:
    operator = parse_definition(DEFINITION, "squash").operator
    text = triton_text(operator, [KernelVariant(operator.dtypes, WRITTEN)])
    assert "class InterpretedLibdevice:" in text
    for judged in (accuracy_kernel(operator, text, accuracy_calls(operator)), single_kernel(operator, text)):
        assert "InterpretedLibdevice" not in judged
        assert "from triton.language.extra import libdevice" in judged


def test_a_file_without_libdevice_has_nothing_of_it() -> None:
    operator = parse_definition(DEFINITION, "squash").operator
    plain = WRITTEN.replace("from triton.language.extra import libdevice\n", "").replace("libdevice.", "tl.")
    text = triton_text(operator, [KernelVariant(operator.dtypes, plain)])
    assert "libdevice" not in text.partition("DTYPES")[2]
