"""The bytes that any honest kernel must move, and what happens where they cannot be found."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tilesmith.process.protocol.reference import MeasureMinimumTraffic
from tilesmith.worker.roles.reference import ReferenceRole
from tilesmith.worker.task import load_task
from tilesmith.worker.truth.variant import Variant

TASK = """\
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x[:4] * 2
def get_inputs():
    return [torch.rand(8, 16)]
"""


def test_running_out_of_memory_is_no_answer_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "task.py").write_text(TASK)
    exact = Variant(load_task(tmp_path / "task.py"), "cpu", "default", 0)
    role = ReferenceRole()
    role._variants, role._necessary_bytes = {"exact": exact}, None

    def full(x: torch.Tensor) -> None:
        raise torch.OutOfMemoryError("full")

    with monkeypatch.context() as patch:
        patch.setattr(exact.model, "forward", full)
        assert role.measure_minimum_traffic(MeasureMinimumTraffic()).bytes == 0
    assert role.measure_minimum_traffic(MeasureMinimumTraffic()).bytes == 2 * 4 * 16 * 4
