# kernel_type: recurrent_host_loop
# complexity: high
# outcome: works
# near: small-launch-count, decoy-kernel
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def blend_kernel(gate_ptr, value_ptr, carry_ptr, result_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    gate = tl.sigmoid(tl.load(gate_ptr + offsets, mask=mask, other=0.0))
    value = tl.load(value_ptr + offsets, mask=mask, other=0.0)
    carry = tl.load(carry_ptr + offsets, mask=mask, other=0.0)
    tl.store(result_ptr + offsets, gate * carry + (1 - gate) * value, mask=mask)


def blend(gate, value, carry):
    result = torch.empty_like(carry)
    n = carry.numel()
    blend_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)](
        gate.contiguous(), value.contiguous(), carry, result, n, BLOCK_SIZE=1024
    )
    return result


class BackwardPool(torch.autograd.Function):
    """QRNN pooling from the end of the sequence to its start."""

    @staticmethod
    def forward(ctx, gates, values):
        length = gates.shape[0]
        carry = torch.zeros_like(values[0])
        pooled = [None] * length
        for pos in reversed(range(length)):  #! time-loop-on-host
            carry = blend(gates[pos], values[pos], carry)
            pooled[pos] = carry
        return torch.stack(pooled)


class ModelNew(nn.Module):
    def forward(self, gates, values):
        return BackwardPool.apply(gates, values)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(6, 3, 20), torch.randn(6, 3, 20)]
