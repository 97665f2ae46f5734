"""Ways in which people write, hold, decorate and launch kernels."""

import torch
import triton
import triton.language as T
import triton.language as tl
from triton import language
from triton.language import arange, load, program_id, store

SCALE = tl.constexpr(3.0)


@triton.jit
def under_an_alias(x_ptr, out_ptr, N: T.constexpr):
    offs = T.arange(0, N)
    T.store(out_ptr + offs, T.load(x_ptr + offs) * SCALE)


@triton.jit
def by_module(x_ptr, out_ptr, N: "language.constexpr"):
    offs = language.arange(0, N)
    language.store(out_ptr + offs, language.sum(language.load(x_ptr + offs), axis=0))


@triton.jit
def by_name(x_ptr, out_ptr, N: tl.constexpr):
    offs = arange(0, N) + program_id(0)
    store(out_ptr + offs, load(x_ptr + offs))


@triton.jit
def named_like_ours(kernel, tuner, fn, N: tl.constexpr):
    tl.store(kernel + tl.arange(0, N), tuner + fn)


def check_parameters_of_any_name(_):
    out = torch.zeros(4)
    named_like_ours[(1,)](kernel=out, tuner=2, fn=3, N=4)
    return out.tolist()


def check_aliases(_):
    x = torch.randn(16)
    outs = [torch.zeros(16) for _ in range(3)]
    for kernel, out in zip((under_an_alias, by_module, by_name), outs, strict=True):
        kernel[(1,)](x, out, N=16)
    return [
        bool(torch.allclose(out, expected))
        for out, expected in zip(outs, (x * 3, x.sum().expand(16), x), strict=True)
    ]


def make_kernel(activation, offset):
    @triton.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr):
        offs = tl.arange(0, N)
        tl.store(out_ptr + offs, activation(tl.load(x_ptr + offs)) + offset)

    return kernel


@triton.jit
def relu(x):
    return tl.where(x > 0, x, 0.0)


@triton.jit
def twice(x):
    return relu(x) * 2


class Layer:
    @staticmethod
    @triton.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr):
        offs = tl.arange(0, N)
        tl.store(out_ptr + offs, twice(tl.load(x_ptr + offs)))

    def __init__(self):
        self.held = triton.jit(plain_copy)


def plain_copy(x_ptr, out_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))


def check_closures_and_methods(_):
    x = torch.randn(16)
    kernels = make_kernel(relu, tl.constexpr(1.0)), make_kernel(twice, tl.constexpr(-1.0))
    outs = [torch.zeros(16) for _ in range(4)]
    for kernel, out in zip((*kernels, Layer.kernel, Layer().held), outs, strict=True):
        kernel[(1,)](x, out, N=16)
    expected = x.relu() + 1, x.relu() * 2 - 1, x.relu() * 2, x
    return [bool(torch.equal(out, e)) for out, e in zip(outs, expected, strict=True)]


@triton.autotune(
    configs=[triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})],
    key=["n"],
    reset_to_zero=["total_ptr"],
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned(x_ptr, total_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs) if EVEN else tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.atomic_add(total_ptr, tl.sum(x, axis=0))


def check_autotune(interpreter):
    x = torch.ones(50)
    grids, totals = [], []
    for choice in (0, 1, 5):
        interpreter.autotune_choice = choice
        tuned.cache.clear()
        total = torch.zeros(1)
        tuned[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, total, 50)
        totals.append(total.item())
        grids.append(interpreter.launches[-1].grid[0])
    interpreter.autotune_choice = 0
    return {
        "totals": totals,
        "grids": grids,
        "configs": interpreter.autotuned,
        "launches": len(interpreter.launches),
    }


@triton.autotune(configs=[triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=["n"])
@triton.jit
def accumulates(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1.0, mask=offs < n)


def check_autotune_repeats_an_in_place_kernel(_):
    x = torch.zeros(8)
    accumulates[(1,)](x, 8)
    return x[0].item()


@triton.jit
def control(out_ptr, n, flag, N: tl.constexpr):
    offs = tl.arange(0, N)
    inside = (offs > 1) and (offs < n)
    outside = not inside
    tl.store(out_ptr + offs, inside.to(tl.int32) * 10 + outside.to(tl.int32))
    total = 0
    for i in range(3):
        total += (i.to(tl.int64) * i).to(tl.int32)
    for j in tl.static_range(2):
        total += tl.arange(0, 2 ** (j + 1)).shape[0]
    if flag and n > 4:
        total += 100
    count, step = 0, 2
    while count < 6:
        count += step
    tl.store(out_ptr + N, total + count + min(n, 3))


def check_control_flow(_):
    out = torch.zeros(17, dtype=torch.int32)
    control[(1,)](out, 8, True, N=16)
    return out.tolist()


@triton.jit
def grid_probe(out_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    number = x + tl.num_programs(0) * (y + tl.num_programs(1) * z)
    tl.store(out_ptr + number, 1)


def check_grids(interpreter):
    sums = []
    for grid in ([2, 3], (2, 3, 4), (torch.tensor(5),), lambda meta: (len(meta["out_ptr"]),), (0, 3)):
        out = torch.zeros(24, dtype=torch.int32)
        grid_probe[grid](out, num_warps=8, num_stages=2, num_ctas=1, waves_per_eu=2)
        sums.append(int(out.sum()))
    grid_probe.warmup(torch.zeros(1, dtype=torch.int32), grid=(1,))
    grid_probe.run(torch.zeros(1, dtype=torch.int32), grid=(9,), warmup=True)
    return [sums, [list(launch.grid) for launch in interpreter.launches], interpreter.launches[0].kernel]


def check_misspelt_keyword(_):
    under_an_alias[(1,)](torch.zeros(16), torch.zeros(16), N=16, NN=3)


@triton.jit
def runtime_arange(out_ptr, n):
    tl.store(out_ptr + tl.arange(0, n), 1.0)


def check_compile_runtime_arange(_):
    runtime_arange[(1,)](torch.zeros(16), 16)


@triton.jit
def indexes_a_tensor(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(out_ptr, x[tl.arange(0, 4)])


def check_compile_tensor_index(_):
    indexes_a_tensor[(1,)](torch.zeros(16), torch.zeros(16))


@triton.jit
def tests_a_block(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    if x > 0:
        tl.store(x_ptr, 1.0)


def check_compile_if_on_a_block(_):
    tests_a_block[(1,)](torch.zeros(16))


@triton.jit
def undefined_name(x_ptr):
    tl.store(x_ptr, missing)  # noqa: F821


def check_compile_undefined_name(_):
    undefined_name[(1,)](torch.zeros(16))


@triton.jit
def shapes_clash(x_ptr):
    tl.store(x_ptr + tl.arange(0, 16), tl.arange(0, 16) + tl.arange(0, 8))


def check_compile_shape_mismatch(_):
    shapes_clash[(1,)](torch.zeros(16))


@triton.jit
def static_assertion(x_ptr, N: tl.constexpr):
    tl.static_assert(N % 32 == 0, "N must be a multiple of 32")


def check_compile_static_assert(_):
    static_assertion[(1,)](torch.zeros(16), N=16)


@triton.jit
def device_assertion(x_ptr):
    tl.device_print("spam", tl.load(x_ptr))
    tl.static_print("spam")
    tl.device_assert(tl.load(x_ptr) > 0, "x must be positive")


def check_device_assert(_):
    device_assertion[(1,)](torch.zeros(16))


@triton.jit
def divides_by_zero_in_python(x_ptr, N: tl.constexpr):
    tl.store(x_ptr, 1 // N)


def check_other_exceptions_keep_their_type(_):
    divides_by_zero_in_python[(1,)](torch.zeros(16), N=0)


@triton.jit
def misses_math(x_ptr):
    tl.store(x_ptr, np.pi)  # noqa: F821


def check_interpreter_names_do_not_leak_into_the_candidate(_):
    misses_math[(1,)](torch.zeros(1))


@triton.jit
def typed_pointers(x_ptr, out_ptr, n, N: tl.constexpr):
    rows = tl.arange(0, N)[:, None]
    cols = tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * N + cols)
    y = tl.trans(x) + x.T
    y = tl.reshape(y, (N * N,))
    y = tl.sort(y)
    tl.store(out_ptr + tl.arange(0, N * N), y)
    tl.store(out_ptr + N * N, tl.cdiv(n, 3) + tl.sum(tl.softmax(tl.load(x_ptr + tl.arange(0, N)))))


def check_shapes(_):
    x, out = torch.randn(8, 8), torch.zeros(65)
    typed_pointers[(1,)](x, out, 10, N=8)
    expected = torch.cat([(2 * x.T).reshape(-1).sort().values, torch.tensor([5.0])])
    return float((out - expected).abs().max())


@triton.jit
def chained(out_ptr, n, N: tl.constexpr):
    offs = tl.arange(0, N)
    tl.store(out_ptr + offs, (1 < offs < n).to(tl.int32))


def check_chained_comparison(_):
    out = torch.zeros(8, dtype=torch.int32)
    chained[(1,)](out, 5, N=8)
    return out.tolist()


EPSILON = 1e-5


@triton.jit
def reads_a_plain_global(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr) + EPSILON)


def check_compile_plain_global(_):
    reads_a_plain_global[(1,)](torch.zeros(1))


@triton.jit
def breaks(x_ptr):
    for i in range(4):
        if i == 2:
            break
        tl.store(x_ptr + i, 1.0)


def check_compile_break(_):
    breaks[(1,)](torch.zeros(4))


@triton.jit
def calls_torch(x_ptr):
    tl.store(x_ptr, torch.tanh(tl.load(x_ptr)))


def check_compile_torch_in_kernel(_):
    calls_torch[(1,)](torch.zeros(4))


@triton.jit
def thin_dot(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16)[:, None] * 4 + tl.arange(0, 4)[None, :])
    tl.store(x_ptr, tl.sum(tl.dot(x, tl.trans(x))))


def check_compile_thin_dot(_):
    thin_dot[(1,)](torch.zeros(64))
