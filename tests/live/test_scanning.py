"""A scan counts what a model moves and computes, on fake tensors."""

from __future__ import annotations

import pytest
import torch
from sample_package import ModelConfig, TinyModel
from torch import nn

import tilesmith as ts
from tilesmith.errors import UsageError
from tilesmith.live import scanning

IDS = torch.arange(6).reshape(2, 3)


def test_groups_are_counted() -> None:
    found = ts.scan(TinyModel().eval(), (IDS,))
    by_class = {(one.module_class.rpartition(".")[2], one.names[0]): one for one in found.groups}
    norm = by_class["RMSNorm", "blocks.0.norm1"]
    assert (norm.calls, len(norm.names)) == (5, 5)
    assert norm.least_bytes == 5 * (2 * 2 * 3 * 64 + 64) * 4
    assert norm.eager_bytes > 2 * norm.least_bytes
    head = by_class["Linear", "head"]
    assert 0 <= head.flops - 2 * 6 * 64 * 50 <= 2 * 3 * 64, "at most a copy of its input besides"
    embed = by_class["Embedding", "embed"]
    assert embed.least_bytes == 6 * 8 + 2 * 6 * 64 * 4, "rows that are looked up, not the table"
    text = str(found)
    assert "RMSNorm blocks.0.norm1 +4" in text
    assert "on H200" in text


def test_a_large_model_needs_no_memory() -> None:
    with torch.device("meta"):
        model = nn.Sequential(*(nn.Linear(16384, 16384, bias=False) for _ in range(8)))
    found = ts.scan(model, (torch.empty(4, 16384, device="meta"),), gpu="A100 80GB")
    assert found.flops == 8 * 2 * 4 * 16384**2
    assert found.gpu == "A100 80GB"
    assert found.groups[0].roofline is not None
    assert found.groups[0].roofline.bound == "memory"


class LooksAtValues(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1


def test_code_that_looks_at_values_runs_for_real() -> None:
    found = ts.scan(LooksAtValues(), (torch.ones(4, 4),))
    assert any(note.startswith("run for real") for note in found.notes)
    assert found.eager_bytes > 0


def test_an_unknown_gpu_is_told() -> None:
    with pytest.raises(UsageError, match="unknown GPU 'GT 710'"):
        ts.scan(TinyModel(ModelConfig(layers=1)), (IDS,), gpu="GT 710")


def test_attention_with_fewer_keys_than_queries_is_counted_as_on_a_gpu() -> None:
    """A GPU's operators for attention take the keys as they are; on a CPU they are repeated first."""
    flash = torch.ops.aten._scaled_dot_product_flash_attention
    query, key = torch.empty(2, 8, 5, 16), torch.empty(2, 4, 7, 16)
    assert scanning._product_flops(flash, (query, key, key), {}, query) == 2 * 2 * 8 * 5 * 7 * (16 + 16)


class Remembering(nn.Module):
    """Makes a table in its first call, and counts in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.table, self.tables = nn.BatchNorm1d(4), None, {}
        self.scripted = torch.jit.script(nn.ReLU())

    def forward(self, x, cache):
        if self.table is None:
            self.table = self.tables[4] = torch.arange(4.0)
        cache.append(x)
        return self.scripted(self.norm(x)) * self.table * self.tables[4]


def test_a_scan_leaves_nothing_behind() -> None:
    model, cache = Remembering(), []
    ts.scan(model, (torch.ones(2, 4), cache))
    assert (model.table, model.tables, cache, int(model.norm.num_batches_tracked)) == (None, {}, [], 0)
    assert type(model(torch.ones(2, 4), cache).detach()) is torch.Tensor
