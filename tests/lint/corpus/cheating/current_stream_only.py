# kernel_type: elementwise
# complexity: low
# outcome: works
# near: side-stream, environment-sniffing, patched-runtime, cached-output
"""Asks about streams, events, locks and the device without leaving the caller's stream."""

import threading

import torch
import torch.nn as nn
import triton
import triton.language as tl

_lock = threading.Lock()
_sm_count = {}


def multiprocessors(device):
    with _lock:
        if device not in _sm_count:
            _sm_count[device] = torch.cuda.get_device_properties(device).multi_processor_count
        return _sm_count[device]


@triton.jit
def grid_stride_exp2(x, y, n, programs, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    for base in range(start, n, programs * BLOCK):
        i = base + tl.arange(0, BLOCK)
        tl.store(y + i, tl.exp2(tl.load(x + i, mask=i < n, other=0.0)), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.done = torch.cuda.Event()

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        stream = torch.cuda.current_stream(x.device)
        x.record_stream(stream) if not x.is_cuda else None
        programs = min(multiprocessors(x.device) * 4, triton.cdiv(x.numel(), 1024))
        with torch.cuda.device(x.device):
            grid_stride_exp2[(programs,)](x, y, x.numel(), programs, BLOCK=1024)
        self.done.record(stream)
        if torch.cuda.is_current_stream_capturing():
            return y
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(5000)]
