"""The models of the benchmark, tiny: optimized, saved, loaded, compared and trained, in the interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow_suite
@pytest.mark.parametrize("name", ["llama", "tagger", "vit"])
def test_a_model_as_people_write_it(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "benchmarks/live_models.py"), "--small", "--only", name]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [*command, "--limit-s", "900", "--out", str(tmp_path / "out.json")],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    entry = json.loads((tmp_path / "out.json").read_text())["models"][name]
    kernels: list[dict[str, Any]] = entry["optimize"]["kernels"]
    assert any(one["swapped"] for one in kernels)
    assert all(one["reason"] for one in kernels)
    used = entry["use"]
    assert used["state_dict_same"]
    assert used["gradients_same"]
    assert all(row["same"] for row in [*used["outputs"], used["after_step"]])
    assert all(used["training_misses"][module] for module in used["loaded"])
