"""`tilesmith plan`: regions for people and for programs, and an exit code that says whether there is something."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from warm_commands import run_warm

EXAMPLES = Path(__file__).parents[2] / "examples"
AVG_POOL = Path(__file__).parents[1] / "fixtures" / "tasks" / "avg_pool.py"


def plan(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_warm("plan", *arguments)


def test_regions_are_a_table_and_json() -> None:
    done = plan(str(EXAMPLES / "mlp_gelu.py"))
    assert done.returncode == 0, done.stderr
    assert any(line.startswith("linear_gelu") and " kernel " in line for line in done.stdout.splitlines())
    document = json.loads(plan(str(EXAMPLES / "mlp_gelu.py"), "--json").stdout)
    assert [region["kernel"] for region in document["regions"]] == ["linear_gelu", "linear"]
    assert all(region["bytes_moved"] <= region["pytorch_bytes"] for region in document["regions"])
    assert all(0 < region["floor_ms"] < region["pytorch_ms"] for region in document["regions"])
    assert all(region["why"] for region in document["regions"])


def test_where_pytorch_is_kept_the_exit_code_is_3(tmp_path: Path) -> None:
    task = tmp_path / "task.py"
    task.write_text(AVG_POOL.read_text().replace("kernel_size=2", "6, stride=1"))
    done = plan(str(task))
    assert done.returncode == 3
    first, heads, *_ = done.stdout.splitlines()
    assert first.startswith("100% of PyTorch's ")
    assert " ms is one avg_pool2d (by roofline on H200; nothing was timed); no recipe for avg_pool2d; " in first
    assert "tilesmith forge --model" in first
    assert heads.split() == ["operator", "calls", "bytes", "FLOPs", "ms", "recipes"]
    assert plan("nowhere.py").returncode == 2
