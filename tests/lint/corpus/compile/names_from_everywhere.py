# kernel_type: elementwise
# complexity: low
# outcome: works
# near: undefined-name, global-in-kernel, unknown-language-function, launch-arguments
"""Names bound by try/except, global statements, loops, comprehensions, classes, defaults and type checking."""
from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn as nn
import triton
import triton.language as tl

try:
    from triton.language.extra.libdevice import tanh
except ImportError:
    from triton.language.math import tanh

if TYPE_CHECKING:
    from collections.abc import Sequence

for _name, _value in (("WARPS", 4), ("STAGES", 2)):
    if _name == "WARPS":
        WARPS = _value

CALLS = 0


def count() -> None:
    global CALLS, LAST
    CALLS += 1
    LAST = CALLS


@triton.jit
def gate_kernel(x_ptr, y_ptr, n, FLAG: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    if FLAG:
        gate = tanh(x)
    else:
        gate = tl.sigmoid(x)
    for part in tl.static_range(2):
        share = gate * 0.5 + part
    tl.store(y_ptr + offs, x * share, mask=offs < n)


class Settings:
    block = 256
    sizes = [block for block in (64, 128)]

    def warps(self) -> Sequence[int]:
        return [WARPS]


class ModelNew(nn.Module):
    def forward(self, x: "Tensor") -> "Tensor":
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        count()
        steps = [LAST + step for step in range(CALLS)]
        assert steps and __name__
        if (blocks := triton.cdiv(n, Settings.block)) > 0:
            gate_kernel[(blocks,)](x, y, n, FLAG=True, BLOCK=Settings.block, num_warps=Settings().warps()[0])
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(1000)]
