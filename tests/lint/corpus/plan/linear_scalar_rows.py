# kernel_type: gemm
# complexity: medium
# outcome: works
# near: no-tensor-core, time-loop-on-host
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear_row_kernel(x_ptr, wt_ptr, b_ptr, y_ptr, in_features, out_features, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = col < out_features
    acc = tl.load(b_ptr + col, mask=mask, other=0.0)
    for i in range(in_features):  #! scalar-vector-loop
        x_val = tl.load(x_ptr + row * in_features + i)
        w_row = tl.load(wt_ptr + i * out_features + col, mask=mask, other=0.0)
        acc = acc + x_val * w_row
    tl.store(y_ptr + row * out_features + col, tl.maximum(acc, 0.0), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, input_size, layer_sizes, output_size):
        super().__init__()
        sizes = [input_size, *layer_sizes, output_size]
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])

    def forward(self, x):
        for layer in self.layers:
            y = torch.empty(x.shape[0], layer.out_features, device=x.device, dtype=x.dtype)
            grid = (x.shape[0], triton.cdiv(layer.out_features, 128))
            linear_row_kernel[grid](
                x.contiguous(), layer.weight.t().contiguous(), layer.bias, y,
                layer.in_features, layer.out_features, BLOCK_SIZE=128,
            )
            x = y
        return x


def get_init_inputs():
    return [20, [30, 30], 10]


def get_inputs():
    return [torch.randn(4, 20)]
