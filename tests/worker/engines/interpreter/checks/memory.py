"""Kernels that read or write where they should not, and lookalikes that are fine."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy(src_ptr, dst_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(src_ptr + offs, mask=offs < n, other=0.0)
    tl.store(dst_ptr + offs, x, mask=offs < n)


def check_masked_copy_is_fine(_):
    src, dst = torch.randn(1000), torch.zeros(1000)
    copy[(4,)](src, dst, 1000, BLOCK=256)
    return bool(torch.equal(src, dst))


def check_read_past_the_end(_):
    copy[(4,)](torch.randn(1000), torch.zeros(1024), 1024, BLOCK=256)


def check_write_past_the_end(_):
    copy[(4,)](torch.randn(1024), torch.zeros(1000), 1024, BLOCK=256)


@triton.jit
def read_before(src_ptr, dst_ptr):
    tl.store(dst_ptr, tl.load(src_ptr - 1))


def check_read_before_the_start_even_inside_another_argument(_):
    pair = torch.randn(2, 16)
    read_before[(1,)](pair[1], pair[0])


def check_dense_slice_of_a_bigger_storage(_):
    copy[(1,)](torch.randn(4096)[:100], torch.zeros(128), 128, BLOCK=128)


@triton.jit
def strided_rows(src_ptr, dst_ptr, stride, COLS: tl.constexpr):
    cols = tl.arange(0, COLS)
    row = tl.program_id(0)
    tl.store(dst_ptr + row * COLS + cols, tl.load(src_ptr + row * stride + cols))


def check_strided_view_is_fine(_):
    src, dst = torch.randn(8, 64)[:, 16:32], torch.zeros(8, 16)
    strided_rows[(8,)](src, dst, src.stride(0), COLS=16)
    return bool(torch.equal(src, dst))


@triton.jit
def atomic_out(out_ptr, i):
    tl.atomic_add(out_ptr + i, 1.0)


def check_atomic_out_of_bounds(_):
    atomic_out[(1,)](torch.zeros(4), 4)


@triton.jit
def unmasked_other(src_ptr, dst_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(src_ptr + offs, mask=offs < n)
    tl.store(dst_ptr, tl.sum(x, axis=0))


def check_masked_lanes_are_poison(_):
    floats, integers = torch.zeros(1), torch.zeros(1, dtype=torch.int32)
    unmasked_other[(1,)](torch.ones(10), floats, 10, BLOCK=16)
    unmasked_other[(1,)](torch.ones(10, dtype=torch.int32), integers, 10, BLOCK=16)
    return [bool(floats.isnan().all()), integers.item() != 10]


@triton.jit
def unmasked_extremes(src_ptr, dst_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(src_ptr + offs, mask=offs < n)
    tl.store(dst_ptr, tl.max(x, axis=0))
    tl.store(dst_ptr + 1, tl.argmax(x, axis=0))
    tl.store(dst_ptr + 2, tl.sum(tl.maximum(x, 0.0), axis=0))


def check_poison_survives_a_maximum(_):
    out, half_out = torch.zeros(3), torch.zeros(3)
    unmasked_extremes[(1,)](torch.ones(10), out, 10, BLOCK=16)
    unmasked_extremes[(1,)](torch.ones(10).bfloat16(), half_out, 10, BLOCK=16)
    return [
        bool(out[0].isnan()),
        out[1].item() > 16,
        bool(out[2].isnan()),
        bool(half_out[0].isnan()),
        bool(half_out[2].isnan()),
    ]


def check_an_ordinary_nan_loses_a_maximum(_):
    x, out = torch.ones(16), torch.zeros(3)
    x[3] = float("nan")
    unmasked_extremes[(1,)](x, out, 16, BLOCK=16)
    return out[0].item()


@triton.jit
def scalar_other(src_ptr, dst_ptr, flag):
    tl.store(dst_ptr, tl.load(src_ptr, mask=flag > 0, other=0.0) + 1.0)


def check_scalar_zero_other_is_kept(_):
    out = torch.zeros(1)
    scalar_other[(1,)](torch.ones(1), out, 0)
    return out.item()


@triton.jit
def descriptor_copy(src, dst, B: tl.constexpr):
    i = tl.program_id(0) * B
    dst.store([i, 0], src.load([i, 0]) + 1)


def check_host_descriptor_edges_are_legal(_):
    src, dst = torch.randn(10, 16), torch.zeros(10, 16)
    described = [TensorDescriptor(t, list(t.shape), list(t.stride()), [4, 16]) for t in (src, dst)]
    descriptor_copy[(3,)](*described, B=4)
    return bool(torch.equal(dst, src + 1))


@triton.jit
def through_table(table_ptr, out_ptr):
    pointer = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr + tl.program_id(0), tl.load(pointer + 1))


def check_pointers_loaded_from_memory(_):
    tensors = [torch.randn(4), torch.randn(4)]
    out = torch.zeros(2)
    through_table[(2,)](torch.tensor([t.data_ptr() for t in tensors]), out)
    return bool(torch.equal(out, torch.stack([t[1] for t in tensors])))


@triton.jit
def choose(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)
    pointers = tl.where(offs % 2 == 0, a_ptr + offs, b_ptr + offs)
    tl.store(out_ptr + offs, tl.load(pointers))


def check_pointers_into_two_tensors(_):
    a, b, out = torch.randn(8), torch.randn(8), torch.zeros(8)
    choose[(1,)](a, b, out, N=8)
    return bool(torch.equal(out, torch.where(torch.arange(8) % 2 == 0, a, b)))


@triton.jit
def reversed_view(x_ptr, out_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)
    tl.store(out_ptr + offs, tl.load(x_ptr + N - 1 - offs))


def check_negative_steps(_):
    x, out = torch.randn(16), torch.zeros(16)
    reversed_view[(1,)](x, out, N=16)
    return bool(torch.equal(out, x.flip(0)))


def check_torch_function_mode_is_ignored(_):
    class Pretend(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function == torch.Tensor.device.__get__:
                return torch.device("cuda")
            return function(*args, **(kwargs or {}))

    src, dst = torch.randn(64), torch.zeros(64)
    with Pretend():
        pretended = str(src.device)
        copy[(1,)](src, dst, 64, BLOCK=64)
    return [pretended, bool(torch.equal(src, dst))]


def check_bool_tensors(_):
    src, dst = torch.rand(64) > 0.5, torch.zeros(64, dtype=torch.bool)
    copy[(1,)](src, dst, 60, BLOCK=64)
    return bool(torch.equal(src[:60], dst[:60]))


@triton.jit
def by_block_pointer(x_ptr, out_ptr, M, N, B: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (0, 0), (B, B), (1, 0))
    out = tl.make_block_ptr(out_ptr, (M, N), (N, 1), (0, 0), (B, B), (1, 0))
    for _ in range(0, M, B):
        tl.store(out, tl.load(x, boundary_check=(0, 1), padding_option="zero") + 1, boundary_check=(0, 1))
        x = tl.advance(x, (B, 0))
        out = tl.advance(out, (B, 0))


def check_block_pointers(_):
    x, out = torch.randn(20, 13), torch.zeros(20, 13)
    by_block_pointer[(1,)](x, out, 20, 13, B=16)
    return bool(torch.equal(out, x + 1))


@triton.jit
def device_descriptor(x_ptr, out_ptr, M, N, B: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[B, B])
    row = tl.program_id(0) * B
    offs = (row + tl.arange(0, B))[:, None] * N + tl.arange(0, B)[None, :]
    inside = ((row + tl.arange(0, B))[:, None] < M) & (tl.arange(0, B)[None, :] < N)
    tl.store(out_ptr + offs, x.load([row, 0]), mask=inside)


def check_device_descriptors(_):
    x, out = torch.randn(20, 16), torch.zeros(20, 16)
    device_descriptor[(2,)](x, out, 20, 16, B=16)
    return bool(torch.equal(out, x))


def check_device_descriptor_larger_than_its_tensor(_):
    device_descriptor[(2,)](torch.randn(20, 16), torch.zeros(32, 16), 32, 16, B=16)
