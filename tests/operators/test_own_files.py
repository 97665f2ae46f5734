"""What a user wrote by hand outlives op new, --update and op check."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sample_operators import BIAS_ADD
from workshop_tools import example, make, workshop

from tilesmith.errors import UsageError
from tilesmith.judge import Judge
from tilesmith.operators.definition import define_expression, with_shapes
from tilesmith.operators.making import make_project, update_project
from tilesmith.operators.project import passing, read_project, rewrite_project, toml_text, write_project
from tilesmith.operators.records import KINDS, Project


@pytest.mark.parametrize("kind", ["triton", "accuracy"])
def test_a_new_project_replaces_no_file(kind: str, tmp_path: Path, judge: Judge) -> None:
    mine = tmp_path / f"bias_add_{kind}.py"
    mine.write_text("mine\n")
    with pytest.raises(UsageError, match=rf"bias_add_{kind}\.py is there already: move it away"):
        make_project(example("bias_add"), tmp_path, workshop(tmp_path, judge))
    assert [path.name for path in tmp_path.iterdir()] == [mine.name]
    assert mine.read_text() == "mine\n"


REMARK = "# my remark\n"
OWN_TABLE = '[mine]\nnote = "for me"\n'
TEXTS = {kind: f"value = '{kind}'\n" for kind in KINDS}


@pytest.fixture
def noted(tmp_path: Path) -> Project:
    """A project with remarks of its user in operator.toml, which is a link."""
    (tmp_path / "elsewhere.toml").write_text(f"{REMARK}{toml_text(Project(tmp_path, BIAS_ADD))}\n{OWN_TABLE}")
    (tmp_path / "operator.toml").symlink_to("elsewhere.toml")
    return read_project(tmp_path)


def test_a_pass_is_noted_in_the_file_as_it_is_now(noted: Project) -> None:
    toml = noted.folder / "operator.toml"
    for texts in (TEXTS, TEXTS | {"triton": "value = 2\n"}):
        toml.write_text(toml.read_text().replace("target = 1.0", "target = 1.25"))  # while the check ran
        write_project(passing(noted, texts))
        found = read_project(noted.folder)
        assert found.passed == passing(noted, texts).passed
        assert found.operator == replace(noted.operator, target=1.25)
        assert toml.read_text().startswith(REMARK)
        assert OWN_TABLE in toml.read_text()
    assert toml.is_symlink()


def test_an_update_keeps_remarks_or_the_old_file(noted: Project) -> None:
    toml = noted.folder / "operator.toml"
    noted = replace(noted, operator=replace(noted.operator, baseline="0" * 64))
    toml.write_text(toml_text(noted).replace("[shapes]", f"{REMARK}[shapes]"))
    later = replace(noted, operator=replace(noted.operator, baseline="1" * 64))
    assert rewrite_project(passing(later, TEXTS)) is None
    assert REMARK in toml.read_text()
    assert read_project(noted.folder) == passing(later, TEXTS)
    before = toml.read_text()
    other = replace(later, operator=replace(later.operator, dtypes=("float32",)))
    kept = rewrite_project(other)
    assert kept is not None
    assert kept.read_text() == before
    assert read_project(noted.folder) == other


def test_an_update_keeps_a_kernel_that_is_right_and_sets_aside_one_that_is_not(
    tmp_path: Path, judge: Judge
) -> None:
    definition = with_shapes(define_expression("plus", "x + 1"), {"x": ["M", "N"]})
    operator = replace(definition.operator, accuracy=({"M": 7, "N": 5},), dtypes=("float32", "float16"))
    make(replace(definition, operator=operator), tmp_path, judge)
    folder = tmp_path / "plus"
    kernel, toml, baseline = (folder / name for name in ("plus_triton.py", "operator.toml", "plus_baseline.py"))
    mine = f"# mine\n{kernel.read_text()}".replace("; float32, float16", "; float32")
    mine = mine.replace("DTYPES = (torch.float32, torch.float16)", "DTYPES = (torch.float32,)")
    kernel.write_text(mine)
    toml.write_text(toml.read_text().replace('["float32", "float16"]', '["float32"]'))
    made = update_project("plus", folder, None, workshop(tmp_path, judge))
    assert made.why == "the kernel is kept as it was"
    assert "plus_triton.py" not in made.files
    assert kernel.read_text() == mine
    baseline.write_text(baseline.read_text().replace("x + 1", "x + 2"))
    update_project("plus", folder, None, workshop(tmp_path, judge))
    assert "# mine" not in kernel.read_text()
    assert (folder / "plus_triton.py.bak").read_text() == mine
