"""`python best.py` checks the file against the task beside it, in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tilesmith.records import ArgumentSpec, Evaluation, Interface, Verdict
from tilesmith.runs.best_file import BestKernel, render_best


def run_best(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "best.py"], cwd=folder, capture_output=True, text=True, env=os.environ, check=False
    )


def test_it_passes_beside_its_task_and_says_what_is_missing_without(fixtures: Path, tmp_path: Path) -> None:
    interface = Interface((ArgumentSpec(("x",), "tensor", "float32", ("n", "m")),))
    evaluation = Evaluation(Verdict.PASSED, "right", "elementwise", limits=("forward only",), interface=interface)
    source = (fixtures / "kernels/relu_persistent.py").read_text()
    (tmp_path / "best.py").write_text(render_best(BestKernel(source, "right", "relu", "run", 1, evaluation)))
    alone = run_best(tmp_path)
    assert (alone.returncode, alone.stdout) == (2, "")
    assert alone.stderr.strip() == "best.py: task.py is not beside it; run  tilesmith check TASK best.py"
    (tmp_path / "task.py").write_text((fixtures / "tasks/relu.py").read_text())
    beside = run_best(tmp_path)
    assert beside.stdout.startswith("best.py: passed: "), (beside.stdout, beside.stderr)
    assert (beside.returncode, len(beside.stdout.splitlines())) == (0, 1)
