"""Finding sizes in a task's text, and changing nothing else."""

from __future__ import annotations

from pathlib import Path

from tilesmith.tasks.size_constants import find_constants, rewrite_constants
from tilesmith.tasks.source import parse_task

TEXT = """# größe: ein Kommentar mit Umlauten, 128 bleibt
import torch
import torch.nn as nn
N, M = 2048, 64  # zwei
K = 1024 * 2
shape = (N, 512)
config = {"hidden": 768, "heads": 12}
rate = 0.5
flag = True
dim = -1

class Model(nn.Module):
    width = 4096
    def forward(self, x):
        return x * 1000

def get_inputs(rows=300):
    torch.manual_seed(1234)
    return [torch.rand(N, K), torch.rand(rows, 224, dtype=torch.float32).transpose(0, 1)[:100]]

def get_init_inputs():
    return {"in_features": 4096, "dim": 33}
"""


def constants():
    return {item.name: item for item in find_constants(parse_task(Path("t.py"), TEXT))}


def test_every_size_outside_the_model_is_found():
    found = {name: item.value for name, item in constants().items()}
    positional = found.pop(next(name for name in found if name.startswith("get_inputs:")))
    assert positional == 224
    assert found == {
        "N": 2048, "M": 64, "K": 2048, "shape[1]": 512, "config['hidden']": 768, "config['heads']": 12,
        "get_inputs.rows": 300, "get_init_inputs.in_features": 4096, "get_init_inputs.dim": 33,
    }  # fmt: skip


def test_what_feeds_inputs_is_told_apart():
    found = constants()
    assert found["N"].feeds_inputs
    assert found["N"].leads_inputs
    assert found["K"].feeds_inputs
    assert not found["K"].leads_inputs
    assert found["get_inputs.rows"].leads_inputs
    assert not found["config['hidden']"].feeds_inputs


def test_rewriting_touches_only_the_constants():
    found = constants()
    new = rewrite_constants(TEXT, {found["N"]: 16, found["K"]: 32, found["config['heads']"]: 4})
    expected = TEXT.replace("N, M = 2048,", "N, M = 16,").replace("1024 * 2", "32").replace(": 12}", ": 4}")
    assert new == expected


def test_windows_line_ends_keep_their_bytes():
    task = parse_task(Path("t.py"), TEXT.replace("\n", "\r\n"))
    found = {item.name: item for item in find_constants(task)}
    assert rewrite_constants(task.text, {found["K"]: 32}) == task.text.replace("1024 * 2", "32")
