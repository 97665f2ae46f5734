# kernel_type: normalization
# complexity: low
# outcome: works
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _softmax_rows(out_ptr, in_ptr, in_stride, out_stride, n_rows, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(in_ptr + row * in_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    x = x - tl.max(x, axis=0)
    e = tl.exp(x)
    tl.store(out_ptr + row * out_stride + cols, e / tl.sum(e, axis=0), mask=mask)


def softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    num_sms = torch.cuda.get_device_properties(x.device).multi_processor_count
    programs = min(num_sms, n_rows)  #! grid-coverage
    _softmax_rows[(programs, 1, 1)](
        y, x, x.stride(0), y.stride(0), n_rows, n_cols, BLOCK=triton.next_power_of_2(n_cols), num_warps=4
    )
    return y


class ModelNew(nn.Module):
    def forward(self, x):
        return softmax(x)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(500, 129)]
