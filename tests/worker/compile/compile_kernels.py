"""Kernels the compile tests launch: good ones first, then each way to fail.

Lines with a `FAULT` comment are looked up by the tests, so they may move.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    if y_ptr is not None:
        x += tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x, mask=mask)


def add(x, y, block=1024, **options):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=block, **options)
    return out


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    offs_k = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + offs[:, None] * K + (k + offs_k)[None, :])
        b = tl.load(b_ptr + (k + offs_k)[:, None] * BLOCK + offs[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + offs[:, None] * BLOCK + offs[None, :], acc)


def matmul(block=64, block_k=32, depth=256, dtype=torch.float16, **options):
    a, b = torch.empty(block, depth, dtype=dtype), torch.empty(depth, block, dtype=dtype)
    c = torch.empty(block, block)
    matmul_kernel[(1,)](a, b, c, depth, BLOCK=block, BLOCK_K=block_k, **options)


@triton.jit
def spilling_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    offs = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    x = tl.load(x_ptr + offs)
    total = tl.sum(x, axis=1)
    mean = tl.sum(x, axis=0)
    tl.store(out_ptr + offs, x * total[:, None] + mean[None, :] + x * x)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 64}, num_warps=1),
        triton.Config({"BLOCK": 256}, num_warps=2),
        triton.Config({"BLOCK": 1024}, num_warps=4),
    ],
    key=["n"],
    prune_configs_by={"early_config_prune": lambda configs, args, **_: configs[1:]},
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned_kernel(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(x_ptr + offs, 1.0)
    else:
        tl.store(x_ptr + offs, 1.0, mask=offs < n)


def tuned(n):
    x = torch.empty(n)
    return tuned_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, n)


def closure_kernel(bias):
    SHIFT = tl.constexpr(bias)

    @triton.jit
    def shifted(x):
        return x + SHIFT

    @triton.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        offs = tl.arange(0, BLOCK)
        tl.store(x_ptr + offs, shifted(tl.load(x_ptr + offs)))

    return kernel


@triton.jit
def scale_pair_kernel(pointers, scale, flag, count, ONE: tl.constexpr):
    value = tl.load(pointers[0]) * scale + count
    if flag:
        value += ONE
    tl.store(pointers[1], value)


@triton.jit
def descriptor_kernel(desc, out_ptr, BLOCK: tl.constexpr):
    tile = desc.load([0, 0])
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs[:, None] * BLOCK + offs[None, :], tile)


@triton.jit
def indexing_kernel(h_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    h_prev = tl.load(h_ptr + offs)
    tl.store(out_ptr + offs, h_prev[offs])  # FAULT indexing


@triton.jit
def runtime_arange_kernel(x_ptr, n):
    tl.store(x_ptr + tl.arange(0, n), 0.0)  # FAULT arange


@triton.jit
def undefined_name_in_callee(x):
    y = x * 2
    return y + not_defined_anywhere  # FAULT callee  # noqa: F821


@triton.jit
def calling_kernel(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, undefined_name_in_callee(x))  # FAULT caller


@triton.jit
def wrong_axis_kernel(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    x = tl.load(x_ptr + offs)
    tl.store(x_ptr + offs, tl.sum(x, axis=5))  # FAULT library


@triton.jit
def bad_assembly_kernel(x_ptr):
    x = tl.load(x_ptr)
    y = tl.inline_asm_elementwise("no.such.op $0, $1;", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x_ptr, y)


def python_function(x):
    return x


@triton.jit
def calls_python_kernel(x_ptr):
    tl.store(x_ptr, python_function(1.0))  # FAULT python


@triton.jit
def parameters_named_like_ours(kernel, fn, tuner, self_: tl.constexpr):
    tl.store(kernel + tl.arange(0, self_), tuner + fn)
