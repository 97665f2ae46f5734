"""Kernels that add a thousand, so that a test sees who computed a result. Nothing of Triton is in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from tilesmith.live.calls.call_description import describe_call
from tilesmith.live.calls.call_records import KernelCard
from tilesmith.live.kernel_cards import make_card
from tilesmith.live.swaps.kernel_files import build_kernel
from tilesmith.live.swaps.swapping import GuardedKernel, swap_in
from tilesmith.records import Evaluation, Verdict

MARK = 1000.0
NORM = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(64))

    def forward(self, hidden):
        scale = torch.rsqrt(hidden.float().pow(2).mean(-1, keepdim=True) + 1e-5)
        return (hidden.float() * scale).type_as(hidden) * self.weight + 1000.0
"""


def passed(**fields: Any) -> Evaluation:
    import torch
    import triton

    versions = {"torch": torch.__version__, "triton": triton.__version__}
    return Evaluation(Verdict.PASSED, "passed", "fused", environment=versions, **fields)


def marked_card(module: nn.Module, folder: Path, *args: Any, text: str = NORM, **kwargs: Any) -> KernelCard:
    (folder / "best.py").write_text(text)
    return make_card(describe_call(module, args, kwargs), ("norm",), folder / "best.py", passed())


def swap_marked(
    module: nn.Module, folder: Path, *args: Any, text: str = NORM, grad: str = "fallback", **kwargs: Any
) -> GuardedKernel:
    card = marked_card(module, folder, *args, text=text, **kwargs)
    return swap_in(module, build_kernel(folder / "best.py"), card, grad)
