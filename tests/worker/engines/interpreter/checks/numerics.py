"""Kernels whose numbers must agree with torch."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def bf16_arithmetic(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    y = tl.load(y_ptr + offs)
    tl.store(out_ptr + offs, x + y)
    tl.store(out_ptr + BLOCK + offs, x * y)
    tl.store(out_ptr + 2 * BLOCK + offs, x - y)
    tl.store(out_ptr + 3 * BLOCK + offs, tl.where(x > y, x, y))
    tl.store(out_ptr + 4 * BLOCK + offs, tl.maximum(x, y))
    tl.store(out_ptr + 5 * BLOCK + offs, x.to(tl.float32) * 3.0)
    tl.store(out_ptr + 6 * BLOCK + offs, -x)
    tl.store(out_ptr + 7 * BLOCK + offs, tl.abs(x))


def check_bf16_arithmetic(_):
    x, y = torch.randn(128).bfloat16(), torch.randn(128).bfloat16()
    out = torch.empty(8 * 128, dtype=torch.bfloat16)
    bf16_arithmetic[(1,)](x, y, out, BLOCK=128)
    tripled = (x.float() * 3).bfloat16()
    expected = torch.cat([x + y, x * y, x - y, torch.maximum(x, y), torch.maximum(x, y), tripled, -x, x.abs()])
    return bool(torch.equal(out, expected))


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K, S: tl.constexpr, PRECISION: tl.constexpr):
    r = tl.arange(0, S)
    acc = tl.zeros((S, S), dtype=tl.float32)
    for k in range(0, K, S):
        a = tl.load(a_ptr + r[:, None] * K + k + r[None, :])
        b = tl.load(b_ptr + (k + r[:, None]) * S + r[None, :])
        acc = tl.dot(a, b, acc, input_precision=PRECISION)
    tl.store(c_ptr + r[:, None] * S + r[None, :], acc)


def dot_error(dtype, precision):
    a, b = torch.randn(32, 256).to(dtype), torch.randn(256, 32).to(dtype)
    c = torch.empty(32, 32)
    matmul[(1,)](a, b, c, 256, S=32, PRECISION=precision)
    truth = a.double() @ b.double()
    return float((c.double() - truth).norm() / truth.norm())


def check_dot_errors(interpreter):
    errors = {
        "bf16": dot_error(torch.bfloat16, "tf32"),
        "fp16": dot_error(torch.float16, "tf32"),
        "tf32": dot_error(torch.float32, "tf32"),
        "ieee": dot_error(torch.float32, "ieee"),
        "tf32x3": dot_error(torch.float32, "tf32x3"),
    }
    interpreter.emulate_tf32 = False
    errors["tf32_off"] = dot_error(torch.float32, "tf32")
    interpreter.emulate_tf32 = True
    return errors


@triton.jit
def reductions(x_ptr, out_ptr, index_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr, tl.sum(x, axis=0))
    tl.store(out_ptr + 1, tl.max(x, axis=0))
    tl.store(out_ptr + 2, tl.min(x, axis=0))
    tl.store(index_ptr, tl.argmax(x, axis=0))
    tl.store(index_ptr + 1, tl.argmin(x, axis=0))


def check_reductions(_):
    found = {}
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = torch.randn(256).to(dtype)
        out, index = torch.empty(3, dtype=dtype), torch.empty(2, dtype=torch.int32)
        reductions[(1,)](x, out, index, N=256)
        exact = out[1] == x.max() and out[2] == x.min() and index.tolist() == [x.argmax(), x.argmin()]
        error = float(abs(out[0].double() - x.double().sum()) / x.double().abs().sum())
        found[str(dtype)] = [bool(exact), error]
    return found


@triton.jit
def combine_welford(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    delta = mean_b - mean_a
    return mean_a + delta * n_b / n, m2_a + m2_b + delta * delta * n_a * n_b / n, n


@triton.jit
def decay(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def custom_combines(x_ptr, out_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)
    x = tl.load(x_ptr + offs)
    mean, m2, n = tl.reduce((x, tl.zeros_like(x), tl.full((N,), 1.0, tl.float32)), 0, combine_welford)
    tl.store(out_ptr, mean)
    tl.store(out_ptr + 1, m2 / n)
    _, scanned = tl.associative_scan((tl.full((N,), 0.5, tl.float32), x), 0, decay)
    tl.store(out_ptr + 2 + offs, scanned)
    tl.store(out_ptr + 2 + N + offs, tl.cumsum(x, 0, reverse=True))


def check_custom_combines(_):
    x, out = torch.randn(64), torch.empty(2 + 128)
    custom_combines[(1,)](x, out, N=64)
    state, expected = 0.0, []
    for value in x.tolist():
        state = state * 0.5 + value
        expected.append(state)
    suffix = x.flip(0).cumsum(0).flip(0)
    truth = torch.cat([x.mean()[None], x.var(unbiased=False)[None], torch.tensor(expected), suffix])
    return float((out - truth).abs().max())


@triton.jit
def fp8_round_trip(x_ptr, out_ptr, stored_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)
    low = tl.load(x_ptr + offs).to(stored_ptr.dtype.element_ty)
    tl.store(stored_ptr + offs, low)
    tl.store(out_ptr + offs, tl.load(stored_ptr + offs).to(tl.float32))


def check_fp8(_):
    same = {}
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        x = torch.cat([torch.randn(124) * 10, torch.tensor([1e9, -1e9, 0.001, 0.0])])
        out, stored = torch.empty(128), torch.empty(128, dtype=dtype)
        fp8_round_trip[(1,)](x, out, stored, N=128)
        limit = torch.finfo(dtype).max
        expected = x.clamp(-limit, limit).to(dtype)
        bits_agree = torch.equal(stored.view(torch.uint8), expected.view(torch.uint8))
        same[str(dtype)] = bool(torch.equal(out, expected.float())) and bits_agree
    return same


@triton.jit
def scaled_half(x_ptr, out_ptr, scale, N: tl.constexpr):
    offs = tl.arange(0, N)
    y = tl.load(x_ptr + offs) * scale
    tl.store(out_ptr + offs, y)


def check_float_argument_promotes_to_float32(_):
    x, out = torch.randn(64).half(), torch.empty(64)
    scaled_half[(1,)](x, out, 0.1, N=64)
    return bool(torch.equal(out, x.float() * 0.1))


@triton.jit
def library(x_ptr, out_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, libdevice.tanh(x))
    tl.store(out_ptr + N + offs, tl.extra.cuda.libdevice.erf(x))
    tl.store(out_ptr + 2 * N + offs, tl.math.exp(x))
    tl.store(out_ptr + 3 * N + offs, libdevice.expm1(x))
    tl.store(out_ptr + 4 * N + offs, libdevice.log1p(tl.abs(x)))
    tl.store(out_ptr + 5 * N + offs, libdevice.pow(tl.abs(x), x))
    tl.store(out_ptr + 6 * N + offs, libdevice.atan2(x, x + 1.0))
    tl.store(out_ptr + 7 * N + offs, libdevice.rint(x * 3))
    tl.store(out_ptr + 8 * N + offs, libdevice.fmod(x, 0.3))
    tl.store(out_ptr + 9 * N + offs, tl.where(libdevice.isnan(x), 1.0, libdevice.rsqrt(tl.abs(x))))
    tl.store(out_ptr + 10 * N + offs, libdevice.div_rn(x, x + 5.0))
    tl.store(out_ptr + 11 * N + offs, libdevice.fast_expf(x))
    tl.store(out_ptr + 12 * N + offs, tl.erf(x))


def check_libdevice(_):
    x, out = torch.randn(64), torch.empty(13 * 64)
    library[(1,)](x, out, N=64)
    a = x.abs()
    truth = [x.tanh(), x.erf(), x.exp(), x.expm1(), a.log1p(), a**x, torch.atan2(x, x + 1), (x * 3).round()]
    truth += [torch.fmod(x, 0.3), a.rsqrt(), x / (x + 5), x.exp(), x.erf()]
    return float((out - torch.cat(truth)).abs().max())


@triton.jit
def assembly(x_ptr, out_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)
    x = tl.load(x_ptr + offs)
    tanh = tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(out_ptr + offs, tanh)
    tf32 = tl.inline_asm_elementwise(
        "cvt.rna.tf32.f32 $0, $1;", "=r,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out_ptr + N + offs, tf32)
    scaled = tl.inline_asm_elementwise(
        "{ .reg .f32 t; mul.f32 t, $1, 0f40000000; ex2.approx.ftz.f32 $0, t; }",
        "=f,f",
        [x],
        dtype=tl.float32,
        is_pure=True,
        pack=1,
    )
    tl.store(out_ptr + 2 * N + offs, scaled)


def check_inline_asm(_):
    x, out = torch.randn(64), torch.empty(3 * 64)
    assembly[(1,)](x, out, N=64)
    tanh, tf32, scaled = out.view(3, 64)
    low_bits = int((tf32.view(torch.int32) & 0x1FFF).abs().max())
    tf32_error = float(((tf32 - x) / x).abs().max())
    near = torch.allclose(tanh, x.tanh()) and torch.allclose(scaled, torch.exp2(2 * x))
    return [bool(near), low_bits, tf32_error]


@triton.jit
def unknown_assembly(x_ptr):
    x = tl.load(x_ptr)
    y = tl.inline_asm_elementwise(
        "lop3.b32 $0, $1, $1, $1, 0x80;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(x_ptr, y)


def check_unknown_asm(_):
    unknown_assembly[(1,)](torch.zeros(1))


@triton.jit
def integers(x_ptr, out_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x // 3)
    tl.store(out_ptr + N + offs, x % 3)
    tl.store(out_ptr + 2 * N + offs, x >> 1)
    tl.store(out_ptr + 3 * N + offs, (x.to(tl.uint32, bitcast=True) >> 1).to(tl.int32))
    tl.store(out_ptr + 4 * N + offs, x * 2147483)


def check_integers(_):
    x, out = torch.arange(-32, 32, dtype=torch.int32) * 1001, torch.empty(5 * 64, dtype=torch.int32)
    integers[(1,)](x, out, N=64)
    logical = ((x.long() & 0xFFFFFFFF) >> 1).int()
    truth = [torch.div(x, 3, rounding_mode="trunc"), torch.fmod(x, 3), x >> 1, logical, x * 2147483]
    return bool(torch.equal(out, torch.cat(truth)))
