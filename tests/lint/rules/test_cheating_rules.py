"""Cheats in other clothes, and honest code that looks like one: short sources around the same two kernels."""

from __future__ import annotations

import pytest

from tilesmith.lint import read_kernel
from tilesmith.lint.rules import GROUPS, RULES
from tilesmith.records import Severity

HEAD = """
import functools, inspect, sys
import torch, torch.nn as nn, torch.nn.functional as F
import triton, triton.language as tl
from threading import Thread

@triton.jit
def relu(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.maximum(tl.load(x + o, mask=o < n, other=0.0), 0.0), mask=o < n)

@triton.jit
def copy(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o, mask=o < n), mask=o < n)

def run(x):
    y = torch.empty_like(x)
    relu[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
    return y

def same(x):
    y = torch.empty_like(x)
    copy[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
    return y
"""


def model(*forward: str, init: tuple[str, ...] = (), above: str = "", below: str = "") -> str:
    lines = ["class ModelNew(nn.Module):", "    def __init__(self):", "        super().__init__()"]
    lines += [f"        {line}" for line in init]
    lines += ["    def forward(self, x):", *(f"        {line}" for line in forward)]
    return "\n".join([HEAD, above, *lines, below])


def found(text: str) -> set[str]:
    source = read_kernel(text)
    findings = [finding for rule in GROUPS["cheating"].split() for finding in RULES[rule](source)]
    return {finding.id for finding in findings if finding.severity is not Severity.INFO}


HONEST = {
    "plain": model("return run(x)"),
    "elementwise leftovers": model("return run(x * 2 + 1).sum()"),
    "copy of an input": model("return same(x)"),
    "workspace filled by every call": model(
        "if self.o is None or self.o.shape != x.shape:",
        "    self.o = torch.empty_like(x)",
        "relu[(triton.cdiv(x.numel(), 64),)](x, self.o, x.numel(), B=64)",
        "return self.o",
        init=("self.o = None",),
    ),
    "replayed graph": model(
        "if self.g is None:",
        "    self.static, self.g = x.clone(), torch.cuda.CUDAGraph()",
        "    with torch.cuda.graph(self.g):",
        "        self.out = run(self.static)",
        "self.static.copy_(x)",
        "self.g.replay()",
        "return self.out",
        init=("self.g = None",),
    ),
    "cleaned up": model("try:", "    return run(x)", "finally:", "    self.busy = False"),
    "the current stream": model(
        "s = torch.cuda.current_stream()", "with torch.cuda.stream(s):", "    return run(x)"
    ),
    "checked by assert": model("assert sys.argv", "return run(x)"),
    "product for the CPU": model("if not x.is_cuda:", "    return x @ x", "return run(x)"),
    "output through a loop": model(
        "outs = [torch.empty_like(x) for _ in range(2)]",
        "for i, out in enumerate(outs):",
        "    relu[(1,)](x, out, x.numel(), B=64)",
        "return outs[0] + outs[1]",
    ),
}
CHEATS = {
    "carried from buffer to buffer": (
        model("return same(torch.softmax(x, -1))"),
        {"decoy-kernel", "torch-does-the-work"},
    ),
    "result dropped": (model("run(x)", "return torch.relu(x)"), {"decoy-kernel"}),
    "result deleted": (model("t = run(x)", "del t", "return torch.relu(x)"), {"decoy-kernel"}),
    "result times zero": (model("return F.layer_norm(x, (4,)) + 0 * run(x)"), {"torch-does-the-work"}),
    "a whole network": (
        model("return run(self.net(x))", init=("self.net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())",)),
        {"torch-does-the-work"},
    ),
    "layers from a list": (
        model(
            "for layer in self.layers:",
            "    x = layer(x)",
            "return run(x)",
            init=("parts = []", "parts.append(nn.Linear(4, 4))", "self.layers = nn.ModuleList(parts)"),
        ),
        {"torch-does-the-work"},
    ),
    "cache with a walrus": (
        model(
            "if (y := self.c.get(x.shape)) is not None:",
            "    return y",
            "y = self.c[x.shape] = run(x)",
            "return y",
            init=("self.c = {}",),
        ),
        {"cached-output"},
    ),
    "cache updated": (
        model(
            "if x.data_ptr() in self.c:",
            "    return self.c[x.data_ptr()].clone()",
            "y = run(x)",
            "self.c.update({x.data_ptr(): y})",
            "return y",
            init=("self.c = {}",),
        ),
        {"cached-output"},
    ),
    "cache in a buffer": (
        model(
            "if self.y is not None:",
            "    return self.y",
            "y = run(x)",
            "self.register_buffer('y', y)",
            "return y",
            init=("self.y = None",),
        ),
        {"cached-output"},
    ),
    "cache on the function": (
        model(
            "return once(x)",
            above="def once(x):\n    if not hasattr(once, 'y'):\n        once.y = run(x)\n    return once.y\n",
        ),
        {"cached-output"},
    ),
    "cache on a method": (
        model("return self.go(x)", below="    @functools.cache\n    def go(self, x):\n        return run(x)\n"),
        {"cached-output"},
    ),
    "caught around a local function": (
        model("def go():", "    return run(x)", "try:", "    return go()", "except:", "    return torch.relu(x)"),
        {"try-except-fallback"},
    ),
    "switch under another name": (
        model("return run(x)", above="products = torch.backends.cuda.matmul\nproducts.allow_tf32 = True\n"),
        {"flags-flipped"},
    ),
    "thread": (model("Thread(target=run, args=(x,)).start()", "return run(x)"), {"side-stream"}),
    "patched class": (
        model("return run(x)", init=("nn.Module.__call__ = lambda s, *a: s.forward(*a)",)),
        {"patched-runtime"},
    ),
    "reference from the main module": (
        model("return run(self.m(x))", init=("self.m = Model()",), above="from __main__ import Model\n"),
        {"reference-imported"},
    ),
    "reference among the modules": (
        model("return run(sys.modules['__main__'].Model()(x))"),
        {"reference-imported"},
    ),
    "the caller's variables": (
        model("names = inspect.currentframe().f_back.f_locals", "return names.get('expected', run(x))"),
        {"environment-sniffing"},
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_code_is_left_alone(name: str) -> None:
    assert found(HONEST[name]) == set()


@pytest.mark.parametrize("name", CHEATS)
def test_cheats_are_found_in_any_dress(name: str) -> None:
    text, rules = CHEATS[name]
    assert found(text) == rules
