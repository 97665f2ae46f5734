"""Which numbers a size can be, as far as literals reach."""

from __future__ import annotations

import ast

import pytest

from tilesmith.lint import read_kernel
from tilesmith.lint.model.sizes.possible_numbers import host_numbers

HEAD = "import triton\nWIDTH = 96\n"
CLASS = """
class ModelNew:
    TILE = 32
    def __init__(self, n):
        self.block = 128
        self.n = n
        self.a, self.b = 1, 2
        self.both = 1
    def forward(self, x):
        self.both += 1
        local = 16 if x else 64
        return {size}
"""
CASES = {
    "7": {7},
    "WIDTH": {96},
    "local * 2": {32, 128},
    "self.block": {128},
    "ModelNew.TILE + 1": {33},
    "min(self.block, WIDTH)": {96},
    "triton.cdiv(WIDTH, self.TILE)": {3},
    "triton.next_power_of_2(WIDTH)": {128},
    "self.n": None,
    "self.a": None,
    "self.both": None,
    "x": None,
    "triton.cdiv(WIDTH, 0)": None,
}


@pytest.mark.parametrize("size", CASES)
def test_numbers_of_host_code(size: str) -> None:
    source = read_kernel(HEAD + CLASS.format(size=size))
    (host,) = [host for host in source.hosts if host.name == "forward"]
    (value,) = [node.value for node in source.syntax.of_type(ast.Return, host.node)]
    assert value is not None
    assert host_numbers(source, host, value) == CASES[size]
