"""Operator projects to export: each has what another lacks (leading sizes, indices, scalars, several outputs)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tilesmith.operators.project import code_digest, passing, write_project
from tilesmith.operators.records import Operator, OperatorParameter, Project
from tilesmith.operators.writing import accuracy_text, performance_text

KERNELS = Path(__file__).parent / "kernels"
BIAS_ADD = Operator(
    name="bias_add",
    parameters=(OperatorParameter("x", shape=("M", "N")), OperatorParameter("bias", shape=("N",))),
    summary="x plus a bias for each column",
    dtypes=("float32", "float16"),
    accuracy=({"M": 1, "N": 1}, {"M": 37, "N": 53}),
    performance=({"M": 4096, "N": 4096}, {"M": 65536, "N": 64}),
)
SCALED_SOFTMAX = Operator(
    name="scaled_softmax",
    parameters=(
        OperatorParameter("x", shape=("...", "N")),
        OperatorParameter("scale", "float", "scalar", default=1.0),
    ),
    summary="softmax over the last dimension",
    dtypes=("float32",),
    arithmetic="reduction",
    accuracy=({"...": (5,), "N": 7}, {"...": (2, 3), "N": 17}),
    performance=({"...": (4096,), "N": 1024},),
)
PICK_AND_MAX = Operator(
    name="pick_and_max",
    parameters=(
        OperatorParameter("x", shape=("M", "N")),
        OperatorParameter("index", shape=("M",), dtype="int64", below="N"),
        OperatorParameter("scale", "float", "scalar", value=0.5),
    ),
    returns="tuple[torch.Tensor, torch.Tensor]",
    dtypes=("float32",),
    accuracy=({"M": 3, "N": 5}, {"M": 7, "N": 130}),
    performance=({"M": 4096, "N": 4096},),
)
DOUBLED = Operator(
    name="doubled",
    parameters=(OperatorParameter("x", shape=("N",)),),
    dtypes=("float32",),
    arithmetic="exact",
    accuracy=({"N": 1}, {"N": 200}),
    performance=({"N": 1 << 24},),
)
"""Its kernel is autotuned."""
OPERATORS = (BIAS_ADD, SCALED_SOFTMAX, PICK_AND_MAX, DOUBLED)

GRADIENT = """
import torch
from pick_and_max_library import pick_and_max

x = torch.randn(7, 130, requires_grad=True)
index = torch.randint(0, 130, (7,))
picked, largest = pick_and_max(x, index, scale=0.5)
picked.sum().backward()
expected = torch.zeros_like(x).scatter_(1, index[:, None], 0.5)
assert torch.equal(x.grad, expected), "one output's gradient"
y = torch.randn(3, 5)
assert not pick_and_max(y, index[:3] % 5, 1.0)[0].requires_grad
"""
"""A program that asks PICK_AND_MAX for a gradient."""


def write_sample(operator: Operator, folder: Path, passed: bool = True) -> Path:
    """A project as `op new` leaves it, and `op check` where it passed."""
    texts = {
        kind: (KERNELS / operator.file_name(kind)).read_text(encoding="utf-8") for kind in ("triton", "baseline")
    }
    texts |= {"accuracy": accuracy_text(operator), "performance": performance_text(operator)}
    project = Project(folder / operator.name, replace(operator, baseline=code_digest(texts["baseline"])))
    write_project(passing(project, texts) if passed else project)
    for kind, text in texts.items():
        project.path(kind).write_text(text, encoding="utf-8")
    return project.folder
