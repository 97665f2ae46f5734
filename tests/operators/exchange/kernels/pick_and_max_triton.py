import torch
import triton
import triton.language as tl


@triton.jit
def pick_and_max_kernel(x_ptr, index_ptr, picked_ptr, largest_ptr, N, scale, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    largest = tl.full((), float("-inf"), tl.float32)
    for start in range(0, N, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * N + offs, mask=offs < N, other=float("-inf")).to(tl.float32)
        largest = tl.maximum(largest, tl.max(x, axis=0))
    picked = tl.load(x_ptr + row * N + tl.load(index_ptr + row)).to(tl.float32) * scale
    tl.store(picked_ptr + row, picked.to(picked_ptr.dtype.element_ty))
    tl.store(largest_ptr + row, largest.to(largest_ptr.dtype.element_ty))


def pick_and_max(x: torch.Tensor, index: torch.Tensor, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """An element of each row, scaled, and the largest.

    x [M, N], index [M] int64 below N; float32
    """
    x, index = x.contiguous(), index.contiguous()
    picked = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    largest = torch.empty_like(picked)
    if picked.numel():
        pick_and_max_kernel[(x.shape[0],)](x, index, picked, largest, x.shape[1], scale, BLOCK_N=64)
    return picked, largest
