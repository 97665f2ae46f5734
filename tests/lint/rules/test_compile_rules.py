"""Small kernels that every release refuses, beside ones that some take: each line is the heart of a real mistake.

All were tried on Triton 3.9 and looked up in the sources of 3.0 to 3.6.
"""

from __future__ import annotations

import textwrap

import pytest

from tilesmith.lint import lint, read_kernel
from tilesmith.lint.rules import GROUPS
from tilesmith.records import Severity

COMPILE_RULES = set(GROUPS["compile"].split())
HEAD = """\
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl
"""
FORWARD = """
class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        {launch}
        return y
"""
START = "o = tl.arange(0, B)\nv = tl.load(x + o, mask=o < n, other=0.0)\n"
END = "\ntl.store(y + o, v, mask=o < n)"
LAUNCH = "k[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)"
HELPER = "@triton.jit\ndef h(a, b):\n    return a + b\n"


def source(body: str, before: str = "", launch: str = LAUNCH, params: str = "x, y, n, B: tl.constexpr") -> str:
    kernel = f"@triton.jit\ndef k({params}):\n" + textwrap.indent(START + body + END, "    ")
    return f"{HEAD}{before}\n{kernel}\n{FORWARD.format(launch=launch)}"


def found(text: str) -> dict[str, set[Severity]]:
    graded: dict[str, set[Severity]] = {}
    for finding in lint(read_kernel(text)).findings:
        if finding.id in COMPILE_RULES:
            graded.setdefault(finding.id, set()).add(finding.severity)
    return graded


REFUSED = [
    ("tensor-indexing", source("tl.store(y, v[B - 1])")),
    ("tensor-indexing", source("w = v[0:32]")),
    ("tensor-indexing", source("w = v[..., None]")),
    ("tensor-indexing", source("w = v[v > 0]")),
    ("tensor-indexing", source("v[0] += 1.0")),
    ("tensor-indexing", source("z = x[o]")),
    ("tensor-indexing", source("t = (v, v)\nfor i in range(2):\n    v += t[i]")),
    ("arange-runtime-bound", source("M = 64\nq = tl.arange(0, M)")),
    ("arange-runtime-bound", source("W = B\nq = tl.arange(0, W)")),
    ("arange-runtime-bound", source("m = v.shape[0]\nq = tl.arange(0, m)")),
    ("arange-runtime-bound", source("z = tl.constexpr(8)\nq = tl.arange(0, z)")),
    ("arange-runtime-bound", source("M: tl.constexpr = n\nq = tl.arange(0, M)")),
    ("arange-runtime-bound", source("q = tl.arange(0, B / 2)")),
    ("arange-runtime-bound", source("", launch="k[(1,)](x, y, 5, B=x.numel() / 2)")),
    ("arange-not-power-of-two", source("z = tl.reshape(v, (-1, 8))")),
    ("arange-not-power-of-two", source("", launch="k[(1,)](x, y, 5, B=48)")),
    ("grid-axis", source("z = tl.num_programs(3)")),
    ("grid-axis", source("for i in range(2):\n    v += tl.program_id(i)")),
    ("grid-axis", source("", launch="k[1](x, y, 5, B=64)")),
    ("grid-axis", source("", launch="k[(x.numel() / 64,)](x, y, 5, B=64)")),
    ("grid-axis", source("", launch="k[()](x, y, 5, B=64)")),
    ("grid-axis", source("", launch="k[lambda m: triton.cdiv(5, m['B'])](x, y, 5, B=64)")),
    ("grid-axis", source("", launch="grid = (triton.cdiv(5, 64))\n        k[grid](x, y, 5, B=64)")),
    ("break-in-kernel", source("for i in range(4):\n    if i == 2:\n        continue\n    v += 1")),
    ("return-in-loop", source("for i in range(4):\n    if i == 2:\n        return")),
    ("return-in-loop", source("for i in range(4):\n    v += 1\n    return")),
    ("tensor-truth", source("if v > 0:\n    v += 1")),
    ("tensor-truth", source("v = v + 1 if v > 0 else v")),
    ("tensor-truth", source("while v > 0:\n    v -= 1")),
    ("tensor-truth", source("while True:\n    v -= 1")),
    ("tensor-truth", source("v = v / float(n)")),
    ("tensor-truth", source("v = v - max(v)")),
    ("tensor-truth", source("z = len(v)")),
    ("unknown-language-function", source("v = tl.extra.libdevice.gelu(v)")),
    ("unknown-language-function", source("v = v * tl.pi")),
    ("unknown-language-function", source("z = v.mean()")),
    ("unknown-language-function", source("z = x.stride(0)")),
    ("unknown-language-function", source("z = tl.max(v, axis=0, keepdim=True)")),
    ("unknown-language-function", source("z = tl.zeros((B,))")),
    ("unknown-language-function", source("v = tl.exp(v.to(tl.bfloat16))")),
    ("unknown-language-function", source("z = tl.load(o)")),
    ("unknown-language-function", source("z = tl.load(x + o, other=0.0)")),
    ("unknown-language-function", source("v = t(v)", before="from triton.language import tanh as t\n")),
    ("undefined-name", source("v = foo(v)")),
    ("undefined-name", source("v = v * self.scale")),
    ("undefined-name", source("v = v * w\nw = 2.0")),
    ("undefined-name", source("for i in range(3):\n    w = v + i\nv = w")),
    ("undefined-name", source("while n > 3:\n    w = v\n    n -= 1\nv = w")),
    ("undefined-name", source("for i in range(3):\n    if i > 0:\n        v += w\n    w = v")),
    ("undefined-name", source("if tl.load(x) > 0:\n    w = v\nelse:\n    return\nv = w")),
    ("undefined-name", source("", launch="k[(cdiv(5, 64),)](x, y, 5, B=64)")),
    ("constexpr-misuse", source("z = tl.zeros((n,), tl.float32)")),
    ("constexpr-misuse", source("M = 8\nz = tl.reshape(v, (M, 8))")),
    ("constexpr-misuse", source("z = tl.zeros(B, tl.float32)")),
    ("constexpr-misuse", source("z = tl.zeros((B / 2,), tl.float32)")),
    ("constexpr-misuse", source("for i in tl.static_range(n):\n    v += 1")),
    ("constexpr-misuse", source("B: tl.constexpr = 32")),
    ("constexpr-misuse", source("for i in tl.static_range(3):\n    M: tl.constexpr = 32")),
    ("constexpr-misuse", source("z = tl.sum(v, axis=n)")),
    ("constexpr-misuse", source("z = tl.sum(v, axis=1)")),
    ("constexpr-misuse", source("z = v + tl.arange(0, 32)")),
    ("constexpr-misuse", source("z = tl.load(x, mask=o < n)")),
    ("dot-tile-too-small", source("a = v[:, None] * tl.arange(0, 4)[None, :]\nc = tl.dot(a, tl.trans(a) + 0.0)")),
    ("dot-tile-too-small", source("c = tl.dot(v, v)")),
    ("global-in-kernel", source("v = v * G", before="G = 2.0\n")),
    ("global-in-kernel", source("v = v * G", before="from math import pi as G\n")),
    ("global-in-kernel", source("v = v.to(G)", before="G = torch.float16\n")),
    ("global-in-kernel", source("v = v * G", before="import os\nG = int(os.environ.get('G', '3'))\n")),
    ("global-in-kernel", source("v = v * G.a", before="class G:\n    a = 3\n")),
    ("python-in-kernel", source("v = torch.exp(v)")),
    ("python-in-kernel", source("if B == 3:\n    v = F.relu(v)")),
    ("python-in-kernel", source("v = math.sqrt(v)")),
    ("python-in-kernel", source("v = h(v)", before="def h(a):\n    return a\n")),
    ("python-in-kernel", source("v = v ** 2")),
    ("python-in-kernel", source("z = v[:, None] @ v[None, :]")),
    ("python-in-kernel", source("if B in (64, 32):\n    v += 1")),
    ("python-in-kernel", source("v = abs(v)")),
    ("python-in-kernel", source("a = b = 0")),
    ("python-in-kernel", source("if B == 3:\n    a = b = 0")),
    ("python-in-kernel", source("tl.device_print(f'{n}')")),
    ("python-in-kernel", source("for a in (v, v):\n    v += a")),
    ("python-in-kernel", source("for i in range(3):\n    v += 1\nelse:\n    v += 2")),
    ("python-in-kernel", source("for i in range(n / 2):\n    v += 1")),
    ("python-in-kernel", source("t = [v + i for i in range(2)]")),
    ("python-in-kernel", source("z = tl.reduce(v, 0, lambda a, b: a + b)")),
    ("python-in-kernel", source("v = v.to(torch.float32)")),
    ("python-in-kernel", source("v = v.to(tl.float32) // 2.0")),
    ("python-in-kernel", source("acc = 0\nfor i in range(4):\n    acc += v")),
    ("python-in-kernel", source("acc = 0\nfor i in range(4):\n    acc += 1.5")),
    ("launch-arguments", source("", launch="k[(1,)](x, y, 5)")),
    ("launch-arguments", source("", launch="k[(1,)](x, y, 5, B=64, C=3)")),
    ("launch-arguments", source("", launch="k[(1,)](x, y, 5, 64, 3)")),
    ("launch-arguments", source("", launch="k[(1,)](x, y, 5, 64, B=64)")),
    ("launch-arguments", source("", launch="k[(1,)](x, y, 'a', B=64)")),
    ("launch-arguments", source("", launch="k(x, y, 5, B=64)")),
    ("launch-arguments", source("", launch="k[lambda m: (m['BLOCK'],)](x, y, 5, B=64)")),
    ("launch-arguments", source("v = h(v)", before=HELPER)),
    ("launch-arguments", source("v = h(v, v, v)", before=HELPER)),
    (
        "launch-arguments",
        source(
            "v = v.to(T)",
            params="x, y, n, B: tl.constexpr, T: tl.constexpr",
            launch="k[(1,)](x, y, 5, 64, x.dtype)",
        ),
    ),
]
TAKEN = [
    source(""),
    source("H: tl.constexpr = B // 2\nq = tl.arange(0, H)"),
    source("q = tl.arange(0, B // 2)\nw = tl.arange(0, v.shape[0])\nr = tl.arange(0, min(B, 32))"),
    source("q = tl.arange(0, n)", launch="k[(1,)](x, y, 1, B=64)"),
    source("if B == 3:\n    for i in range(2):\n        return"),
    source("for i in tl.static_range(4):\n    if tl.load(x) > 4:\n        return"),
    source("for i in tl.static_range(3):\n    w = v + i\nv = w"),
    source("if tl.load(x) > 0:\n    w = v\nelse:\n    w = v + 1\nv = w"),
    source("if B > 3:\n    w = v\nv = w"),
    source("for i in range(3):\n    v += 1\nv = v + i"),
    source("t = [v, v]\nfor i in tl.static_range(2):\n    v += t[i]"),
    source("q = tl.load(x + tl.arange(0, 1))\nif q > 0:\n    v += 1"),
    source("v = v * math.pi + np.inf * 0.0 + torch.pi"),
    source("v = v * G", before="G = tl.constexpr(2.0)\n"),
    source("v = G(v).to(T)", before="G = tl.exp\nT = tl.float32\n"),
    source("v = v * G", before="import os\nos.environ['TRITON_ALLOW_NON_CONSTEXPR_GLOBALS'] = '1'\nG = 2.0\n"),
    source("v = h(b=v, a=v)", before=HELPER),
    source("tl.static_print(f'{B}')\ntl.static_assert(B == 64, f'{B}')\nassert B > 0"),
    source("z = v.T.trans() if B == 3 else v.sum()"),
    source("v = v * (B ** 2)\nv = v / float(B)\nv = tl.where(o < n, v, float('-inf'))"),
    source("v = tl.extra.libdevice.tanh(v) + tl.math.exp(v)"),
    source("a = tl.load(x + o[:, None] * B + o[None, :])\nc = tl.dot(a, a)"),
    source("", launch="k[(1,)](x, y, 5, B=64, num_warps=4, num_stages=2, waves_per_eu=2)"),
    source("", launch="k[lambda meta: (triton.cdiv(5, meta['B']),)](x, y, 5, B=64)"),
    source("", launch="args = (x, y, 5)\n        k[(1,)](*args, **{'B': 64})"),
    source("") + "\ndef start(k, x):\n    k[(1,)](x)\n",
]


@pytest.mark.parametrize(("rule", "text"), REFUSED, ids=[f"{i} {rule}" for i, (rule, _) in enumerate(REFUSED)])
def test_what_every_release_refuses_is_an_error(rule: str, text: str) -> None:
    assert found(text) == {rule: {Severity.ERROR}}


@pytest.mark.parametrize("text", TAKEN)
def test_what_some_release_takes_is_no_error(text: str) -> None:
    assert not any(Severity.ERROR in severities for severities in found(text).values())


def test_annotations_count_only_where_they_are_evaluated() -> None:
    text = source("") + "\ndef f(a: Optional[int]):\n    b: Tuple = a\n"
    assert found(text) == {"undefined-name": {Severity.WARNING}}
    assert found("from __future__ import annotations\n" + text) == {}


def test_a_helper_knows_what_it_is_given() -> None:
    helper = "@triton.jit\ndef h(a):\n    return a if a > 0 else a * 0.0\n"
    assert found(source("v = h(v)", before=helper)) == {"tensor-truth": {Severity.WARNING}}
    assert found(source("z = h(tl.sum(v, axis=0))", before=helper)) == {}
