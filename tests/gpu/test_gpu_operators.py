"""Operators on a real GPU: made, checked with their speed, tuned, and left to PyTorch where it wins."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "operators"
pytestmark = pytest.mark.gpu


def op(*words: str | Path, cwd: Path) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "tilesmith", "op", *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_an_example_is_made_and_measured(name: str, tmp_path: Path) -> None:
    code, made = op("new", name, "--from", EXAMPLES / f"{name}.py", cwd=tmp_path)
    assert code == 0, made["accuracy"]
    code, found = op("check", name, cwd=tmp_path)
    assert found["accuracy"]["verdict"] == "passed"
    assert code == (0 if found["performance"]["target_met"] else 1)
    assert all(call["speedup"] > 0 for call in found["performance"]["calls"])


def test_a_shape_that_pytorch_wins_is_left_to_it(tmp_path: Path) -> None:
    op("new", "bias_add", "--from", EXAMPLES / "bias_add.py", "--target", "100", cwd=tmp_path)
    before = op("check", "bias_add", cwd=tmp_path)[1]["performance"]["geometric_mean"]
    code, tuned = op("tune", "bias_add", "--dispatch", "--seconds", "40", cwd=tmp_path)
    assert code == 1, "nobody is a hundred times faster"
    assert tuned["mean_after"] >= before * 0.97
    assert "CHOICES" in (tmp_path / "bias_add" / "bias_add_triton.py").read_text() or not tuned["changed"]
    assert "geometric mean" in (tmp_path / "bias_add" / "history.md").read_text()
    by_hand = tmp_path / "bias_add" / "bias_add_performance.py"
    shown = subprocess.run([sys.executable, str(by_hand)], capture_output=True, text=True)
    assert "geometric mean" in shown.stdout
