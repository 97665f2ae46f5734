"""A project of one operator as it is written, in memory, and what is said of one that was changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tilesmith.errors import ProjectError
from tilesmith.operators.definition import parse_definition
from tilesmith.operators.kernels.kernel_file import KernelVariant, triton_text
from tilesmith.operators.project import code_digest, passing
from tilesmith.operators.records import Project
from tilesmith.operators.writing import accuracy_text, baseline_text, performance_text

DEFINITION = '''"""The softmax of each row, divided by a temperature before."""
import torch

def softmax(x: torch.Tensor, temperature: float = 2.0) -> torch.Tensor:
    return torch.softmax(x / temperature, dim=-1)
'''
KERNEL = """import torch
import torch.nn as nn

class ModelNew(nn.Module):
    def forward(self, NAMES):
        return launch(NAMES)
"""
Texts = dict[str, str]


def written(text: str = DEFINITION, folder: Path = Path("softmax")) -> tuple[Project, Texts]:
    definition = parse_definition(text, "softmax")
    texts = {"baseline": baseline_text(definition)}
    operator = replace(definition.operator, baseline=code_digest(texts["baseline"]))
    kernel = KERNEL.replace("NAMES", ", ".join(one.name for one in operator.parameters))
    texts |= {
        "triton": triton_text(operator, [KernelVariant(operator.dtypes, kernel)]),
        "accuracy": accuracy_text(operator),
        "performance": performance_text(operator),
    }
    project = passing(Project(folder, operator), texts)
    return project, texts


def complaint(check: Callable[[Project, Texts], None], project: Project, texts: Texts) -> str:
    with pytest.raises(ProjectError) as raised:
        check(project, texts)
    assert "\n" not in str(raised.value)
    return str(raised.value)
