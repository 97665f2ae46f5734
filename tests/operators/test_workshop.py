"""Operators taken through new and check, with the real forge and the real judge, without a GPU."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from workshop_tools import CPU, example, make, workshop

from tilesmith.errors import ProjectError, UsageError
from tilesmith.judge import Judge
from tilesmith.operators.checking import NOT_MEASURED, OperatorCheck, check_project
from tilesmith.operators.definition import define_expression, parse_definition, with_shapes
from tilesmith.operators.exchange.exporting import export_project
from tilesmith.operators.making import make_project, update_project
from tilesmith.operators.project import passing, read_files, read_project, write_project
from tilesmith.operators.records import Sizes
from tilesmith.operators.tuning.constants import read_tuning
from tilesmith.operators.tuning.shape_choice import with_dispatch
from tilesmith.operators.tuning.tuner import WITHOUT_GPU, TuneOptions, tune_project

SMALL = ({"M": 7, "N": 5}, {"M": 0, "N": 5})
Edit = Callable[[str], str]


@pytest.fixture(scope="module")
def bias_add(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workshop")
    made = make(example("bias_add"), folder, judge)
    assert made.accuracy is not None
    assert made.accuracy.passed, made.accuracy.reason
    return folder / "bias_add"


@pytest.fixture
def project(bias_add: Path, tmp_path: Path) -> Path:
    return shutil.copytree(bias_add, tmp_path / "bias_add")


def run(folder: Path, kind: str) -> subprocess.CompletedProcess[str]:
    file = folder / f"{folder.name}_{kind}.py"
    return subprocess.run([sys.executable, str(file)], capture_output=True, text=True, cwd="/")


def edited(folder: Path, kind: str, old: str, new: str) -> None:
    path = folder / f"{folder.name}_{kind}.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def checked(folder: Path, judge: Judge) -> OperatorCheck:
    return check_project(folder, CPU, host=judge)


def test_a_new_project_is_checked_and_runs_by_hand(project: Path, judge: Judge) -> None:
    found = checked(project, judge)
    assert found.passed
    assert found.change == "nothing changed since the last check that passed"
    assert len(found.accuracy.cases) == 30
    assert "float16 M=37 N=53, strided" in found.accuracy.cases
    assert found.performance is not None
    assert found.performance.reason == NOT_MEASURED
    by_hand = run(project, "accuracy")
    assert by_hand.returncode == 0, by_hand.stdout
    assert "30 passed" in by_hand.stdout
    assert run(project, "performance").stdout == f"{NOT_MEASURED}\n"


@pytest.mark.parametrize(
    ("old", "new", "case"),
    [
        pytest.param("add = x + bias", "add = x - bias", "bfloat16 M=1 N=1", marks=pytest.mark.slow_suite),
        ("x, bias = x.contiguous(), bias.contiguous()", "y = x", "out-of-bounds load"),
        pytest.param(
            "mask = offs < numel", "mask = offs < numel - 1", "bfloat16 M=1 N=1", marks=pytest.mark.slow_suite
        ),
    ],
)
def test_a_wrong_kernel_stops_the_check(old: str, new: str, case: str, project: Path, judge: Judge) -> None:
    edited(project, "triton", old, new)
    found = checked(project, judge)
    assert not found.passed
    assert found.performance is None
    assert case in found.accuracy.reason
    assert found.change.startswith("the kernel alone: bias_add_triton.py changed")
    assert run(project, "accuracy").returncode == 1


def test_a_change_of_maths_is_accepted_by_an_update(project: Path, judge: Judge) -> None:
    before = read_project(project)
    edited(project, "baseline", "return x + bias", "return x - bias")
    made = update_project("bias_add", project, None, workshop(project.parent, judge))
    assert made.accuracy is not None
    assert made.accuracy.passed, made.accuracy.reason
    after = read_project(project)
    assert after.operator == replace(before.operator, baseline=after.operator.baseline)
    assert "x - bias" in (project / "bias_add_triton.py").read_text()


def test_other_shapes_are_an_update_that_keeps_the_kernel(project: Path, judge: Judge) -> None:
    kernel = (project / "bias_add_triton.py").read_text()
    toml = project / "operator.toml"
    toml.write_text(toml.read_text().replace("{M = 37, N = 53}", "{M = 41, N = 43}"))
    made = update_project("bias_add", project, None, workshop(project.parent, judge))
    assert made.why == "the kernel is kept as it was"
    assert (project / "bias_add_triton.py").read_text() == kernel
    assert "dict(M=41, N=43)" in (project / "bias_add_accuracy.py").read_text()


def test_a_project_is_not_overwritten(project: Path, judge: Judge) -> None:
    with pytest.raises(UsageError, match="has an operator already; --update writes its files anew"):
        make_project(example("bias_add"), project, workshop(project.parent, judge))


def test_a_scalar_is_an_argument_of_the_kernel(tmp_path: Path, judge: Judge) -> None:
    """Also where its usual value is one that means itself; a kernel that bakes it in fails the check."""
    definition = with_shapes(define_expression("scaled", "x * scale + 1", ["scale"]), {"x": ["M", "N"]})
    definition = replace(definition, operator=replace(definition.operator, accuracy=SMALL, dtypes=("float32",)))
    made = make(definition, tmp_path, judge)
    assert made.accuracy is not None
    assert made.accuracy.passed, made.accuracy.reason
    assert "float32 M=7 N=5, scale=0.75" in made.accuracy.cases
    edited(tmp_path / "scaled", "triton", "scale=scale", "scale=0.5")
    found = checked(tmp_path / "scaled", judge)
    assert "output 'float32 M=7 N=5, scale=0.75' " in found.accuracy.reason


def test_two_scalars_of_an_expression_are_two_arguments(tmp_path: Path, judge: Judge) -> None:
    definition = define_expression("bounded", "torch.clamp(x, low, high)", ["low=-1", "high"])
    operator = replace(definition.operator, accuracy=({"...": (7,)},), dtypes=("float32",))
    made = make(replace(definition, operator=operator), tmp_path, judge)
    assert made.why == "a kernel for float32"
    assert made.accuracy is not None
    assert made.accuracy.cases[-2:] == ("float32 ...=7, low=-1.75", "float32 ...=7, high=0.75")
    assert made.accuracy.passed, made.accuracy.reason


@pytest.mark.parametrize(
    ("expression", "sizes"),
    [
        ("x.sum(0)", ({"M": 0, "N": 3}, {"M": 200, "N": 3}, {"M": 3, "N": 0})),
        pytest.param("x.sum()", ({"M": 0, "N": 3}, {"M": 7, "N": 5}), marks=pytest.mark.slow_suite),
        pytest.param("torch.softmax(x, -1)", ({"M": 7, "N": 5}, {"M": 3, "N": 0}), marks=pytest.mark.slow_suite),
    ],
)
def test_sums_take_nothing_and_run_by_hand(
    expression: str, sizes: tuple[Sizes, ...], tmp_path: Path, judge: Judge
) -> None:
    definition = define_expression("total", expression)
    made = make(
        replace(definition, operator=replace(definition.operator, accuracy=sizes, dtypes=("float32",))),
        tmp_path,
        judge,
    )
    assert made.accuracy is not None
    assert made.accuracy.passed, made.accuracy.reason
    by_hand = run(tmp_path / "total", "accuracy")
    assert by_hand.returncode == 0, by_hand.stdout


@pytest.mark.slow_suite
def test_rows_that_no_program_can_hold_are_taken_in_parts(tmp_path: Path, judge: Judge) -> None:
    definition = define_expression("rows", "torch.softmax(x, -1)")
    sizes = ({"M": 2, "N": 70001}, {"M": 37, "N": 53}, {"M": 3, "N": 0}, {"M": 1, "N": 1})
    few = replace(definition.operator, accuracy=sizes, dtypes=("float32",))
    made = make(replace(definition, operator=few), tmp_path, judge)
    assert made.accuracy is not None
    assert made.accuracy.passed, made.accuracy.reason
    by_hand = run(tmp_path / "rows", "accuracy")
    assert "rows takes tensors on one GPU: its programs wait for one another, and a CPU runs" in by_hand.stdout


@pytest.mark.slow_suite
def test_sizes_that_pytorch_refuses_are_left_out(tmp_path: Path, judge: Judge) -> None:
    text = "import torch\nDTYPES = ['float32']\ndef halves(x): return x.view(x.shape[0], 2, -1).sum(1)\n"
    definition = parse_definition(text, "halves")
    told: list[str] = []
    shop = replace(workshop(tmp_path, judge), tell=told.append)
    make_project(definition, tmp_path / "halves", shop)
    assert {"M": 64, "N": 128} in read_project(tmp_path / "halves").operator.accuracy
    assert any(line.startswith("shapes  M=37 N=53 left out, because in PyTorch: ") for line in told)


@pytest.mark.slow_suite
def test_a_sum_that_no_half_holds_is_written_for_others(tmp_path: Path, judge: Judge) -> None:
    """Of any sizes, which it sums all."""
    text = "import torch\nSHAPES = {'x': ['...'], 'y': ['...']}\nDTYPES = ['float16', 'float32']\n"
    text += "ACCURACY = [{'...': (37,)}, {'...': (2, 3)}]\ndef total(x, y): return (x * y).square().sum()\n"
    made = make(parse_definition(text, "total"), tmp_path, judge)
    assert made.accuracy is not None
    assert made.accuracy.passed, made.accuracy.reason
    assert made.why.startswith("a kernel for float32; float16 left out, because in PyTorch, at ...=1048576: ")


def test_half_of_a_scalar_is_no_number_of_its_own(tmp_path: Path, judge: Judge) -> None:
    definition = define_expression("loss", "F.huber_loss(x, y, delta=delta)", ["delta=1.0"])
    operator = replace(definition.operator, accuracy=SMALL[:1], dtypes=("float32",))
    made = make(replace(definition, operator=operator), tmp_path, judge)
    assert made.accuracy is not None
    assert made.accuracy.passed, made.accuracy.reason


def test_pytorch_is_kept_where_the_author_has_no_kernel(tmp_path: Path, judge: Judge) -> None:
    text = "import torch\nDTYPES = ['float32']\ndef inverse(x): return torch.linalg.pinv(x)\n"
    definition = parse_definition(text, "inverse")
    definition = replace(definition, operator=replace(definition.operator, accuracy=SMALL[:1]))
    made = make(definition, tmp_path, judge)
    assert made.keeps_pytorch
    assert made.accuracy is None
    assert "inverse_triton.py" not in made.files
    assert (tmp_path / "inverse" / "inverse_accuracy.py").exists()


def test_tuning_without_a_gpu_asks_the_compiler_and_says_so(project: Path, judge: Judge) -> None:
    before = {path.name: path.read_text() for path in project.iterdir()}
    found = tune_project(project, CPU, TuneOptions(), host=judge)
    assert not found.changed
    assert found.tried > 4
    assert found.why.endswith(WITHOUT_GPU)
    after = {path.name: path.read_text() for path in project.iterdir()}
    assert "no spills, " in after.pop("history.md")
    assert after == before


@pytest.mark.slow_suite
def test_configurations_for_autotune_are_checked(project: Path, judge: Judge) -> None:
    found = tune_project(project, CPU, TuneOptions(autotune=True), host=judge)
    assert found.changed
    text = (project / "bias_add_triton.py").read_text()
    assert text.count("triton.Config(") == 4
    assert 'key=["numel", "D1"],' in text
    assert checked(project, judge).passed
    with pytest.raises(ProjectError, match=r"by shape already: copy \S+/bias_add_triton.py.bak to it to tune"):
        tune_project(project, CPU, TuneOptions(), host=judge)
    (project / "bias_add_triton.py.bak").replace(project / "bias_add_triton.py")
    assert tune_project(project, CPU, TuneOptions(), host=judge).right


def test_an_edit_during_tuning_is_not_lost(project: Path, judge: Judge) -> None:
    path = project / "bias_add_triton.py"

    def edit(text: str) -> tuple[()]:
        path.write_text(f"{text}# mine\n")
        return ()

    with pytest.raises(ProjectError, match="was changed meanwhile"):
        tune_project(project, CPU, TuneOptions(autotune=True, suggest=edit), host=judge)
    assert path.read_text().endswith("# mine\n")


def test_a_shape_that_is_left_to_pytorch_is_checked_as_a_kernel(project: Path, judge: Judge) -> None:
    path = project / "bias_add_triton.py"
    operator, text = read_project(project).operator, path.read_text()
    choices = [(sizes, read_tuning(text) if place else None) for place, sizes in enumerate(operator.performance)]
    pytorch = parse_definition((project / "bias_add_baseline.py").read_text(), "bias_add")
    path.write_text(with_dispatch(text, operator, choices, pytorch))
    assert checked(project, judge).passed
    assert run(project, "accuracy").returncode == 0
    edited(project, "triton", "add = x + bias", "add = x - bias")
    assert not checked(project, judge).passed


def test_a_wrong_kernel_is_not_tuned(project: Path, judge: Judge) -> None:
    edited(project, "triton", "add = x + bias", "add = x - bias")
    found = tune_project(project, CPU, TuneOptions(), host=judge)
    assert found.why.startswith("bias_add_triton.py is wrong, so nothing was tried: output ")
    assert not found.right


def test_what_passed_and_does_not_any_more_is_not_called_verified(project: Path, judge: Judge) -> None:
    edited(project, "triton", "add = x + bias", "add = x - bias")
    found = read_project(project)
    write_project(passing(found, read_files(found), "cuda"))
    assert not checked(project, judge).passed
    assert not export_project(project, "module", project.parent / "out").is_verified


def test_dispatch_needs_a_gpu(project: Path, judge: Judge) -> None:
    with pytest.raises(UsageError, match="--dispatch needs a GPU"):
        tune_project(project, CPU, TuneOptions(dispatch=True), host=judge)
