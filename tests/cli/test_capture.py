"""`tilesmith capture` writes task files that the other commands take as they are."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from warm_commands import run_warm

ROOT = Path(__file__).parents[2]
MODEL = ("sample_package.entry:make_model", "--inputs", "make_batch", "--path", ROOT / "tests/live")
NORMS = ["blocks.0.norm1", "blocks.0.norm2", "blocks.1.norm1", "blocks.1.norm2"]
KERNEL = """
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_gate_kernel(gate_ptr, up_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    gate = tl.load(gate_ptr + offs, mask=mask)
    up = tl.load(up_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, gate / (1.0 + tl.exp(-gate)) * up, mask=mask)


class ModelNew(nn.Module):
    def forward(self, gate, up):
        gate, up = gate.contiguous(), up.contiguous()
        y = torch.empty_like(gate)
        silu_gate_kernel[(triton.cdiv(y.numel(), 256),)](gate, up, y, y.numel(), BLOCK=256)
        return y
"""


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run_warm(*arguments, cwd=ROOT, env=os.environ | {"NO_COLOR": "1"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captured") / "tasks"


@pytest.fixture(scope="module")
def captured(folder: Path) -> dict[str, Any]:
    chosen = ("--where", "blocks.*.norm?", "--where", "*.act", "--where", "encoder.drop")
    done = run("capture", *MODEL, *chosen, "--out", folder, "--json")
    assert done.returncode == 0, done.stderr
    assert "left out: encoder.drop: it draws random numbers" in done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_equal_calls_are_one_file(captured: dict[str, Any], folder: Path) -> None:
    norms, gates = captured["tasks"]
    assert norms == {
        "path": str(folder / "rmsnorm_blocks_0_norm1.py"),
        "call": "RMSNorm(hidden [2, 3, 64] float32)",
        "names": NORMS,
        "calls": 4,
    }
    assert (gates["names"], gates["calls"]) == (["blocks.0.mlp.act", "blocks.1.mlp.act"], 2)
    (left_out,) = captured["left_out"]
    assert left_out["names"] == ["encoder.drop"]
    assert "use model.eval() or --eval" in left_out["reason"]
    assert sorted(folder.iterdir()) == sorted(Path(one["path"]) for one in captured["tasks"])


def test_only_files_of_its_own_are_written_anew(captured: dict[str, Any], folder: Path, tmp_path: Path) -> None:
    norm, gate = (Path(one["path"]) for one in captured["tasks"])
    (tmp_path / norm.name).write_text(norm.read_text().replace("in its model: blocks", "in its model: nobody's"))
    (tmp_path / gate.name).write_text(gate.read_text())
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    arguments = ("capture", *MODEL, "--where", "*.act", "--where", "blocks.*.norm1", "--out", tmp_path)
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == (
        f"tilesmith: {tmp_path / norm.name}: not written by capture, or changed since: move it away, or choose "
        "another --out"
    )
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before
    (tmp_path / norm.name).write_text(norm.read_text())
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        f"{tmp_path / norm.name}: RMSNorm(hidden [2, 3, 64] float32) at blocks.0.norm1, blocks.1.norm1: "
        "called 2 times",
        f"{tmp_path / gate.name}: SiluGate(gate [2, 3, 128] float32, up [2, 3, 128] float32) at blocks.0.mlp.act, "
        "blocks.1.mlp.act: called 2 times",
    ]
    assert "in its model: blocks.0.norm1, blocks.1.norm1." in (tmp_path / norm.name).read_text()


def test_without_a_match_the_modules_are_named(tmp_path: Path) -> None:
    done = run("capture", *MODEL, "--where", "layers.*", "--out", tmp_path / "tasks", "--json")
    error = json.loads(done.stdout)["error"]
    assert error.startswith("where='layers.*' names no module of the model; its modules: embed, encoder, ")
    assert ", blocks.*.norm1, blocks.*.norm2, " in error
    assert (done.returncode, done.stderr.splitlines()[1:]) == (2, [f"tilesmith: {error}"])
    assert not (tmp_path / "tasks").exists()


@pytest.mark.slow
def test_a_captured_task_is_checked_as_it_is(captured: dict[str, Any], tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text(KERNEL)
    done = run("check", captured["tasks"][1]["path"], kernel, "--device", "cpu", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["verdict"] == "passed"
