"""Modules of a user's package under judgment: own types as arguments, keyword arguments, outputs of every form."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from warm_commands import run_warm

from tilesmith.judge import Judge
from tilesmith.records import Evaluation, Verdict
from tilesmith.runs.event_text import mode_text
from tilesmith.tasks.user_code.task_name import TaskName

FIXTURES = Path(__file__).parents[1] / "fixtures"
KERNELS = FIXTURES / "user_kernels"
NORM = TaskName("user_package.model:Norm", path=(str(FIXTURES),))
MLP = replace(NORM, target="user_package.model:make_mlp", inputs="user_package.batches:make_batch")
RETURN = 'return {"normed": normed, "residual": total}'
DOUBLE = """\
import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def double_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 2 * tl.load(x_ptr + offs, mask=offs < N, other=0.0), mask=offs < N)

def double(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y

"""


def judged(judge: Judge, tmp_path: Path, kernel: str, task: TaskName | Path = NORM) -> Evaluation:
    path = tmp_path / "kernel.py"
    path.write_text(kernel)
    return judge.check(task, path)


def changed(old: str, new: str) -> str:
    text = (KERNELS / "norm.py").read_text()
    assert old in text
    return text.replace(old, new)


def test_a_module_of_a_package_with_a_config_and_keyword_arguments(judge: Judge) -> None:
    evaluation = judge.check(NORM, KERNELS / "norm.py")
    assert evaluation.verdict is Verdict.PASSED, evaluation.reason
    assert evaluation.generality == "general"
    assert "instead of (512, 256)" in evaluation.environment["shapes"]
    assert evaluation.environment["mode"] == "train"


def test_a_module_that_a_function_makes_with_inputs_from_another_file(judge: Judge) -> None:
    evaluation = judge.check(MLP, KERNELS / "mlp.py")
    assert evaluation.verdict is Verdict.PASSED, evaluation.reason
    assert ", 256)" in evaluation.environment["shapes"]


def test_the_order_of_keys_does_not_matter(judge: Judge, tmp_path: Path) -> None:
    evaluation = judged(judge, tmp_path, changed(RETURN, 'return {"residual": total, "normed": normed}'))
    assert evaluation.verdict is Verdict.PASSED, evaluation.reason


@pytest.mark.parametrize(
    ("old", "new", "verdict", "said"),
    [
        (RETURN, 'return {"normed": normed}', Verdict.WRONG_SHAPE, "keys normed, expected a dictionary with keys"),
        (RETURN, 'return {"normed": normed, "residual": None}', Verdict.WRONG_SHAPE, "as output 'residual'"),
        (RETURN, RETURN.replace(": total", ": total[:1]"), Verdict.WRONG_SHAPE, "output 'residual' has shape"),
        (RETURN, RETURN.replace(": total", ": normed"), Verdict.WRONG_VALUES, "output 'residual' on the"),
        (
            "        return {",
            "        residual.zero_()\n        return {",
            Verdict.WRONG_VALUES,
            "input 'residual'",
        ),
        ("residual * scale", "x * scale", Verdict.WRONG_VALUES, "output 'normed' on the"),
    ],
    ids=["no key", "none", "shape", "values", "changed input", "keyword ignored"],
)
def test_what_is_wrong_is_called_by_its_name(
    judge: Judge, tmp_path: Path, old: str, new: str, verdict: Verdict, said: str
) -> None:
    evaluation = judged(judge, tmp_path, changed(old, new))
    assert evaluation.verdict is verdict, evaluation.reason
    assert said in evaluation.reason


@pytest.mark.parametrize(
    "deed",
    ["open(FILE, 'a').write('# changed')", "open(FILE).read()", "import user_package.model as m; open(m.__file__)"],
)
def test_the_users_files_are_not_the_kernels_to_touch(judge: Judge, tmp_path: Path, deed: str) -> None:
    file = FIXTURES / "user_package" / "config.py"
    before = file.read_text()
    kernel = changed(
        "        x, residual =", f"        {deed.replace('FILE', repr(str(file)))}\n        x, residual ="
    )
    evaluation = judged(judge, tmp_path, kernel)
    assert evaluation.verdict is Verdict.CHEATING, evaluation.reason
    assert file.read_text() == before


def test_the_wall_holds_where_nobody_watches(judge: Judge) -> None:
    """The grants of a candidate: own files to be read, and nothing of the user's to be written."""
    from tilesmith.judge.machine.kernel_imports import grants_for_types
    from tilesmith.tasks.source import read_task

    grants = grants_for_types(read_task(NORM))
    assert {Path(one).name for one in grants.readable} >= {"config.py", "layers.py", "model.py", "statistics.py"}
    assert "batches.py" not in {Path(one).name for one in grants.readable}
    assert grants.writable == ()


OWN_CONFIG = """\
from dataclasses import dataclass
from typing import NamedTuple
import torch
from torch import nn

ROWS = 40_000

@dataclass
class Config:
    width: int = 16
    @property
    def half(self): return self.width // 2

class Norms(NamedTuple):
    first: torch.Tensor
    rest: tuple

@dataclass
class Output:
    norms: Norms
    loss: torch.Tensor | None = None

class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.half = config.half
    def forward(self, x, config=None):
        return Output(Norms(x * 2, ({"deep": x[:, : self.half] * 2},)))

def get_init_inputs(): return {"config": Config()}
def get_inputs(): return torch.randn(ROWS, 16)
"""
OWN_OUTPUT = """
class ModelNew(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.half = config.half
    def forward(self, x, config=None):
        both = double(x)
        return {"norms": (both, [{"deep": DEEP}]), "loss": None}
"""


def test_types_of_the_task_itself_and_outputs_in_dataclasses(judge: Judge, tmp_path: Path) -> None:
    task = tmp_path / "net.py"
    task.write_text(OWN_CONFIG)
    right = DOUBLE + OWN_OUTPUT.replace("DEEP", "both[:, : self.half]")
    evaluation = judged(judge, tmp_path, right, task)
    assert evaluation.verdict is Verdict.PASSED, evaluation.reason
    evaluation = judged(judge, tmp_path, DOUBLE + OWN_OUTPUT.replace("DEEP", "both[:, self.half :]"), task)
    assert evaluation.verdict is Verdict.WRONG_VALUES
    assert "output 'norms'[1][0]['deep'] on the" in evaluation.reason
    evaluation = judged(judge, tmp_path, right.replace('"loss": None', '"loss": both'), task)
    assert "returned a tensor as output 'loss', expected the value None" in evaluation.reason


DICTIONARY_OUTPUT = """\
from collections import OrderedDict
from dataclasses import dataclass, fields
import torch
from torch import nn

class ModelOutput(OrderedDict):
    def __post_init__(self):
        for one in fields(self):
            if getattr(self, one.name) is not None:
                OrderedDict.__setitem__(self, one.name, getattr(self, one.name))
    def __getitem__(self, key):
        return dict(self.items())[key] if isinstance(key, str) else tuple(self.values())[key]

@dataclass
class Output(ModelOutput):
    loss: torch.Tensor = None
    logits: torch.Tensor = None

"""
DICTIONARY_MODEL = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
    def forward(self, *, x, mask=None):
        return Output(logits=self.drop(x) * 2)
def get_inputs(): return {"x": torch.randn(300_000)}
"""
DICTIONARY_KERNEL = """
class ModelNew(nn.Module):
    def forward(self, *, x, mask=None):
        return RETURNED
"""


def test_outputs_that_are_dictionaries_and_dataclasses_and_the_mode(judge: Judge, tmp_path: Path) -> None:
    task = tmp_path / "net.py"
    task.write_text(DICTIONARY_OUTPUT + DICTIONARY_MODEL)
    for returned in ("Output(logits=double(x))", '{"logits": double(x)}'):
        kernel = DOUBLE + DICTIONARY_OUTPUT + DICTIONARY_KERNEL.replace("RETURNED", returned)
        evaluation = judged(judge, tmp_path, kernel, task)
        assert evaluation.verdict is Verdict.PASSED, evaluation.reason
        assert "judged in eval mode: the module is random in training mode" in evaluation.notes
        assert evaluation.environment["mode"] == "eval"
    lazy = "class Lazy(Output):\n    def items(self):\n        return [('logits', double(self.x))]\n"
    kernel = DOUBLE + DICTIONARY_OUTPUT + lazy + DICTIONARY_KERNEL.replace("RETURNED", "Lazy(logits=double(x))")
    assert "may compute its values later" in judged(judge, tmp_path, kernel, task).reason


def test_attention_without_dropout_is_surveyed_in_the_mode_it_is_built_in(judge: Judge, tmp_path: Path) -> None:
    task = tmp_path / "attention.py"
    task.write_text(
        "import torch\nfrom torch import nn\nclass Model(nn.Module):\n    def forward(self, q):\n"
        "        return nn.functional.scaled_dot_product_attention(q, q, q)\n"
        "def get_inputs(): return torch.randn(1, 2, 32, 16)\n"
    )
    assert mode_text(judge.survey(task)) == ""


def test_the_survey_names_the_model_and_tells_what_it_imports(judge: Judge) -> None:
    survey = judge.survey(NORM)
    assert (survey.task, survey.model, survey.is_function) == ("Norm", "Norm", False)
    assert "class RootMeanSquare" in survey.imports["user_package/layers.py"]
    assert [one.argument for one in survey.graph.inputs if one.shape] == ["x", "residual"]
    made = judge.survey(MLP)
    assert (made.model, made.is_function) == ("make_mlp", True)
    assert "def make_batch" in made.imports["user_package/batches.py"]
    assert "make_batch" not in made.source


def test_the_command_takes_a_module(tmp_path: Path) -> None:
    options = ["--path", FIXTURES, "--device", "cpu", "--eval", "--json"]
    done = run_warm("check", "user_package.model:Norm", KERNELS / "norm.py", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    evaluation = json.loads(done.stdout)
    assert evaluation["verdict"] == "passed"
    assert evaluation["environment"]["mode"] == "eval"
