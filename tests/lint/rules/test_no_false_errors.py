"""Sources that work, each with a construct that once drew an `error`; corpus_outcomes.py compiled every one."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tilesmith.lint import lint, read_kernel
from tilesmith.records import Severity

HEAD = """\
import torch
import torch.nn as nn
import triton
import triton.language as tl
"""
KERNELS = """

@triton.jit
def good(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, x * 2, mask=offs < n)


@triton.jit
def bad(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr, tl.load(x_ptr) ** 2)


def run(x):
    out = torch.empty_like(x)
    good[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out


def broken(x):
    out = torch.empty_like(x)
    bad[(1,)](x, out, x.numel(), BLOCK=1024)
    return out

"""
INPUTS = """

def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
"""
PARAMS = "x_ptr, out_ptr, n, BLOCK: tl.constexpr"
LAUNCH = "kernel[(4,)](x, out, n, BLOCK=1024)"


def in_kernel(body: str, before: str = "", params: str = PARAMS, launch: str = LAUNCH, decorator: str = "") -> str:
    """A kernel that loads x, does this to make y, and stores y."""
    first = """\
        pid = tl.program_id(0)
        offs = pid * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
        y = x
    """
    inside = dedent(first) + dedent(body).strip("\n") + "\ntl.store(out_ptr + offs, y, mask=offs < n)\n"
    kernel = f"\n\n{decorator}@triton.jit\ndef kernel({params}):\n{indent(inside, '    ')}"
    forward = f"x = x.cuda()\nout = torch.empty_like(x)\nn = x.numel()\n{dedent(launch)}\nreturn out\n"
    return HEAD + dedent(before) + kernel + model(forward) + INPUTS


def on_host(forward: str, before: str = "", members: str = "", after: str = "") -> str:
    """A model beside `run`, which works, and `broken`, which nothing calls unguarded."""
    return (
        HEAD
        + KERNELS
        + dedent(before)
        + model("x = x.cuda()\n" + dedent(forward), members)
        + dedent(after)
        + INPUTS
    )


def model(forward: str, members: str = "") -> str:
    extra = indent(dedent(members).strip("\n"), "    ") + "\n\n" if members else ""
    body = indent(forward.strip("\n"), "        ")
    return f"\n\nclass ModelNew(nn.Module):\n{extra}    def forward(self, x):\n{body}\n"


ONE = {
    "params": "x_ptr, out_ptr, n, K, BLOCK: tl.constexpr",
    "launch": "kernel[(4,)](x, out, n, x.dim() - 1, BLOCK=1024)",
}
ACTS = """
@triton.jit
def act(a):
    return tl.load(a) ** 2
@triton.jit
def dbl(a):
    return a * 2
"""
WORKING = {
    "half divided is float": in_kernel("h = x.to(tl.float16)\ny = tl.exp(h / 2.0)"),
    "half divided by half is float": in_kernel("h = x.to(tl.bfloat16)\ny = tl.exp(h / h)"),
    "short dot of divided halves": in_kernel(
        """
        m, k = tl.arange(0, 16), tl.arange(0, 8)
        a = tl.load(x_ptr + m[:, None] * 64 + k[None, :]).to(tl.float16) / 3.0
        b = tl.load(x_ptr + k[:, None] * 64 + m[None, :])
        y = x + tl.sum(tl.sum(tl.dot(a, b), 1), 0)
        """
    ),
    "message of static_assert": in_kernel('tl.static_assert(BLOCK > 0, f"bad {n}")'),
    "name in a message of static_assert": in_kernel("tl.static_assert(BLOCK > 0, undefined_thing)"),
    "negative fraction": in_kernel(
        "acc = pid * -0.5\nfor i in range(4):\n    acc = tl.sum(x, 0).to(tl.float32)\ny = x + acc"
    ),
    "constexpr fraction": in_kernel(
        "acc = pid * S\nfor i in range(4):\n    acc = tl.sum(x, 0).to(tl.float32)\ny = x + acc",
        params="x_ptr, out_ptr, n, S: tl.constexpr, BLOCK: tl.constexpr",
        launch="kernel[(4,)](x, out, n, 0.5, BLOCK=1024)",
    ),
    "where with a fraction": in_kernel(
        "acc = tl.where(pid > 0, pid, 0.5)\nfor i in range(4):\n    acc = tl.sum(x, 0).to(tl.float32)\ny = x + acc"
    ),
    "comparison of constexprs": in_kernel("if FLAG:\n    y = x * 2", "A = tl.constexpr(2)\nFLAG = A > 1\n"),
    "max of constexprs": in_kernel("y = x * M", "A = tl.constexpr(2)\nM = max(A, tl.constexpr(1))\n"),
    "sum of constexprs": in_kernel("y = x * M", "A = tl.constexpr(2)\nM = sum([A, A])\n"),
    "constexpr through globals()": in_kernel("y = x * M", 'M = 2\nglobals()["M"] = tl.constexpr(2)\n'),
    "own dtype": in_kernel(
        "y = x.to(DT)",
        params="x_ptr, out_ptr, n, DT: tl.constexpr, BLOCK: tl.constexpr",
        launch="self.dtype = tl.float32\nkernel[(4,)](x, out, n, DT=self.dtype, BLOCK=1024)",
    ),
    "keyword-only size": in_kernel(
        "",
        "BLOCK = 1000\ndef go(x, out, n, *, BLOCK=1024):\n    kernel[(4,)](x, out, n, BLOCK=BLOCK)\n",
        launch="go(x, out, n)",
    ),
    "size of an enclosing function": in_kernel(
        "",
        "BLOCK = 1000\n",
        launch="BLOCK = 1024\ndef go():\n    kernel[(4,)](x, out, n, BLOCK=BLOCK)\ngo()",
    ),
    "default that configs replace": in_kernel(
        "",
        params="x_ptr, out_ptr, n, BLOCK: tl.constexpr = 1000",
        launch="kernel[(4,)](x, out, n)",
        decorator='@triton.autotune(configs=[triton.Config({"BLOCK": 1024})], key=["n"])\n',
    ),
    "static_range over an argument of 1": in_kernel("for i in tl.static_range(K):\n    y = y + i", **ONE),
    "float of an argument of 1": in_kernel("y = x / float(K)", **ONE),
    "parameter named like a helper": in_kernel(
        "y = act(x)",
        ACTS,
        params="x_ptr, out_ptr, n, act: tl.constexpr, BLOCK: tl.constexpr",
        launch="kernel[(4,)](x, out, n, dbl, BLOCK=1024)",
    ),
    "helper bound anew": in_kernel("y = act(x)", ACTS + "act = dbl\n"),
    "launcher's parameter named like a kernel": on_host(
        "return start(good, x)",
        """
        def start(bad, x):
            out = torch.empty_like(x)
            bad[(4,)](x, out, x.numel(), BLOCK=1024)
            return out
        """,
    ),
    "loop variable named like a kernel": on_host(
        """
        out = torch.empty_like(x)
        for bad in TABLE.values():
            bad[(4,)](x, out, x.numel(), BLOCK=1024)
        return out
        """,
        'TABLE = {"bad": good}\n',
    ),
    "message of assert": on_host('assert x.dim() == 2, f"bad {shape_of_x}"\nreturn run(x)'),
    "call in a message of assert": on_host("assert x.dim() == 2, broken(x)\nreturn run(x)"),
    "comparison that stops": on_host("if 2 < 1 < undefined_name:\n    pass\nreturn run(x)"),
    "__call__": on_host("return broken(x)", members="def __call__(self, x):\n    return run(x.cuda())"),
    "forward stored": on_host(
        "return broken(x)",
        members="""
        def __init__(self):
            super().__init__()
            self.forward = self.fast

        def fast(self, x):
            return run(x.cuda())
        """,
    ),
    "forward patched": on_host("return broken(x)", after="\nModelNew.forward = lambda self, x: run(x.cuda())\n"),
    "model bound anew": on_host(
        "return broken(x)",
        after="""
        class Better(nn.Module):
            def forward(self, x):
                return run(x.cuda())

        ModelNew = Better
        """,
    ),
    "method stored": on_host(
        "return self.fast(x)",
        members="""
        def __init__(self):
            super().__init__()
            self.fast = run

        def fast(self, x):
            return broken(x)
        """,
    ),
    "default from the class": on_host(
        "return self.go(x)", members="BLOCK = 1024\n\ndef go(self, x, block=BLOCK):\n    return run(x)"
    ),
    "device is not its type": on_host('if x.device == "cuda":\n    return broken(x)\nreturn run(x)'),
    "method named like a function": on_host(
        "return helper(x)",
        """
        from torch.nn.functional import relu as helper
        class Old(nn.Module):
            def helper(self, x):
                return broken(x)
        """,
    ),
    "parameter named like a function": on_host(
        "return self.go(run, x)",
        "def outer():\n    def fn(x):\n        return broken(x)\n    return fn\n",
        members="def go(self, fn, x):\n    return fn(x)",
    ),
    "method of another class": on_host(
        "return self.layer(x)",
        """
        class Layer(nn.Module):
            def helper(self, x):
                return run(x)
            def forward(self, x):
                return self.helper(x)
        """,
        members="""
        def __init__(self):
            super().__init__()
            self.layer = Layer()

        def helper(self, x):
            return broken(x)
        """,
    ),
    "generator nobody asks": on_host("g = gen(x)\nreturn run(x)", "def gen(x):\n    yield broken(x)\n"),
    "rest of a mapping": on_host(
        'match {"a": 1, "b": 2}:\n    case {"a": q, **rest}:\n        pass\nprint(q, rest)\nreturn run(x)'
    ),
    "names through builtins": on_host("return run(x) * MAGIC", "import builtins\nbuiltins.MAGIC = 3\n"),
    "names through sys.modules": on_host("return run(x) * MAGIC", "import sys\nsys.modules[__name__].MAGIC = 3\n"),
}
CAUGHT = {
    "suppressed": on_host("import contextlib\nwith contextlib.suppress(Exception):\n    broken(x)\nreturn run(x)"),
    "except*": on_host("try:\n    broken(x)\nexcept* Exception:\n    pass\nreturn run(x)"),
    "decorator that falls back": on_host(
        "return fast(x)",
        """
        def fallback(fn):
            def inner(x):
                try:
                    return fn(x)
                except Exception:
                    return run(x)
            return inner

        @fallback
        def fast(x):
            return broken(x)
        """,
    ),
}
"""These work on a GPU, where the launch raises and is caught; corpus_outcomes.py compiles what it recorded."""


@pytest.mark.parametrize("name", [*WORKING, *CAUGHT])
def test_what_works_gets_no_error(name: str) -> None:
    findings = lint(read_kernel((WORKING | CAUGHT)[name])).findings
    assert [finding for finding in findings if finding.severity is Severity.ERROR] == []


def test_the_broken_kernel_is_an_error_where_it_runs() -> None:
    """Else the sources above would prove nothing."""
    findings = lint(read_kernel(on_host("return broken(x)"))).findings
    assert any(finding.severity is Severity.ERROR for finding in findings)
