"""missing-mask: the many ways in which a tile runs over an end, or does not."""

from __future__ import annotations

import pytest

from tilesmith.lint import read_kernel
from tilesmith.lint.rules.memory.missing_mask import missing_mask

HEAD = "import math\nimport torch\nimport triton\nimport triton.language as tl\n"
FLAT = """
@triton.jit
def copy(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o))
"""
UP = "def up(a, b):\n    return (a + b - 1) // b\n"
ROWS = """
@triton.jit
def copy(x, y, n, stride, B: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, B)
    tl.store(y + row * stride + o, tl.load(x + row * stride + o))
"""


def looped(head: str, end: str = "") -> str:
    return f"""
@triton.jit
def total(x, y, n, B: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    start = 0
    {head}
        acc += tl.load(x + row * n + start + lanes)
        {end}
    tl.store(y + row, tl.sum(acc, axis=0))
def f(x):
    y = torch.empty(x.shape[0])
    total[(x.shape[0],)](x, y, x.shape[1], B=128)
"""


def launched(kernel: str, *lines: str) -> str:
    host = ["def f(x):", "    y = torch.empty_like(x)", "    n = x.numel()", *(f"    {line}" for line in lines)]
    return kernel + "\n".join(host) + "\n"


RAGGED = {
    "cdiv": launched(FLAT, "copy[(triton.cdiv(n, 256),)](x, y, n, B=256)"),
    "cdiv of a meta-parameter": launched(FLAT, 'copy[lambda m: (triton.cdiv(n, m["B"]),)](x, y, n, B=256)'),
    "ceiling by hand": launched(FLAT, "b = 256", "g = ((n + b - 1) // b,)", "copy[g](x, y, n, b)"),
    "ceiling of a literal": launched(FLAT, "copy[((n + 255) // 256,)](x, y, n, 256)"),
    "math.ceil": launched(FLAT, "copy[(math.ceil(n / 256),)](x, y, n, 256)"),
    "one tile more": launched(FLAT, "copy[(n // 256 + 1,)](x, y, n, 256)"),
    "minus minus": launched(FLAT, "copy[(-(-n // 256),)](x, y, n, 256)"),
    "own function": UP + launched(FLAT, "copy[(up(n, 64),)](x, y, n, 64)"),
    "next power of two": launched(ROWS, "copy[(9,)](x, y, n, x.stride(0), B=triton.next_power_of_2(n))"),
    "loop in steps": looped("for start in range(0, n, B):"),
    "loop over tiles": looped("for i in range(tl.cdiv(n, B)):", "start += B"),
    "while": looped("while start < n:", "start += B"),
}
WHOLE = {
    "floor": launched(FLAT, "copy[(n // 256,)](x, y, n, 256)"),
    "assert": launched(FLAT, "assert n % 256 == 0", "copy[(triton.cdiv(n, 256),)](x, y, n, 256)"),
    "raise": launched(FLAT, "if n % 64:", "    raise ValueError", "copy[(triton.cdiv(n, 64),)](x, y, n, 64)"),
    "numbers": launched(FLAT, "size = 4096", "copy[(triton.cdiv(size, 256),)](x, y, size, 256)"),
    "power of two asked for": launched(
        ROWS, "assert n & (n - 1) == 0", "copy[(9,)](x, y, n, x.stride(0), B=triton.next_power_of_2(n))"
    ),
    "rows a tile apart": launched(
        ROWS.replace("row * stride", "row * B"), "copy[(9,)](x, y, n, n, B=triton.next_power_of_2(n))"
    ),
    "padded": launched(
        ROWS,
        "w = triton.next_power_of_2(n)",
        "p = torch.nn.functional.pad(x, (0, w - n))",
        "q = torch.empty_like(p)",
        "copy[(9,)](p, q, n, p.stride(0), B=w)",
    ),
    "whole tiles only": looped("for start in range(0, n // B * B, B):"),
    "last tile apart": looped("for i in range(tl.cdiv(n, B) - 1):", "start += B"),
    "while whole": looped("while start + B <= n:", "start += B"),
    "step of a known size": looped("for start in range(0, 1024, B):"),
}


@pytest.mark.parametrize("name", RAGGED)
def test_a_ragged_edge_needs_a_mask(name: str) -> None:
    assert list(missing_mask(read_kernel(HEAD + RAGGED[name])))


@pytest.mark.parametrize("name", WHOLE)
def test_whole_tiles_need_none(name: str) -> None:
    assert not list(missing_mask(read_kernel(HEAD + WHOLE[name])))
