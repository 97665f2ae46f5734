"""Products added up without `tl.dot`: which of them a tensor core should have taken."""

from __future__ import annotations

import pytest

from tilesmith.lint import lint, read_kernel

HEAD = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, w_ptr, y_ptr, M, N, K, L, P: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    pid = tl.program_id(0)
    col = tl.program_id(1) * B + tl.arange(0, B)
"""
TAIL = """

def run(x, w):
    y = torch.empty(x.shape[0], w.shape[1], device=x.device)
    kernel[(x.shape[0], triton.cdiv(w.shape[1], 64))](x, w, y, *x.shape, *w.shape, P=5, B=64, C=16)
    return y
"""
SUM = "    acc = tl.zeros((B,), tl.float32)\n"
STORE = "    tl.store(y_ptr + pid * N + col, acc, mask=col < N)\n"
ONE = {
    "plain": SUM
    + "    for k in range(K):\n"
    + "        acc += tl.load(x_ptr + pid * K + k) * tl.load(w_ptr + k * N + col, mask=col < N)\n"
    + STORE,
    "fma": SUM
    + "    for k in range(K):\n"
    + "        a = tl.load(x_ptr + pid * K + k)\n"
    + "        acc = tl.fma(tl.load(w_ptr + k * N + col, mask=col < N), a, acc)\n"
    + STORE,
    "cast": SUM
    + "    for k in range(0, K):\n"
    + "        a = tl.load(x_ptr + pid * K + k, mask=k < K, other=0.0).to(tl.float32)\n"
    + "        w = tl.load(w_ptr + k * N + col, mask=col < N, other=0.0).to(tl.float32)\n"
    + "        p = a * w\n        acc = acc + p\n"
    + STORE,
    "moved pointers": SUM
    + "    x_at = x_ptr + pid * K\n    w_at = w_ptr + col\n"
    + "    for _ in range(K):\n        acc += tl.load(x_at) * tl.load(w_at, mask=col < N)\n"
    + "        x_at += 1\n        w_at += N\n"
    + STORE,
    "flat program number": "    row = pid // L\n    c = (pid % L) * B + tl.arange(0, B)\n"
    + SUM
    + "    for k in range(K):\n"
    + "        acc += tl.load(x_ptr + row * K + k) * tl.load(w_ptr + k * N + c, mask=c < N)\n"
    + "    tl.store(y_ptr + row * N + c, acc, mask=c < N)\n",
    "rows in turn": "    for row in range(pid, M, tl.num_programs(0)):\n"
    + "        acc = tl.zeros((B,), tl.float32)\n"
    + "        for k in range(K):\n"
    + "            acc += tl.load(x_ptr + row * K + k) * tl.load(w_ptr + k * N + col, mask=col < N)\n"
    + "        tl.store(y_ptr + row * N + col, acc, mask=col < N)\n",
}
NOT_ONE = {
    "one vector": SUM
    + "    for k in range(K):\n        acc += tl.load(x_ptr + k) * tl.load(w_ptr + k * N + col, mask=col < N)\n"
    + STORE,
    "each its own matrix": SUM
    + "    for k in range(K):\n"
    + "        acc += tl.load(x_ptr + pid * K + k) * tl.load(w_ptr + (pid * K + k) * N + col, mask=col < N)\n"
    + STORE,
    "few turns": SUM
    + "    for k in range(4):\n"
    + "        acc += tl.load(x_ptr + pid * K + k) * tl.load(w_ptr + k * N + col, mask=col < N)\n"
    + STORE,
    "recurrence": SUM
    + "    for k in range(K):\n"
    + "        acc = 0.5 * acc + tl.load(x_ptr + pid * K + k) * tl.load(w_ptr + k * N + col, mask=col < N)\n"
    + "        tl.store(y_ptr + k * N + col, acc, mask=col < N)\n",
}
CONVOLUTIONS = {
    "one output per program": "    o = tl.program_id(1)\n    acc = 0.0\n    for c in range(K):\n"
    + "        for t in range(P):\n            i = pid + t - 2\n"
    + "            x = tl.load(x_ptr + c * L + i, mask=(i >= 0) & (i < L), other=0.0)\n"
    + "            acc += x * tl.load(w_ptr + (o * K + c) * P + t)\n"
    + "    tl.store(y_ptr + o * L + pid, acc)\n",
    "flattened": "    o = pid\n"
    + SUM
    + "    for k in range(K * P):\n        c = k // P\n        t = k % P\n        i = col + t\n"
    + "        x = tl.load(x_ptr + c * L + i, mask=i < L, other=0.0)\n"
    + "        acc += x * tl.load(w_ptr + o * K * P + k)\n"
    + "    tl.store(y_ptr + o * N + col, acc, mask=col < N)\n",
    "channels as lanes": "    o = tl.program_id(1)\n    acc = 0.0\n    c = tl.arange(0, C)\n"
    + "    for t in range(P):\n        i = pid + t - 2\n"
    + "        x = tl.load(x_ptr + c * L + i, mask=(c < K) & (i >= 0) & (i < L), other=0.0)\n"
    + "        w = tl.load(w_ptr + (o * K + c) * P + t, mask=c < K, other=0.0)\n"
    + "        acc += tl.sum(x * w)\n    tl.store(y_ptr + o * L + pid, acc)\n",
}
PLAN = {"scalar-vector-loop", "no-tensor-core", "direct-convolution"}


def found(body: str) -> set[str]:
    findings = lint(read_kernel(HEAD + body + TAIL)).findings
    return {finding.id for finding in findings} & PLAN


@pytest.mark.parametrize("body", ONE.values(), ids=ONE)
def test_a_scalar_times_a_vector_in_each_turn(body: str) -> None:
    assert found(body) == {"scalar-vector-loop"}


@pytest.mark.parametrize("body", NOT_ONE.values(), ids=NOT_ONE)
def test_nothing_a_dot_could_do(body: str) -> None:
    assert found(body) == set()


@pytest.mark.parametrize("body", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_a_convolution_one_product_at_a_time(body: str) -> None:
    assert found(body) == {"direct-convolution"}
