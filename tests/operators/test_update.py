"""Every remedy that a check names works: after `op new --update` all files agree again."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from workshop_tools import CPU, make, workshop

from tilesmith.errors import ProjectError
from tilesmith.judge import Judge
from tilesmith.operators.checking import check_project
from tilesmith.operators.definition import parse_definition, read_definition
from tilesmith.operators.making import MadeProject, update_project
from tilesmith.operators.project import read_project

DEFINITION = '''DTYPES = ["float32"]
ACCURACY = [{"M": 7, "N": 5}]


def scaled(x, alpha: float = 2.0):
    """x * alpha."""
    return x * alpha
'''


@pytest.fixture(scope="module")
def made(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("update")
    make(parse_definition(DEFINITION, "scaled"), folder, judge)
    return folder / "scaled"


@pytest.fixture
def project(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "scaled")


def edit(path: Path, old: str, new: str) -> None:
    before, found, after = path.read_text().rpartition(old)
    assert found
    path.write_text(before + new + after)


def updated(project: Path, judge: Judge, told: list[str] | None = None) -> MadeProject:
    with pytest.raises(ProjectError, match=r"scaled --update"):
        check_project(project, CPU, host=judge)
    shop = replace(workshop(project.parent, judge), tell=(told if told is not None else []).append)
    done = update_project("scaled", project, None, shop)
    assert check_project(project, CPU, host=judge).passed
    return done


def test_a_lost_operator_toml_is_made_of_the_other_files(project: Path, judge: Judge) -> None:
    before = (project / "operator.toml").read_text()
    (project / "operator.toml").unlink()
    assert updated(project, judge).why == "the kernel is kept as it was"
    assert (project / "operator.toml").read_text() == before


def test_a_default_of_the_kernel_alone_follows_the_others(project: Path, judge: Judge) -> None:
    kernel = project / "scaled_triton.py"
    before = kernel.read_text()
    edit(kernel, "alpha: float = 2.0", "alpha: float = 3.0")
    assert updated(project, judge).why == "the kernel is kept; its entry has the others' interface now"
    assert kernel.read_text() == before


def test_a_parameter_that_is_renamed_in_the_kernel_alone_means_a_new_kernel(project: Path, judge: Judge) -> None:
    kernel = project / "scaled_triton.py"
    mine = kernel.read_text().replace("alpha", "beta")
    kernel.write_text(mine)
    updated(project, judge)
    assert "alpha: float = 2.0" in kernel.read_text()
    assert (project / "scaled_triton.py.bak").read_text() == mine


def test_a_default_in_operator_toml_reaches_every_file(project: Path, judge: Judge) -> None:
    edit(project / "operator.toml", "default = 2.0", "default = 3.0")
    updated(project, judge)
    for kind in ("triton", "baseline", "accuracy", "performance"):
        assert "alpha: float = 3.0" in (project / f"scaled_{kind}.py").read_text()


def test_a_default_of_an_edited_baseline_is_told(project: Path, judge: Judge) -> None:
    edit(project / "scaled_baseline.py", "alpha: float = 2.0", "alpha: float = 4.0")
    told: list[str] = []
    updated(project, judge, told)
    assert read_project(project).operator.scalars[0].default == 4.0
    assert "default alpha = 4.0, as in scaled_baseline.py; operator.toml had 2.0" in told


def test_other_maths_is_told_everywhere(project: Path, judge: Judge) -> None:
    edit(project / "scaled_baseline.py", "return x * alpha", "return x * alpha + 1")
    updated(project, judge)
    assert read_project(project).operator.summary == "x * alpha + 1"
    for kind in ("triton", "baseline"):
        assert '"""x * alpha + 1.\n' in (project / f"scaled_{kind}.py").read_text()


def test_prose_that_may_be_wrong_now_is_told(tmp_path: Path, judge: Judge) -> None:
    definition = parse_definition(DEFINITION.replace("x * alpha.", "A product."), "scaled")
    make(definition, tmp_path, judge)
    edit(tmp_path / "scaled" / "scaled_baseline.py", "return x * alpha", "return x * (alpha + 0)")
    told: list[str] = []
    updated(tmp_path / "scaled", judge, told)
    assert any(line.startswith('summary "A product" is kept: change it in operator.toml') for line in told)


def test_a_lost_baseline_comes_back_by_its_definition(project: Path, judge: Judge, tmp_path: Path) -> None:
    (project / "scaled_baseline.py").unlink()
    for attempt in (
        lambda: check_project(project, CPU, host=judge),
        lambda: update_project("scaled", project, None, workshop(tmp_path, judge)),
    ):
        with pytest.raises(ProjectError, match=r"put it back, or run  .* --update --out .* --from FILE$"):
            attempt()
    file = tmp_path / "scaled.py"
    file.write_text(DEFINITION)
    update_project("scaled", project, read_definition(file, "scaled"), workshop(tmp_path, judge))
    assert check_project(project, CPU, host=judge).passed


def test_a_parameter_is_not_renamed_in_operator_toml(project: Path, judge: Judge, tmp_path: Path) -> None:
    edit(project / "operator.toml", 'name = "alpha"', 'name = "beta"')
    with pytest.raises(ProjectError, match=r"are added, renamed and removed in scaled_baseline\.py, then  "):
        check_project(project, CPU, host=judge)
    with pytest.raises(ProjectError, match=r"have other parameters: change scaled_baseline\.py, too"):
        update_project("scaled", project, None, workshop(tmp_path, judge))
    edit(project / "scaled_baseline.py", "alpha: float", "beta: float")
    edit(project / "scaled_baseline.py", "x * alpha", "x * beta")
    update_project("scaled", project, None, workshop(tmp_path, judge))
    assert check_project(project, CPU, host=judge).passed
