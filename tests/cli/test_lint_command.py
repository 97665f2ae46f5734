"""The lint command as a user meets it: real processes, documented exit codes, one JSON document."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from warm_commands import run_warm

ROOT = Path(__file__).parents[2]
NO_MASK = str(ROOT / "examples" / "kernels" / "softmax_no_mask.py")
GOOD = str(ROOT / "examples" / "kernels" / "softmax.py")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_warm("lint", *arguments)


def test_a_finding_names_file_line_and_rule() -> None:
    done = run(NO_MASK)
    assert done.returncode == 0
    assert f"{NO_MASK}:35: warning:" in done.stdout
    assert "[missing-mask]" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("normalization, complexity medium, 3 warnings")


def test_an_error_is_exit_code_one(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("def f(:\n", encoding="utf-8")
    done = run(str(broken), "--json")
    assert done.returncode == 1
    (document,) = json.loads(done.stdout)
    assert document["kernel_type"] == "unknown"
    assert [(f["id"], f["severity"], f["line"]) for f in document["findings"]] == [("syntax-error", "error", 1)]


def test_a_bad_path_does_not_hide_the_others() -> None:
    done = run("nowhere.py", NO_MASK, "--json")
    assert done.returncode == 2
    missing, read = json.loads(done.stdout)
    assert "cannot read" in missing["error"]
    assert read["kernel_type"] == "normalization"


def test_one_file_and_several_have_one_shape() -> None:
    (one,), (first, second) = (json.loads(run(*files, "--json").stdout) for files in ((GOOD,), (GOOD, NO_MASK)))
    assert one == first
    assert one.keys() == second.keys()
    alone = run("nowhere.py", "--json")
    assert alone.returncode == 2
    assert len(alone.stderr.splitlines()) == 1
    (missing,) = json.loads(alone.stdout)
    assert "cannot read" in missing["error"]


def test_a_file_too_large_to_read_is_no_success(tmp_path: Path) -> None:
    huge = tmp_path / "huge.py"
    huge.write_text("# é\n" * 1_000_000, encoding="utf-8")
    done = run(str(huge), "--json")
    assert done.returncode == 2
    ((finding,),) = (file["findings"] for file in json.loads(done.stdout))
    assert (finding["id"], finding["severity"]) == ("not-read", "warning")


def test_wrong_use_is_one_line_and_one_document() -> None:
    done = run("--bogus", "--json")
    assert done.returncode == 2
    assert "--bogus" in json.loads(done.stdout)["error"]
    assert len(done.stderr.splitlines()) == 1


def test_a_task_makes_the_interface_count(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        Path(GOOD).read_text(encoding="utf-8").replace("def forward(self, ", "def forward(self, extra, ")
    )
    done = run(str(kernel), "--task", str(ROOT / "examples" / "softmax.py"))
    assert done.returncode == 1
    assert "[interface-mismatch]" in done.stdout


def test_lessons_are_shown_and_near_names_offered() -> None:
    assert "CORRECT" in run("--explain", "missing-mask").stdout
    assert "unsafe-exp" in run("--explain", "all").stdout
    assert "did you mean missing-mask?" in run("--explain", "missing_msk").stderr
