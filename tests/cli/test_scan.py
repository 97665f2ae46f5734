"""`tilesmith scan` shows what `tilesmith.scan` shows, of a model that it names."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from warm_commands import run_warm

import tilesmith as ts

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "tests/live"
MODEL = ("sample_package.entry:make_model", "--path", PACKAGES)


def scan(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run_warm("scan", *arguments, cwd=ROOT, env=os.environ | {"NO_COLOR": "1"})


def test_it_prints_what_the_function_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    done = scan(*MODEL, "--inputs", "make_batch", "--eval", "--gpu", "L40S")
    monkeypatch.syspath_prepend(PACKAGES)
    from sample_package.entry import make_batch, make_model

    assert done.stdout == f"{ts.scan(make_model().eval(), make_batch(), gpu='L40S')}\n", done.stderr
    assert (done.returncode, done.stderr) == (0, "making the model\n")


def test_a_task_file_as_data() -> None:
    done = scan("examples/softmax.py", "--json")
    document = json.loads(done.stdout)
    (group,) = document["groups"]
    assert (group["module_class"], group["names"], group["calls"]) == ("softmax.Model", [""], 1)
    assert group["eager_bytes"] >= group["least_bytes"] > 0
    assert group["gain_ms"] == pytest.approx(group["eager_ms"] - group["roofline"]["floor_ms"])
    assert document["gpu"]


def test_what_the_model_raises_is_one_line_with_its_place() -> None:
    done = scan(*MODEL, "--inputs", "sample_package.entry:make_wrong_batch", "--json")
    error = json.loads(done.stdout)["error"]
    assert re.search(r"sample_package/model\.py:\d+: calling the model failed: RuntimeError: ", error)
    assert (done.returncode, done.stderr) == (2, f"making the model\ntilesmith: {error}\n")


def test_a_model_that_ends_its_process_is_one_line(tmp_path: Path) -> None:
    task = tmp_path / "ends.py"
    task.write_text("import os\nos._exit(7)\n" + (ROOT / "examples/softmax.py").read_text())
    done = scan(task)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "the process that ran the model ended with exit code 7: " in done.stderr
