"""FlagGems on a machine without a GPU, as the conftest.py of a checkout's tests and benchmarks.

Release 5.0.2 cannot be imported there: it asks torch.cuda for the name of its device, and its own kernels cannot be
decorated under Triton's interpreter. So the questions are answered and FlagGems is imported as it is; Triton's own
functions and the one operator under test are loaded again for the interpreter. The device guard remembers its uses,
for torch.cuda has none for a CPU."""

import contextlib
import importlib
import os
import sys
import types

import torch
import triton.language

torch.cuda.get_device_name = lambda *_: "none"
torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(major=0, minor=0, multi_processor_count=1)
import flag_gems  # noqa: E402

guarded = []


@contextlib.contextmanager
def device_guard(device):
    guarded.append(device)
    yield


flag_gems.device = "cpu"
torch.cuda.device = device_guard
os.environ["TRITON_INTERPRET"] = "1"
for name, value in vars(importlib.reload(triton.language.standard)).items():
    if name in triton.language.__all__:
        setattr(triton.language, name, value)
importlib.reload(sys.modules[f"flag_gems.fused.{os.environ['OPERATOR']}"])
