"""Tasks in packages, inputs of every form, and arguments of the user's own types."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tilesmith.errors import TaskError
from tilesmith.tasks.draws import CORNERS_DRAW
from tilesmith.tasks.source import read_task
from tilesmith.tasks.user_code.task_name import TaskName
from tilesmith.worker.task.argument_types import argument_types, prepare_for
from tilesmith.worker.task.forward_arguments import call, read_arguments
from tilesmith.worker.task.loading import build_model, import_task, importable, load_task, run_forward
from tilesmith.worker.task.shrinking import choose_shrunk
from tilesmith.worker.task.tracing import trace
from tilesmith.worker.tensors.trusted_pickle import read_trusted, write_trusted
from tilesmith.worker.truth.variant import Variant, input_shapes

NORM = TaskName("user_package.model:Norm", path=(str(Path(__file__).parents[2] / "fixtures"),))
MLP = replace(NORM, target="user_package.model:make_mlp", inputs="user_package.batches:make_batch")
HEAD = "import torch\nfrom torch import nn\n"


def written(tmp_path: Path, forward: str, inputs: str, init: str = "pass", after: str = "") -> Path:
    path = tmp_path / "task.py"
    path.write_text(
        f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {init}\n"
        f"    def forward({forward}\ndef get_inputs():\n    return {inputs}\n{after}"
    )
    return path


def test_a_module_of_a_package_with_relative_imports() -> None:
    task = load_task(read_task(NORM))
    path_before = list(sys.path)
    outputs = run_forward(task, build_model(task), task.make_inputs(seed=0))
    assert set(outputs) == {"normed", "residual"}
    assert task.module.__package__ == "user_package"
    assert sys.path == path_before


def test_an_imported_task_has_its_own_name_and_its_own_file(tmp_path: Path) -> None:
    with importable(read_task(NORM)):
        assert import_task(read_task(NORM)).constructor.__module__ == "user_package.model"
    for name, complaint in {"copy.py": "another module named copy", "my.task.py": "a dot in its name"}.items():
        path = written(tmp_path, "self, x): return x", "[torch.ones(2)]").rename(tmp_path / name)
        source = read_task(path)
        with importable(source), pytest.raises(TaskError, match=f"{name}: Python .*{complaint}.*; rename the file"):
            import_task(source)


def test_two_shapes_of_a_module_live_side_by_side() -> None:
    source = read_task(NORM)
    exact, small = load_task(source), load_task(source, source.text.replace("512, 256", "4, 8"))
    assert small.make_inputs().kwargs["x"].shape == (4, 8)
    assert exact.make_inputs().kwargs["x"].shape == (512, 256)
    assert small.module.Config is exact.module.Config


def test_a_function_makes_the_model_and_another_file_its_inputs() -> None:
    source = read_task(MLP)
    small = load_task(source, source.text.replace("512, 256", "512, 16").replace("BATCH = 96", "BATCH = 3"))
    inputs = small.make_inputs()
    assert inputs.args[0].shape == (3, 16), "the file of the inputs does not see the sizes of the model's"
    assert inputs.kwargs["gate"].shape == (3, 32)
    assert (small.init_args, small.init_kwargs) == ([], {})
    assert call(build_model(small), inputs).shape == (3, 16)


def test_a_made_model_keeps_its_parameters_when_it_is_shrunk() -> None:
    task = read_task(MLP)
    small = load_task(task, choose_shrunk(task).text)
    assert small.make_inputs().args[0].shape[0] < 96
    assert build_model(small).up.weight.shape == (512, 256)


def test_arguments_of_own_types_reach_another_process(tmp_path: Path) -> None:
    task = load_task(read_task(NORM))
    types = argument_types(task, input_shapes(task))
    assert (types.modules, types.in_task) == (("user_package.config",), False)
    path = tmp_path / "arguments"
    write_trusted(str(path), task.init_args)
    for name in [one for one in sys.modules if one.partition(".")[0] == "user_package"]:
        del sys.modules[name]
    prepare_for(task.source, types)
    assert read_trusted(str(path))[0].hidden == 512


def test_arguments_of_types_that_the_task_itself_defines(tmp_path: Path) -> None:
    own = "@dataclass\nclass Size:\n    rows: int\n    @property\n    def twice(self): return 2 * self.rows\n"
    path = tmp_path / "mynet.py"
    path.write_text(
        f"from dataclasses import dataclass\n{HEAD}{own}class Model(nn.Module):\n"
        "    def __init__(self, size, act): super().__init__()\n    def forward(self, x): return x\n"
        "def double(x): return 2 * x\ndef get_init_inputs(): return [Size(4), double]\n"
        "def get_inputs(): return [torch.rand(3)]\n"
    )
    task = load_task(path)
    types = argument_types(task, input_shapes(task))
    assert (types.modules, types.in_task) == ((), True)
    file = str(tmp_path / "arguments")
    write_trusted(file, task.init_args)
    prepare_for(task.source, types)
    size, double = read_trusted(file)
    assert (size.twice, double(3)) == (8, 6)
    assert type(size) is not task.module.Size


def test_arguments_that_cannot_travel_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, "self, x): return x", "[torch.rand(3), lambda x: x]")
    task = load_task(path)
    with pytest.raises(TaskError, match=r"its arguments cannot be handed to another process"):
        argument_types(task, input_shapes(task))


@pytest.mark.parametrize(
    ("returned", "positions", "names"),
    [
        (torch.ones(2), 1, []),
        ([torch.ones(2), 3], 2, []),
        ((torch.ones(2), torch.ones(2)), 2, []),
        ({"x": torch.ones(2), "scale": 2}, 0, ["x", "scale"]),
        (([torch.ones(2)], {"scale": 2}), 1, ["scale"]),
        (((), {"x": torch.ones(2)}), 0, ["x"]),
        ((torch.ones(2), {"k": torch.ones(2)}), 2, []),
        ([[torch.ones(2)], {"k": torch.ones(2)}], 2, []),
        (([torch.ones(2)], {3: torch.ones(2)}), 2, []),
    ],
)
def test_every_form_of_inputs(returned: object, positions: int, names: list[str]) -> None:
    arguments = read_arguments(returned)
    assert arguments is not None
    assert len(arguments.args) == positions
    assert list(arguments.kwargs) == names


@pytest.mark.parametrize("returned", [None, 3, "x", {3: torch.ones(2)}, {1, 2}])
def test_what_is_no_set_of_arguments(returned: object) -> None:
    assert read_arguments(returned) is None


KEYWORDS = "self, x, *, y, bias=None): return {'sum': x + y, 'bias': bias}"


def test_keyword_only_inputs_are_drawn_traced_and_shrunk(tmp_path: Path) -> None:
    path = written(
        tmp_path, KEYWORDS, "[torch.rand(ROWS, 8)], {'y': torch.rand(ROWS, 8)}", after="ROWS = 100_000\n"
    )
    loaded = load_task(path)
    variant = Variant(load_task(loaded.source, choose_shrunk(loaded.source).text), "cpu", "default", 0)
    own, scaled = variant.inputs("own"), variant.inputs("scaled")
    assert own.kwargs["y"].shape[0] < 100_000
    assert not torch.equal(own.kwargs["y"], scaled.kwargs["y"])
    assert variant.inputs(CORNERS_DRAW).kwargs["y"].shape == own.kwargs["y"].shape
    graph = trace(loaded, True).graph
    assert [(one.name, one.argument, one.path) for one in graph.inputs] == [("x", "x", ()), ("y", "y", ())]


ATTENTION = "self, q): return nn.functional.scaled_dot_product_attention(q, q, q)"


@pytest.mark.parametrize(
    ("forward", "init", "mode", "training", "fell_back"),
    [
        ("self, x): return self.drop(x)", "self.drop = nn.Dropout(0.5)", "auto", False, True),
        ("self, x): return self.drop(x)", "self.drop = nn.Dropout(0.5)", "eval", False, False),
        ("self, x): return x * 2", "pass", "auto", True, False),
        ("self, x): return x * 2", "self.eval()", "auto", False, False),
        ("self, x): return x * 2", "self.eval()", "train", True, False),
        ("self, x): return x * 2", "pass", "eval", False, False),
        (ATTENTION, "pass", "auto", True, False),
    ],
)
def test_the_mode_it_is_judged_in(
    tmp_path: Path, forward: str, init: str, mode: str, training: bool, fell_back: bool
) -> None:
    source = replace(read_task(written(tmp_path, forward, "[torch.rand(1, 2, 4, 8)]", init)), mode=mode)
    variant = Variant(load_task(source), "cpu", "default", 0)
    assert (variant.training, variant.fell_back) == (training, fell_back)
    assert trace(load_task(source)).graph.training == training


def test_training_with_dropout_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "self, x): return self.drop(x)", "[torch.rand(64)]", "self.drop = nn.Dropout(0.5)")
    with pytest.raises(TaskError, match=r"other results under another seed in training mode.*use --eval"):
        Variant(load_task(replace(read_task(path), mode="train")), "cpu", "default", 0)
