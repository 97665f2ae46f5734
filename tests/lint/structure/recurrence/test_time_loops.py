"""Loops in kernels that run through time, and loops that only look like it."""

from __future__ import annotations

import pytest

from tilesmith.lint import read_kernel
from tilesmith.lint.structure.recurrence.time_loops import time_loops

HEAD = """
import triton
import triton.language as tl
from triton.language.extra import libdevice

@triton.jit
def cell(x, h, w):
    return libdevice.tanh(x + tl.sum(w * h[None, :], 1))

@triton.jit
def step_in_memory(x_ptr, h_ptr, t, n, i):
    h = tl.load(h_ptr + i)
    tl.store(h_ptr + i, 0.5 * h + tl.load(x_ptr + t * n + i))

@triton.jit
def read_step(x_ptr, t, n, i):
    return tl.load(x_ptr + t * n + i)

@triton.jit
def read_again(ptrs):
    return tl.load(ptrs, volatile=True)

@triton.jit
def kernel(x_ptr, w_ptr, h_ptr, y_ptr, next_ptr, T, n, H: tl.constexpr):
    i = tl.arange(0, H)
    row = tl.program_id(0)
    w = tl.load(w_ptr + i[:, None] * H + i[None, :])
    h = tl.load(h_ptr + i)
    s = 0.0
    m = -1e30
"""

RECURRENT = {
    "relu": (
        "h = tl.maximum(tl.sum(w * h[None, :], 1) + tl.load(x_ptr + t * n + i), 0.0)\n"
        "tl.store(y_ptr + t * n + i, h)"
    ),
    "called cell": "h = cell(tl.load(x_ptr + t * n + i), h, w)\ntl.store(y_ptr + t * n + i, h)",
    "last state only": "h = tl.sigmoid(tl.sum(w * h[None, :], 1) + tl.load(x_ptr + t * n + i))",
    "dot": "z = tl.dot(h[None, :], w)\nh = tl.sum(z, 0) + tl.load(x_ptr + t * n + i)",
    "decay": "h = 0.9 * h + tl.load(x_ptr + t * n + i)\ntl.store(y_ptr + t * n + i, h)",
    "scalar": "s = 0.9 * s + tl.load(x_ptr + row * T + t)\ntl.store(y_ptr + row * T + t, s)",
    "renamed": (
        "old = h\nnew = tl.exp(-old) + tl.load(x_ptr + t * n + i)\nh = new\ntl.store(y_ptr + t * n + i, h)"
    ),
    "in memory": "a = tl.load(y_ptr + i)\ntl.store(y_ptr + i, a * tl.load(x_ptr + t * n + i) + 1)",
    "one slot behind": (
        "a = tl.load(y_ptr + t * n + i)\ntl.store(y_ptr + (t + 1) * n + i, 0.5 * a + tl.load(x_ptr + t * n + i))"
    ),
    "two halves": (
        "src = y_ptr + (t % 2) * n\ndst = y_ptr + ((t + 1) % 2) * n\n"
        "tl.store(dst + i, tl.sum(w * tl.load(src + i)[None, :], 1) + tl.load(x_ptr + t * n + i))"
    ),
    "swapped pointers": (
        "tl.store(next_ptr + i, tl.sigmoid(tl.load(h_ptr + i)) + tl.load(x_ptr + t * n + i))\n"
        "h_ptr, next_ptr = next_ptr, h_ptr"
    ),
    "memory of a function": "step_in_memory(x_ptr, h_ptr, t, n, i)",
    "read back": (
        "tl.store(y_ptr + t * n + i, h)\nh = tl.sigmoid(tl.load(y_ptr + t * n + i)) + tl.load(x_ptr + t * n + i)"
    ),
    "read back from a ring": (
        "slot = y_ptr + t % 4 * n\ntl.store(slot + i, libdevice.tanh(h))\nif t + 1 < T:\n"
        "    h = tl.sum(w * tl.load(slot + i)[None, :], 1) + tl.load(x_ptr + t * n + i)"
    ),
    "read back by a function": (
        "tl.store(y_ptr + t * n + i, tl.maximum(h, 0.0))\n"
        "h = tl.sum(w * read_step(y_ptr, t, n, i)[None, :], 1) + tl.load(x_ptr + t * n + i)"
    ),
    "read back through moved pointers": (
        "ptrs = y_ptr + t * n + i\ntl.store(ptrs, tl.maximum(h, 0.0))\n"
        "h = tl.sum(w * read_again(ptrs)[None, :], 1) + tl.load(x_ptr + t * n + i)"
    ),
    "loaded by a function": "h = 0.9 * h + read_step(x_ptr, t, n, i)\ntl.store(y_ptr + t * n + i, h)",
}
OTHERS = {
    "sum": "h += tl.load(x_ptr + t * n + i)",
    "dot accumulator": (
        "z = tl.dot(tl.load(x_ptr + t * n + i)[:, None], tl.load(w_ptr + t * n + i)[None, :])\nh += tl.sum(z, 0)"
    ),
    "online softmax": (
        "x = tl.load(x_ptr + t * n + i)\nnew = tl.maximum(m, tl.max(x, 0))\n"
        "s = s * tl.exp(m - new) + tl.sum(tl.exp(x - new), 0)\nm = new"
    ),
    "polynomial": "h = h * s + tl.load(x_ptr + t)",
    "running mean": "x = tl.load(x_ptr + t * n + i)\ns += 1\nh += (x - h) / s",
    "in place": "p = x_ptr + t * n + i\ntl.store(p, 2 * tl.load(p))",
    "rotation": (
        "a = tl.load(x_ptr + t * n + i)\nb = tl.load(x_ptr + t * n + H + i)\n"
        "tl.store(x_ptr + t * n + i, a * w_ptr - b)\ntl.store(x_ptr + t * n + H + i, a + b)"
    ),
    "sum in memory": "tl.store(y_ptr + i, tl.load(y_ptr + i) + tl.load(x_ptr + t * n + i))",
    "sum read back": (
        "tl.store(y_ptr + t * n + i, h + tl.load(x_ptr + t * n + i))\nh = tl.load(y_ptr + t * n + i)"
    ),
    "copy read back": (
        "tl.store(y_ptr + t * n + i, h)\nh = tl.load(y_ptr + t * n + i)\ns += tl.load(x_ptr + t * n + i)"
    ),
    "read back and used up": (
        "p = y_ptr + t * n + i\na = tl.load(x_ptr + t * n + i)\ntl.store(p, tl.exp(a))\n"
        "a = tl.load(p)\ntl.store(x_ptr + t * n + i, a / tl.sum(a, 0))"
    ),
    "next row in place": (
        "step = row + t\ntl.store(x_ptr + step * n + i, 2 * h)\nh = tl.load(x_ptr + (step + 1) * n + i)"
    ),
    "index taken apart": "row = row // tl.load(x_ptr + t)\ntl.store(y_ptr + t, row)",
    "rounds": "h = tl.sigmoid(tl.sum(w * h[None, :], 1))",
    "set anew": "h = tl.load(x_ptr + t * n + i)\nh = h * 2.0\nh = tl.exp(h)\ntl.store(y_ptr + t * n + i, h)",
    "maximum": "h = tl.maximum(h, tl.load(x_ptr + t * n + i))\ntl.store(y_ptr + t * n + i, h)",
}


def recurs(body: str, head: str = "for t in range(T):") -> bool:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    source = read_kernel(f"{HEAD}    {head}\n{lines}\n    tl.store(y_ptr + i, h)\n")
    return bool(time_loops(source.jit_named("kernel")[0], source))


@pytest.mark.parametrize("body", RECURRENT.values(), ids=RECURRENT)
def test_a_loop_through_time(body: str) -> None:
    assert recurs(body)


@pytest.mark.parametrize(
    "head", ["for t in tl.range(T):", "for t in tl.static_range(8):", "for t in range(T, 0, -1):"]
)
def test_however_it_counts(head: str) -> None:
    assert recurs(RECURRENT["decay"], head)


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS)
def test_a_loop_that_only_adds_up(body: str) -> None:
    assert not recurs(body)
