"""Large tensors stay on the GPU, memory is planned, and whoever has little of it still judges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tilesmith.config import CheckConfig
from tilesmith.judge import Judge
from tilesmith.judge.machine.devices import gpu_present
from tilesmith.judge.machine.gpu_memory_room import GpuMemoryRoom
from tilesmith.records import Verdict

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not gpu_present(), reason="needs a GPU")]
TASK = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.randn(ROWS, 16384)]
"""
KERNEL = """
import torch, triton, triton.language as tl
from torch import nn

@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n), 0), mask=i < n)

class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        HOOK
        return y
"""
TUNED = KERNEL.replace(
    "@triton.jit",
    "@triton.autotune([triton.Config({'BLOCK': 2**b}, num_warps=w) for b in range(7, 13) for w in (1, 2, 4, 8, 16)]"
    ", key=['n'])\n@triton.jit",
).replace("relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)", "relu[grid](x, y, x.numel())")
TUNED = TUNED.replace("HOOK", "pass").replace(
    "        y = torch", "        grid = lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)\n        y = torch"
)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(CheckConfig(device="cuda", timing=False)) as opened:
        yield opened


def files(folder: Path, rows: int, kernel: str) -> tuple[Path, Path]:
    task, candidate = folder / "task.py", folder / "kernel.py"
    task.write_text(TASK.replace("ROWS", str(rows)))
    candidate.write_text(kernel)
    return task, candidate


def test_a_gigabyte_never_becomes_a_file(judge: Judge, tmp_path: Path) -> None:
    sizes: list[int] = []

    def look(_: str) -> None:
        found = (path for path in judge._exchange.rglob("*") if path.is_file())
        sizes.append(sum(path.stat().st_size for path in found))

    evaluation = judge.check(*files(tmp_path, 16384, KERNEL.replace("HOOK", "pass")), progress=look)
    assert (evaluation.verdict, evaluation.reason) == (Verdict.PASSED, evaluation.reason)
    assert 0 < max(sizes) < 2**26


def test_a_changed_input_is_noticed_by_its_fingerprint(judge: Judge, tmp_path: Path) -> None:
    evaluation = judge.check(*files(tmp_path, 4096, KERNEL.replace("HOOK", "x[5, 7] = 3.0")))
    assert evaluation.verdict is Verdict.WRONG_VALUES
    assert "changed input 0" in evaluation.reason


def test_who_must_be_frugal_judges_all_the_same_and_says_what_it_cut(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilesmith.judge.reference.references._free_bytes", lambda _: 5 * 2**30)
    monkeypatch.setattr(judge._references, "_room", GpuMemoryRoom(tmp_path))
    evaluation = judge.check(*files(tmp_path, 8192, KERNEL.replace("HOOK", "pass")))
    assert (evaluation.verdict, evaluation.reason) == (Verdict.PASSED, evaluation.reason)
    assert any("no pads around its tensors" in note for note in evaluation.notes)


def test_an_autotuner_with_many_configs_is_bounded(judge: Judge, tmp_path: Path) -> None:
    evaluation = judge.check(*files(tmp_path, 64, TUNED))
    assert (evaluation.verdict, evaluation.reason) == (Verdict.PASSED, evaluation.reason)
    assert any("30 configs" in note for note in evaluation.notes), evaluation.notes
