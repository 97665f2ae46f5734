"""Python loops around launches: through time, over items, or neither."""

from __future__ import annotations

import pytest

from tilesmith.lint import read_kernel
from tilesmith.lint.structure.host_loops.launch_loops import LoopPurpose, find_launch_loops

HEAD = """
import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def step_kernel(x_ptr, h_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    h = tl.load(h_ptr + i, mask=i < n, other=0.0)
    tl.store(out_ptr + i, x + 0.5 * h, mask=i < n)

@triton.jit
def inplace_kernel(x_ptr, h_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.load(h_ptr + i, mask=i < n, other=0.0)
    tl.store(h_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0) + 0.5 * h, mask=i < n)

@triton.jit
def map_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)

def step(x, h):
    out = torch.empty_like(h)
    step_kernel[(triton.cdiv(h.numel(), 128),)](x, h, out, h.numel(), BLOCK=128)
    return out

def double(x):
    y = torch.empty_like(x)
    map_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y

class ModelNew(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.depth = depth
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(8)) for _ in range(depth))
        self.rnn = nn.GRU(8, 8, depth)
        self.h = None

    def advance(self, x):
        self.h = step(x, self.h)
        return self.h

    def at(self, x, l):
        return step(x, getattr(self.rnn, f"bias_hh_l{l}"))

"""

STEPS = {
    "select": "for t in range(x.size(1)):\n    h = step(x.select(1, t), h)\nreturn h",
    "iterated": "for frame in x.transpose(0, 1):\n    h = step(frame, h)\nreturn h",
    "unbound function": "for frame in torch.unbind(x, dim=1):\n    h = step(frame, h)\nreturn h",
    "zipped": "for a, b in zip(x.unbind(0), x.unbind(0)):\n    h = step(a + b, h)\nreturn h",
    "list of states": "hs = [h]\nfor t in range(x.shape[0]):\n    hs.append(step(x[t], hs[-1]))\nreturn hs",
    "backwards": "T = x.shape[0]\nfor t in range(T):\n    s = T - 1 - t\n    h = step(x[s], h)\nreturn h",
    "counted down": "for t in range(x.shape[0] - 1, -1, -1):\n    h = step(x[t], h)\nreturn h",
    "constructor's length": "for t in range(self.depth):\n    h = step(x[:, t], h)\nreturn h",
    "swapped": (
        "a, b = h, torch.empty_like(h)\nfor t in range(x.shape[0]):\n"
        "    step_kernel[(1,)](x[t], a, b, 8, BLOCK=8)\n    a, b = b, a\nreturn a"
    ),
    "copied back": (
        "new = torch.empty_like(h)\nfor t in range(x.shape[0]):\n"
        "    step_kernel[(1,)](x[t], h, new, 8, BLOCK=8)\n    h.copy_(new)\nreturn h"
    ),
    "in place": "for t in range(x.shape[0]):\n    inplace_kernel[(1,)](x[t], h, 8, BLOCK=8)\nreturn h",
    "own slots": (
        "out = torch.empty(9, 8)\nfor t in range(1, x.shape[0]):\n"
        "    step_kernel[(1,)](x[t], out[t - 1], out[t], 8, BLOCK=8)\nreturn out"
    ),
    "state of the module": "for t in range(x.shape[0]):\n    y = self.advance(x[t])\nreturn y",
    "while": "t = 0\nwhile t < x.shape[0]:\n    h = step(x[t], h)\n    t += 1\nreturn h",
    "inner of layers": (
        "for l in range(self.depth):\n    w = self.weights[l]\n    for t in range(x.shape[0]):\n"
        "        h = step(x[t] * w, h)\nreturn h"
    ),
    "conditional": "for t in range(x.shape[0]):\n    if t % 2:\n        h = step(x[t], h)\nreturn h",
}
ITEMS = {
    "rows": "return torch.stack([double(x[b]) for b in range(x.shape[0])])",
    "iterated": "out = []\nfor row in x:\n    out.append(double(row))\nx.shape\nreturn out",
    "slots": "y = torch.empty_like(x)\nfor b in range(len(x)):\n    y[b] = double(x[b])\nx.size(0)\nreturn y",
    "summed": "total = 0\nfor b in range(x.shape[0]):\n    total = total + double(x[b])\nreturn total",
    "in place": "for b in range(x.shape[0]):\n    inplace_kernel[(1,)](h, x[b], 8, BLOCK=8)\nreturn x",
    "scratch": (
        "s = torch.empty(8)\nfor b in range(x.shape[0]):\n    map_kernel[(1,)](x[b], s, 8, BLOCK=8)\n"
        "    inplace_kernel[(1,)](h, s, 8, BLOCK=8)\n    map_kernel[(1,)](s, x[b], 8, BLOCK=8)\nreturn x"
    ),
}
OTHER = {
    "layers": "for w in self.weights:\n    x = step(x, w)\nreturn x",
    "numbered layers": "for t in range(self.depth):\n    x = step(x, self.weights[t])\nreturn x",
    "layers by name": (
        "for t in range(self.depth):\n    end = f'_l{t}'\n"
        "    x = step(x, getattr(self.rnn, 'bias_hh' + end))\nreturn x"
    ),
    "layers in a method": "for t in range(self.depth):\n    x = self.at(x, t)\nreturn x",
    "initial states": "for t in range(self.depth):\n    x = step(x, h[t] + self.weights[t])\nreturn x",
    "zipped with states": "for w, s in zip(self.weights, h):\n    x = step(x + w, s)\nreturn x",
    "aliased weights": "ws = list(self.weights)\nfor t in range(len(ws)):\n    x = step(x, ws[t])\nreturn x",
    "rounds": "for t in range(5):\n    x = step(x, x)\nreturn x",
    "chunks": "out = []\nfor part in x.split(64):\n    out.append(double(part))\nreturn out",
    "halvings": "for t in range(x.shape[0].bit_length()):\n    x = step(x, x)\nreturn x",
    "parts": "return [double(x[i]) for i in range(3)]",
}


def purposes(body: str) -> list[LoopPurpose]:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    source = read_kernel(f"{HEAD}    def forward(self, x, h):\n{lines}\n")
    return [loop.purpose for loop in find_launch_loops(source)]


@pytest.mark.parametrize("body", STEPS.values(), ids=STEPS)
def test_a_loop_through_time(body: str) -> None:
    assert purposes(body)[-1] is LoopPurpose.STEPS


@pytest.mark.parametrize("body", ITEMS.values(), ids=ITEMS)
def test_a_loop_over_items(body: str) -> None:
    assert purposes(body) == [LoopPurpose.ITEMS]


@pytest.mark.parametrize("body", OTHER.values(), ids=OTHER)
def test_any_other_loop(body: str) -> None:
    assert purposes(body) == [LoopPurpose.OTHER]
