"""What a kernel may read beside itself: what it imports, and nothing else that lies there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilesmith.judge import Judge
from tilesmith.judge.machine.kernel_imports import grants_for
from tilesmith.lint import read_kernel


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernel.py").write_text("")
    (tmp_path / "near.py").write_text("from further import thing\nimport package.part")
    (tmp_path / "further.py").write_text("import near")
    (tmp_path / "other.py").write_text("")
    (tmp_path / "Documents").mkdir()
    (tmp_path / "package").mkdir()
    for name in ("__init__.py", "part.py"):
        (tmp_path / "package" / name).write_text("")
    return tmp_path


def readable(folder: Path, text: str) -> set[str]:
    return {Path(path).name for path in grants_for(folder / "kernel.py", read_kernel(text)).readable}


def test_a_kernel_alone_sees_itself(folder: Path) -> None:
    grants = grants_for(folder / "kernel.py", read_kernel("import torch, triton"))
    assert grants.readable == (str(folder / "kernel.py"),)
    assert grants.listable == ()


def test_what_it_imports_and_what_that_imports(folder: Path) -> None:
    assert readable(folder, "def f():\n    from near import x") == {"kernel.py", "near.py", "further.py", "package"}
    assert grants_for(folder / "kernel.py", read_kernel("import near")).listable == (str(folder),)


def test_a_folder_that_is_no_package_is_not_opened_by_naming_it(folder: Path) -> None:
    assert readable(folder, "import Documents") == {"kernel.py"}


@pytest.mark.parametrize("text", ["from . import near", "from .. import near"])
def test_relative_imports_grant_nothing(folder: Path, text: str) -> None:
    assert readable(folder, text) == {"kernel.py"}


@pytest.mark.parametrize("text", ["import", "x = (", "\0"])
def test_a_neighbor_that_cannot_be_parsed_grants_only_itself(folder: Path, text: str) -> None:
    (folder / "near.py").write_text(text)
    assert readable(folder, "import near") == {"kernel.py", "near.py"}


def test_a_kernel_with_a_neighbour_is_judged(judge: Judge, fixtures: Path, tmp_path: Path) -> None:
    text = (fixtures / "kernels/relu_persistent.py").read_text()
    (tmp_path / "kernel.py").write_text(f"{text}\nfrom near import FACTOR\nassert FACTOR == 1\n")
    (tmp_path / "near.py").write_text("FACTOR = 1")
    evaluation = judge.check(fixtures / "tasks/relu.py", tmp_path / "kernel.py")
    assert evaluation.passed, evaluation.reason
