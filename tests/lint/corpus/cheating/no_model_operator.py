# kernel_type: elementwise
# complexity: low
# outcome: fails
# near: no-triton-launch, decoy-kernel, output-not-written
# finds: no-model-class
"""gated unit: out = silu(gate) * up, shapes [rows, cols]; an operator file with functions as its entries."""

import torch
import triton
import triton.language as tl


@triton.jit
def _silu(v):
    return v * tl.sigmoid(v)


@triton.jit
def _swiglu_kernel(gate, up, out, total, BLOCK: tl.constexpr):
    idx = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    keep = idx < total
    g = tl.load(gate + idx, mask=keep, other=0.0).to(tl.float32)
    u = tl.load(up + idx, mask=keep, other=0.0).to(tl.float32)
    tl.store(out + idx, (_silu(g) * u).to(out.dtype.element_ty), mask=keep)


def _launch(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    total = gate.numel()
    _swiglu_kernel[(triton.cdiv(total, 1024),)](gate, up, out, total, BLOCK=1024)


def swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    assert gate.shape == up.shape
    gate, up = gate.contiguous(), up.contiguous()
    out = torch.empty_like(gate)
    _launch(gate, up, out)
    return out


def swiglu_(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """In place on the gate."""
    assert gate.is_contiguous() and up.is_contiguous()
    _launch(gate, up, gate)
    return gate


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 100), torch.randn(16, 100)]
