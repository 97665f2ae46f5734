"""What ModelNew takes over from the task: enough to be built alike, and nothing else."""

from __future__ import annotations

import pytest

from tilesmith.playbook.symbols import Unmatched
from tilesmith.playbook.taskcode import read_task_code

TASK = '''
import math, json
import torch
from torch import nn
from torch.nn import functional as F

WIDTH = 2 * HALF if (HALF := 8) else 0
BATCH = 4
UNUSED = 1


def doubled(x):
    return 2 * x


class Scale(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.full((size,), math.pi))


class Model(nn.Module):
    """Says what it does."""

    kind = "plain"

    def __init__(self, size=doubled(3), BATCH=1):
        super(Model, self).__init__()
        self.scale = Scale(size + WIDTH)  # keeps its comment
        self.batch = BATCH
        self._prepare()

    def _prepare(self):
        self.prepared = True

    def _only_forward(self, x):
        return F.relu(x)

    def forward(self, x: torch.Tensor, twice: bool = False) -> torch.Tensor:
        return self._only_forward(x)


def get_inputs():
    return [torch.randn(BATCH, 3)]
'''


def test_the_constructor_comes_with_all_it_needs():
    code = read_task_code("task", TASK)
    assert code.imports == ("import math",)
    assert [text.split("\n")[0] for text in code.definitions] == [
        "WIDTH = 2 * HALF if (HALF := 8) else 0",
        "def doubled(x):",
        "class Scale(nn.Module):",
    ]
    assert code.bases == "nn.Module"
    assert code.signature == "self, x: torch.Tensor, twice: bool=False"
    assert code.returns == " -> torch.Tensor"


def test_the_class_is_taken_over_word_for_word_under_its_new_name():
    body = read_task_code("task", TASK).body
    assert "super(ModelNew, self).__init__()" in body
    assert "self.scale = Scale(size + WIDTH)  # keeps its comment" in body
    assert 'kind = "plain"' in body
    assert "def _prepare(self):" in body


def test_what_only_forward_uses_stays_behind():
    code = read_task_code("task", TASK)
    text = "\n".join([*code.imports, *code.definitions, code.body])
    for name in ("_only_forward", "functional", "UNUSED", "get_inputs", "json", "Says what it does"):
        assert name not in text
    assert "BATCH = 4" not in text  # the constructor's own argument, not the constant


def test_a_model_of_another_name():
    adapted = TASK.replace("Model(nn.Module)", "Net(nn.Module)").replace("super(Model", "super(Net")
    code = read_task_code("task", adapted + '\ntilesmith = {"model": "Net"}\n')
    assert "super(ModelNew, self).__init__()" in code.body


def test_a_model_without_constructor():
    model = "class Model(nn.Module):\n    def forward(self, x):\n        return x\n"
    code = read_task_code("t", f"import torch.nn as nn\n{model}def get_inputs(): return []")
    assert code.body == ""
    assert code.signature == "self, x"


def test_a_model_from_elsewhere_is_refused():
    with pytest.raises(Unmatched, match="from another file"):
        read_task_code("t", "from zoo import Model\ndef get_inputs(): return []")
