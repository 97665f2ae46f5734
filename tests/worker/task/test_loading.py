"""Executing task files: what they give, and one line when they fail."""

from __future__ import annotations

import pickle
import sys
import textwrap

import pytest
import torch

from tilesmith.errors import MachineError, TaskError
from tilesmith.worker.task.forward_arguments import ForwardArguments
from tilesmith.worker.task.loading import build_model, load_task, run_forward, unload

HEAD = "import torch\nimport torch.nn as nn\n"
BODY = """\
class Model(nn.Module):
    def __init__(self, a=1, b=2, *, c=3):
        super().__init__()
        self.arguments = (a, b, c)
        self.weight = nn.Parameter(torch.randn(4))
    def forward(self, x):
        return x * self.weight
def get_inputs():
    return [torch.rand(3, 4)]
"""


def loaded(tmp_path, body, head=HEAD):
    path = tmp_path / "mynet.py"
    path.write_text(head + textwrap.dedent(body))
    return load_task(path)


def complaint(tmp_path, body, act=lambda task: None):
    with pytest.raises(TaskError) as caught:
        act(loaded(tmp_path, body))
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_inputs_model_and_forward(tmp_path):
    task = loaded(tmp_path, BODY)
    model = build_model(task, seed=3)
    inputs = task.make_inputs(seed=5)
    assert torch.equal(run_forward(task, model, inputs), inputs.args[0] * model.weight)
    assert torch.equal(build_model(task, seed=3).weight, model.weight)
    assert not torch.equal(build_model(task, seed=4).weight, model.weight)
    assert torch.equal(task.make_inputs(seed=5).args[0], inputs.args[0])


@pytest.mark.parametrize(
    ("returned", "arguments"),
    [
        ("[5, 6]", (5, 6, 3)),
        ("(5,)", (5, 2, 3)),
        ("{'b': 7, 'c': 8}", (1, 7, 8)),
        ("[[5], {'c': 9}]", (5, 2, 9)),
        ("[[], {'a': 4}]", (4, 2, 3)),
        ("[[5, 6], {'no_such_keyword': 1}]", ([5, 6], {"no_such_keyword": 1}, 3)),
        ("[]", (1, 2, 3)),
        ("None", (1, 2, 3)),
    ],
)
def test_constructor_arguments_in_every_flavour(tmp_path, returned, arguments):
    task = loaded(tmp_path, BODY + f"def get_init_inputs(): return {returned}\n")
    assert build_model(task).arguments == arguments


def test_init_function_is_optional(tmp_path):
    assert build_model(loaded(tmp_path, BODY)).arguments == (1, 2, 3)


def test_text_stands_in_for_the_file_under_its_name(tmp_path):
    task = loaded(tmp_path, BODY)
    other = load_task(task.path, task.source.text.replace("rand(3, 4)", "rand(7, 4)"))
    assert other.make_inputs().args[0].shape == (7, 4)
    assert task.make_inputs().args[0].shape == (3, 4)
    assert other.module.__name__ != task.module.__name__
    assert other.module.__file__ == str(task.path)


def test_dataclasses_and_pickle_work_and_unload_cleans_up(tmp_path):
    body = BODY + "from dataclasses import dataclass\n@dataclass\nclass Size:\n    rows: 'int' = 3\n"
    before, path_before = set(sys.modules), list(sys.path)
    task = loaded(tmp_path, body, "from __future__ import annotations\n" + HEAD)
    assert pickle.loads(pickle.dumps(task.module.Size(4))) == task.module.Size(4)
    unload(task)
    assert not {name for name in set(sys.modules) - before if name.startswith("tilesmith_task")}
    assert sys.path == path_before


def test_neighbouring_files_can_be_imported(tmp_path):
    (tmp_path / "neighbour_sizes.py").write_text("ROWS = 5\n")
    task = loaded(tmp_path, BODY.replace("rand(3,", "rand(ROWS,") + "from neighbour_sizes import ROWS\n")
    assert task.make_inputs().args[0].shape == (5, 4)


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        ("import no_such_package\n" + BODY, ("mynet.py:3", "install no_such_package or remove the import")),
        (BODY + "from torch import no_such_name\n", ("mynet.py:12", "fix or remove the import")),
        ("x = 1 / 0\n" + BODY, ("mynet.py:3", "ZeroDivisionError")),
        ("raise SystemExit(3)\n" + BODY, ("mynet.py:3", "SystemExit")),
        ("Model = 3\ndef get_inputs(): return []\n", ("Model is not a class derived from nn.Module",)),
        (BODY + "get_inputs = 3\n", ("get_inputs is not a function",)),
        (BODY + "def get_init_inputs(): return 3\n", ("get_init_inputs() returned int",)),
        (BODY + "def get_init_inputs():\n    raise KeyError('k')\n", ("mynet.py:13", "KeyError")),
    ],
)
def test_files_that_fail_on_loading(tmp_path, body, parts):
    message = complaint(tmp_path, body)
    assert all(part in message for part in parts), message


@pytest.mark.parametrize(
    ("returned", "parts"),
    [
        ("{3: torch.rand(3)}", ("mynet.py:10", "returned a dict with keys that are no names", "(args, kwargs)")),
        ("None", ("returned NoneType",)),
        ("[torch.rand(3, device='meta')]", ("mynet.py:10", "meta tensor")),
        ("[torch.rand(3), {'k': torch.rand(3, device='meta')}]", ("meta",)),
        ("[torch.rand(undefined)]", ("mynet.py:11", "NameError")),
    ],
)
def test_inputs_that_cannot_be_used(tmp_path, returned, parts):
    body = BODY.replace("[torch.rand(3, 4)]", returned)
    message = complaint(tmp_path, body, lambda task: task.make_inputs())
    assert all(part in message for part in parts), message


@pytest.mark.skipif(torch.cuda.is_available(), reason="asks for a GPU that is not there")
def test_inputs_on_a_gpu_that_is_not_there(tmp_path):
    body = BODY.replace("rand(3, 4)", "rand(3, 4, device='cuda')")
    message = complaint(tmp_path, body, lambda task: task.make_inputs())
    assert "mynet.py:11" in message
    assert "make tensors on the CPU" in message


def test_constructor_that_raises_names_its_line(tmp_path):
    body = BODY.replace("self.arguments = (a, b, c)", "raise ValueError('bad\\nsize')")
    message = complaint(tmp_path, body, build_model)
    assert "mynet.py:6: constructing Model failed: ValueError: bad size" in message


def test_constructor_without_its_arguments_hints_at_the_init_function(tmp_path):
    body = BODY.replace("a=1, b=2, *, c=3", "a, b, c")
    assert "get_init_inputs" in complaint(tmp_path, body, build_model)


def test_forward_that_raises_names_its_line(tmp_path):
    def act(task):
        run_forward(task, build_model(task), ForwardArguments([torch.rand(3, 5)], {}))

    assert "mynet.py:9: Model.forward failed: RuntimeError" in complaint(tmp_path, BODY, act)


def test_lack_of_memory_is_the_machines_fault(tmp_path):
    task = loaded(tmp_path, BODY.replace("rand(3, 4)", "empty(1 << 58, dtype=torch.uint8)"))
    with pytest.raises(MachineError, match="out of memory"):
        task.make_inputs()
