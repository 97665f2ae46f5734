"""Candidates in different styles, by the type the classifier must give them."""

from __future__ import annotations

HEAD = """
import torch, torch.nn as nn, torch.nn.functional as F
import triton
import triton.language as tl
"""


def candidate(device: str, forward: str = "k[(1,)](x, y, 4)\n        return y", init: str = "pass") -> str:
    """A whole file around some device code and the body of `forward`."""
    return f"""{HEAD}
{device}

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, x):
        y = torch.empty_like(x)
        {forward}
"""


ELEMENTWISE = candidate("""
@triton.jit
def k(x, y, n, B: tl.constexpr = 64):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.maximum(tl.load(x + o, mask=o < n), 0.0), mask=o < n)
""")

GRID_STRIDE = """
from triton import jit, language as L
from triton.language import load as ld, store as st
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x):
        self.kernel[(8,)](x, x, x.numel(), B=128)
        return x

    @staticmethod
    @jit
    def kernel(src, dst, count, B: "L.constexpr"):
        step = L.num_programs(0) * B
        for base in range(L.program_id(0) * B, count, step):
            where = base + L.arange(0, B)
            value = ld(src + where, where < count)
            st(dst + where, value * L.sigmoid(value), where < count)
"""

ROW_SUM = candidate("""
@triton.jit
def k(x, y, n, B: tl.constexpr = 64):
    row = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for at in range(0, n, B):
        o = at + tl.arange(0, B)
        total += tl.load(x + row * n + o, mask=o < n, other=0.0)
    tl.store(y + row, tl.sum(total, 0))
""")

L2_NORM = candidate("""
@triton.jit
def k(x, y, n, B: tl.constexpr = 64):
    v = tl.load(x + tl.program_id(0) * n + tl.arange(0, B))
    tl.store(y + tl.program_id(0), tl.sqrt(tl.sum(v * v, axis=0)))
""")

LAYER_NORM = candidate("""
@triton.jit
def k(x, y, n, B: tl.constexpr = 64):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * n + c, mask=c < n, other=0.0)
    m = tl.sum(v, 0) / n
    d = tl.where(c < n, v - m, 0.0)
    s = 1 / tl.sqrt(tl.sum(d * d, 0) / n + 1e-5)
    tl.store(y + r * n + c, d * s, mask=c < n)
""")

SOFTMAX = candidate("""
@triton.jit
def k(x, y, n, B: tl.constexpr = 64):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * n + c, mask=c < n, other=-float('inf'))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + r * n + c, e / tl.sum(e, axis=0), mask=c < n)
""")

GEMM = candidate(
    """
@triton.autotune(configs=[triton.Config({'BM': 64, 'BN': 64, 'BK': 32})], key=['M', 'N', 'K'])
@triton.jit
def mm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm, pn = tl.program_id(0), tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        u = tl.load(a + rm[:, None] * K + (k + rk)[None, :], mask=(k + rk)[None, :] < K, other=0.0)
        v = tl.load(b + (k + rk)[:, None] * N + rn[None, :], mask=(k + rk)[:, None] < K, other=0.0)
        acc += tl.dot(u, v)
    tl.store(c + rm[:, None] * N + rn[None, :], acc)
""",
    "grid = lambda meta: (1, 1)\n        mm[grid](x, x, y, 4, 4, 4)\n        return y",
)

SPLIT_K = candidate(
    """
@triton.jit
def k(a, b, c, M, N, K, parts, BM: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    part = tl.program_id(1)
    o = tl.arange(0, BM)
    rows = pid * BM + o
    depth = part * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BM), tl.float32)
    for step in range(0, tl.cdiv(K, BK * parts)):
        at = depth + step * BK * parts
        u = tl.load(a + rows[:, None] * K + at[None, :], mask=at[None, :] < K)
        v = tl.load(b + at[:, None] * N + o[None, :], mask=at[:, None] < K)
        acc = tl.dot(u, v, acc)
    tl.store(c + part * M * N + rows[:, None] * N + o[None, :], acc)
""",
    "k[(1, 2)](x, x, y, 4, 4, 4, 2, 16, 16)\n        return y",
)

PERSISTENT_GEMM = candidate(
    """
@triton.jit
def k(a, b, c, M, N, K, tiles, P: tl.constexpr, B: tl.constexpr):
    out = tl.program_id(0) - P
    for tile in range(tl.program_id(0), tiles, P):
        o = tl.arange(0, B)
        acc = tl.zeros((B, B), tl.float32)
        for d in range(0, K, B):
            u = tl.load(a + (tile * B + o)[:, None] * K + (d + o)[None, :])
            v = tl.load(b + (d + o)[:, None] * N + o[None, :])
            acc = tl.dot(u, v, acc)
        out += P
        tl.store(c + (out * B + o)[:, None] * N + o[None, :], acc)
""",
    "k[(4,)](x, x, y, 4, 4, 4, 2, 4, 16)\n        return y",
)

CONV_DIRECT = candidate(
    """
@triton.jit
def k(x, w, y, H, W, OH, OW, C, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    i = o // OW
    j = o % OW
    s = tl.zeros((B,), tl.float32)
    for c in range(C):
        for p in range(3):
            for q in range(3):
                v = tl.load(x + (c * H + i + p) * W + j + q, mask=o < OH * OW, other=0.0)
                s += v * tl.load(w + (c * 3 + p) * 3 + q)
    tl.store(y + o, s, mask=o < OH * OW)
""",
    "k[(1,)](x, x, y, 4, 4, 4, 4, 3, 16)\n        return y",
)

CONV_IMPLICIT_GEMM = candidate(
    """
@triton.jit
def k(x, w, y, H, W, OH, OW, C, F, S, P, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    top = (m // OW) * S - P
    left = (m % OW) * S - P
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, C * 9, BK):
        kk = k0 + tl.arange(0, BK)
        ch, tap = kk // 9, kk % 9
        ih = top[:, None] + (tap // 3)[None, :]
        iw = left[:, None] + (tap % 3)[None, :]
        ok = (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W)
        a = tl.load(x + ch[None, :] * H * W + ih * W + iw, mask=ok, other=0.0)
        b = tl.load(w + n[None, :] * C * 9 + kk[:, None])
        acc += tl.dot(a, b)
    tl.store(y + m[:, None] * F + n[None, :], acc)
""",
    "k[(1, 1)](x, x, y, 4, 4, 4, 4, 3, 8, 1, 1, 16, 16, 16)\n        return y",
)

MAX_POOL = candidate(
    """
@triton.jit
def k(x, y, W, OW, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    best = tl.full((B,), -1e9, tl.float32)
    for p in range(2):
        for q in range(2):
            best = tl.maximum(best, tl.load(x + (o // OW * 2 + p) * W + o % OW * 2 + q))
    tl.store(y + o, best)
""",
    "k[(1,)](x, y, 4, 2, 16)\n        return y",
)

ATTENTION = candidate(
    """
@triton.jit
def inner(acc, l, m, q, K, V, n, D: tl.constexpr, B: tl.constexpr):
    for s in range(0, n, B):
        o = s + tl.arange(0, B)
        kt = tl.load(K + o[None, :] * D + tl.arange(0, D)[:, None])
        z = tl.dot(q, kt)
        new = tl.maximum(m, tl.max(z, 1))
        p = tl.exp2(z - new[:, None])
        scale = tl.exp2(m - new)
        l = l * scale + tl.sum(p, 1)
        acc = acc * scale[:, None]
        acc += tl.dot(p, tl.load(V + o[:, None] * D + tl.arange(0, D)[None, :]))
        m = new
    return acc, l, m

@triton.jit
def k(Q, K, V, O, n, D: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    cols = tl.arange(0, D)
    q = tl.load(Q + r[:, None] * D + cols[None, :])
    acc = tl.zeros((B, D), tl.float32)
    m = tl.full((B,), float('-inf'), tl.float32)
    l = tl.zeros((B,), tl.float32)
    acc, l, m = inner(acc, l, m, q, K, V, n, D, B)
    tl.store(O + r[:, None] * D + cols[None, :], acc / l[:, None])
""",
    "k[(1,)](x, x, x, y, 16, 16, 16)\n        return y",
)

CUMSUM = candidate("""
@triton.jit
def k(x, y, n, B: tl.constexpr = 64):
    o = tl.arange(0, B)
    tl.store(y + o, tl.cumsum(tl.load(x + o), 0))
""")

RUNNING_TOTAL = candidate("""
@triton.jit
def k(x, y, n, B: tl.constexpr = 64):
    c = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for r in range(n):
        total += tl.load(x + r * B + c)
        tl.store(y + r * B + c, total)
""")

RNN_IN_KERNEL = candidate(
    """
@triton.jit
def k(x, w, y, n, H: tl.constexpr, B: tl.constexpr):
    a = tl.arange(0, H)
    b = tl.arange(0, B)
    weight = tl.load(w + a[:, None] * H + a[None, :])
    blob = tl.zeros((B, H), tl.float32)
    for i in range(n):
        drive = tl.load(x + i * B * H + b[:, None] * H + a[None, :])
        blob = 2 * tl.sigmoid(2 * (drive + tl.dot(blob, weight))) - 1
    tl.store(y + b[:, None] * H + a[None, :], blob)
""",
    "k[(1,)](x, x, y, 8, 16, 16)\n        return y",
)

LINEAR_RECURRENCE = candidate(
    """
@triton.jit
def decay(prev, a, b):
    return prev * a + b

@triton.jit
def k(x, g, y, n, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    s = tl.zeros((B,), tl.float32)
    i = 0
    while i < n:
        s = decay(s, tl.load(g + i * B + c), tl.load(x + i * B + c))
        tl.store(y + i * B + c, s)
        i += 1
""",
    "k[(1,)](x, x, y, 8, 16)\n        return y",
)

GRU_THROUGH_MEMORY = candidate(
    """
@triton.jit
def k(gates, w, hidden, n, H: tl.constexpr):
    a = tl.arange(0, H)
    mat = tl.load(w + a[:, None] * H + a[None, :])
    for step in range(1, n):
        old = tl.load(hidden + (step - 1) * H + a)
        mixed = tl.sum(mat * old[None, :], axis=1)
        fresh = tl.sigmoid(mixed + tl.load(gates + step * H + a))
        tl.store(hidden + step * H + a, fresh * old)
        tl.debug_barrier()
""",
    "k[(1,)](x, x, y, 8, 16)\n        return y",
)

HOST_LOOP = candidate(
    """
@triton.jit
def k(x, h, out, n, B: tl.constexpr = 16):
    o = tl.arange(0, B)
    tl.store(out + o, tl.load(x + o) + tl.load(h + o))
""",
    """state = torch.zeros_like(x[:, 0])
        for i in range(x.shape[1]):
            nxt = torch.empty_like(state)
            k[(1,)](x[:, i], state, nxt, 16)
            state = nxt
        return state""",
)

HOST_LOOP_THROUGH_FUNCTION = candidate(
    """
@triton.jit
def k(x, h, out, n, B: tl.constexpr = 16):
    o = tl.arange(0, B)
    tl.store(out + o, tl.load(x + o) + tl.load(h + o))

def advance(piece, memory):
    result = torch.empty_like(memory)
    k[(1,)](piece, memory, result, 16)
    return result
""",
    """carry = x[0]
        for piece in x.unbind(1):
            carry = advance(piece, carry)
        return carry""",
)

LAYER_LOOP = candidate(
    """
@triton.jit
def k(x, w, y, n, B: tl.constexpr = 16):
    o = tl.arange(0, B)
    tl.store(y + o, tl.load(x + o) * tl.load(w + o))

def scale(x, w):
    y = torch.empty_like(x)
    k[(1,)](x, w, y, 16)
    return y
""",
    """for i in range(len(self.weights)):
            x = scale(x, self.weights[i])
        return x""",
    "self.weights = nn.ParameterList()",
)

HYBRID = candidate(
    """
@triton.jit
def k(x, y, n, B: tl.constexpr = 64):
    o = tl.arange(0, B)
    tl.store(y + o, tl.maximum(tl.load(x + o), 0.0))
""",
    "z = self.conv(x)\n        k[(1,)](z, y, 4)\n        return y",
    "self.conv = nn.Conv2d(3, 8, 3)",
)

HYBRID_FUNCTIONAL = HYBRID.replace("self.conv(x)", "F.linear(x, x)")

PLAIN_TORCH = """
import torch, torch.nn as nn
class ModelNew(nn.Module):
    def forward(self, x):
        return self.table[0](x) @ x
"""

KERNEL_NEVER_LAUNCHED = ELEMENTWISE.replace("k[(1,)](x, y, 4)", "y.copy_(x)")

FACTORY = """
import functools
import triton as t
import triton.language as lang

def make(block):
    @t.jit
    def body(p, q, B: lang.constexpr):
        o = lang.arange(0, B)
        lang.store(q + o, lang.exp(lang.load(p + o)))
    return body

class ModelNew:
    def __init__(self):
        self.run = functools.partial(make(64))
    def __call__(self, x):
        self.run[(1,)](x, x, 64)
        return x
"""

BY_TYPE: dict[str, tuple[str, str]] = {
    "elementwise": (ELEMENTWISE, "elementwise"),
    "grid stride, jit in class": (GRID_STRIDE, "elementwise"),
    "factory and partial": (FACTORY, "elementwise"),
    "layer loop": (LAYER_LOOP, "elementwise"),
    "row sum": (ROW_SUM, "reduction"),
    "l2 norm": (L2_NORM, "reduction"),
    "layer norm": (LAYER_NORM, "normalization"),
    "softmax": (SOFTMAX, "normalization"),
    "gemm": (GEMM, "gemm"),
    "split k": (SPLIT_K, "gemm"),
    "persistent gemm": (PERSISTENT_GEMM, "gemm"),
    "direct convolution": (CONV_DIRECT, "convolution"),
    "implicit gemm convolution": (CONV_IMPLICIT_GEMM, "convolution"),
    "attention": (ATTENTION, "attention"),
    "cumsum": (CUMSUM, "scan"),
    "running total": (RUNNING_TOTAL, "scan"),
    "rnn in kernel": (RNN_IN_KERNEL, "persistent_recurrent"),
    "linear recurrence": (LINEAR_RECURRENCE, "persistent_recurrent"),
    "gru through memory": (GRU_THROUGH_MEMORY, "persistent_recurrent"),
    "host loop": (HOST_LOOP, "recurrent_host_loop"),
    "host loop through function": (HOST_LOOP_THROUGH_FUNCTION, "recurrent_host_loop"),
    "hybrid": (HYBRID, "hybrid"),
    "hybrid functional": (HYBRID_FUNCTIONAL, "hybrid"),
    "plain torch": (PLAIN_TORCH, "no_triton"),
    "kernel never launched": (KERNEL_NEVER_LAUNCHED, "no_triton"),
}
