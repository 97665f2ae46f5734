"""The export command as a user meets it: real processes, one line for each mistake, honest headers."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest
from exchange_projects import BIAS_ADD, OPERATORS, write_sample

from tilesmith.errors import ProjectError
from tilesmith.operators.exchange.exporting import export_project
from tilesmith.operators.exchange.homes import HOMES
from tilesmith.operators.project import (
    code_digest,
    passing,
    read_files,
    read_project,
    rewrite_project,
    write_project,
)
from tilesmith.operators.records import Operator


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_sample(BIAS_ADD, tmp_path)


def test_the_document_names_what_was_written(op, project: Path, tmp_path: Path) -> None:
    done = op("export", project, "--to", "module", "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["files"] == [f"bias_add/{one}.py" for one in ("__init__", "gradients", "kernels", "reference")]
    assert all((tmp_path / "out" / name).is_file() for name in document["files"])
    assert document["verified"].startswith("Verified before the export: ")
    assert op("export", project, "--to", "module", "--out", tmp_path / "out").stdout.endswith(
        "Not verified by it: speed, and what the export added.\n"
    )


@pytest.mark.parametrize("target", HOMES)
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_every_file_says_where_it_came_from(operator: Operator, target: str, tmp_path: Path) -> None:
    project = write_sample(operator, tmp_path, passed=False)
    exported = export_project(project, target, tmp_path / "out")
    for name in exported.files:
        text = (tmp_path / "out" / name).read_text(encoding="utf-8")
        assert (
            f"Exported by tilesmith 0.1.0 from the operator project {operator.name} (code of its kernel: " in text
        )
        assert "Not verified: `tilesmith op check` has not passed for this project." in text
        if name.endswith(".py"):
            compile(text, name, "exec")


def test_nothing_is_claimed_of_what_changed_since_the_check(project: Path, tmp_path: Path) -> None:
    kernel = project / "bias_add_triton.py"
    kernel.write_text(kernel.read_text().replace("# a remark", "") + "\n# a remark\n")
    assert export_project(project, "module", tmp_path / "same").verified.startswith("Verified")
    kernel.write_text(kernel.read_text().replace("BLOCK_M, BLOCK_N = 16, 64", "BLOCK_M, BLOCK_N = 32, 64"))
    changed = export_project(project, "module", tmp_path / "other").verified
    assert changed == "Not verified: triton changed since `tilesmith op check` last passed."


def test_what_is_not_verified_is_no_success(op, tmp_path: Path) -> None:
    project = write_sample(BIAS_ADD, tmp_path, passed=False)
    done = op("export", project, "--to", "module", "--out", tmp_path / "out", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["is_verified"] is False
    assert done.stderr == f"tilesmith: not verified: run  tilesmith op check {project}  and export again\n"


def test_the_device_of_the_check_is_named(project: Path, tmp_path: Path) -> None:
    passed = read_project(project)
    for device, where in (
        ("cpu", "in Triton's interpreter, on no GPU"),
        ("cuda", "on a GPU"),
        (None, "on a device"),
    ):
        write_project(passing(passed, read_files(passed), device))
        verified = export_project(project, "module", tmp_path / str(device)).verified
        assert f"`tilesmith op check` passed {where}" in verified


def test_a_test_that_was_tampered_with_is_not_exported(project: Path, tmp_path: Path) -> None:
    path = project / "bias_add_accuracy.py"
    path.write_text(path.read_text().replace("M=37", "M=1"))
    with pytest.raises(ProjectError, match=r"bias_add_accuracy\.py is not the test that operator\.toml makes"):
        export_project(project, "module", tmp_path / "out")


def test_a_file_in_the_way_is_left_alone(op, project: Path, tmp_path: Path) -> None:
    mine = tmp_path / "out" / "bias_add" / "reference.py"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine\n")
    done = op("export", project, "--to", "module", "--out", tmp_path / "out", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"] == (
        f"{mine} exists and is another file: choose another --out, or add --force"
    )
    assert mine.read_text() == "mine\n"
    assert not (tmp_path / "out" / "bias_add" / "kernels.py").exists()
    assert op("export", project, "--to", "module", "--out", tmp_path / "out", "--force").returncode == 0
    assert "x + bias" in mine.read_text()
    assert op("export", project, "--to", "module", "--out", tmp_path / "out").returncode == 0


def test_wrong_use_is_one_line(op, project: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "file").write_text("")
    mistakes = {
        ("nowhere", "--to", "module"): "nowhere: no operator project (it has no operator.toml)",
        (
            project,
            "--to",
            "flagems",
        ): "--to flagems: an operator goes to flaggems, torch-library, module, kernelgen",
    }
    for arguments, message in mistakes.items():
        done = op("export", *arguments, "--out", out)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert message in done.stderr
    inside = op("export", project, "--to", "kernelgen", "--out", project, "--force")
    assert "is the project itself: choose another folder" in inside.stderr
    blocked = op("export", project, "--to", "module", "--out", tmp_path / "file")
    assert (blocked.returncode, len(blocked.stderr.splitlines())) == (2, 1)
    assert "cannot be written" in blocked.stderr


BROKEN = {
    "missing": ("bias_add_baseline.py", None, "bias_add_baseline.py is missing"),
    "syntax": ("bias_add_triton.py", "def bias_add(:\n", "bias_add_triton.py, line 1: "),
    "no entry": (
        "bias_add_triton.py",
        "def other(x, bias): ...\n",
        "bias_add_triton.py: there is no function bias_add",
    ),
    "drift": (
        "bias_add_baseline.py",
        "def bias_add(x, other):\n    return x + other\n",
        "bias_add_baseline.py: bias_add(x, other) has no parameter 'bias'",
    ),
}


@pytest.mark.parametrize(("name", "text", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_project_is_refused_whole(
    project: Path, tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    (project / name).unlink()
    if text is not None:
        (project / name).write_text(text)
    with pytest.raises(ProjectError) as refused:
        export_project(project, "flaggems", tmp_path / "out")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_the_help_has_examples(op) -> None:
    assert "tilesmith op export bias_add --to flaggems --out" in op("export", "--help").stdout
    assert "tilesmith op import ~/Downloads/relu" in op("import", "--help").stdout


def test_names_need_no_further_import(tmp_path: Path) -> None:
    """Annotations as definitions write them, and a summary that would end a docstring."""
    x, bias = (replace(one, annotation="Tensor") for one in BIAS_ADD.parameters)
    operator = replace(BIAS_ADD, parameters=(x, bias), returns="Tensor", summary='the "best"""\nadd \\n.')
    project = write_sample(operator, tmp_path)
    for path in (project / "bias_add_triton.py", project / "bias_add_baseline.py"):
        text = path.read_text().replace("torch.Tensor", "Tensor")
        path.write_text(text.replace("import torch\n", "import torch\nfrom torch import Tensor\n"))
    moved = read_project(project)
    digest = code_digest((project / "bias_add_baseline.py").read_text())
    rewrite_project(replace(moved, operator=replace(moved.operator, baseline=digest)))
    for target in HOMES:
        export_project(project, target, tmp_path / target)
    package = (tmp_path / "module" / "bias_add" / "__init__.py").read_text()
    assert "def bias_add(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:" in package
    assert ast.get_docstring(ast.parse(package), clean=False).startswith(
        "the \"best'''  add \\n.\n".replace("  ", " ")
    )
