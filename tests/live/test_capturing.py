"""Calls of a model's modules become tasks that need neither its package nor its weights."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from sample_package import TinyModel
from sample_package.layers import KVCache, RMSNorm
from torch import nn

import tilesmith as ts
from tilesmith.errors import TaskError, UsageError
from tilesmith.live.captured.module_tasks import ModuleTask, refuse_other_code, write_task
from tilesmith.live.capturing import CapturedTask, capture_calls
from tilesmith.tasks.source import parse_task

IDS = torch.arange(6).reshape(2, 3)


@pytest.fixture(scope="module")
def model() -> TinyModel:
    torch.manual_seed(0)
    return TinyModel().eval()


@pytest.fixture(scope="module")
def tasks(model: TinyModel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, CapturedTask]:
    where = ["blocks.*.norm?", "norm", "blocks.*.attention", "*.act", "encoder", "encoder.rnn", "blocks.0"]
    captured = ts.capture(model, (IDS,), where=where, folder=tmp_path_factory.mktemp("tasks"))
    return {task.names[0]: task for task in captured}


def task_of(module: nn.Module, *args: Any, **kwargs: Any) -> ModuleTask:
    return write_task(module.eval(), args, kwargs, ())


def test_equal_calls_are_one_group(tasks: dict[str, CapturedTask]) -> None:
    names = {task.names: task.calls for task in tasks.values()}
    assert names == {
        ("blocks.0.norm1", "blocks.0.norm2", "blocks.1.norm1", "blocks.1.norm2", "norm"): 5,
        ("blocks.0.attention", "blocks.1.attention"): 2,
        ("blocks.0.mlp.act", "blocks.1.mlp.act"): 2,
        ("blocks.0",): 1,
        ("encoder",): 1,
        ("encoder.rnn",): 1,
    }
    assert all(task.reason is None and task.path is not None for task in tasks.values())


def test_a_task_runs_without_the_package(tasks: dict[str, CapturedTask], tmp_path: Path) -> None:
    program = (
        "import sys, torch\n"
        "for path in sys.argv[1:]:\n"
        "    names = {}\n"
        "    exec(open(path).read(), names)\n"
        "    names['Model']()(*names['get_inputs']())"
    )
    paths = [str(task.path) for task in tasks.values()]
    done = subprocess.run([sys.executable, "-c", program, *paths], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for task in tasks.values():
        assert "sample_package" not in (task.text or "").split('"""')[2]
        parse_task(Path("task.py"), task.text or "")


def test_hooks_around_a_module_are_no_part_of_its_task() -> None:
    module, seen = nn.ReLU(), []
    plain = task_of(module, torch.randn(2, 3))
    module.register_forward_hook(lambda module, args, output: seen.append(output) or output * 2)
    assert task_of(module, torch.randn(2, 3)).body == plain.body
    assert seen == [], "nor do they see what is traced"


class Growing(nn.Module):
    """Keeps what it saw in training, and a table that grows with its input; its mode merges weights."""

    def __init__(self) -> None:
        super().__init__()
        self.rows, self.seen, self.merged, self.tables = 16, None, 0, {}

    def train(self, mode=True):
        self.merged += 1
        return super().train(mode)

    def forward(self, x):
        if self.training:
            self.seen = self.tables[x.shape] = x.mean()
        self.rows = max(self.rows, len(x))
        return x.relu()


def test_a_trace_leaves_nothing_behind() -> None:
    module = Growing()
    module.training = False
    made = write_task(module, (torch.randn(2, 3),), {}, ())
    refuse_other_code(module, made.spec, made.text)
    assert (module.rows, module.seen, module.merged, module.tables, module.training) == (16, None, 0, {}, False)
    norm = nn.BatchNorm1d(3)
    write_task(norm, (torch.randn(2, 3),), {}, ())
    assert int(norm.num_batches_tracked) == 0


class WithoutGradients(nn.Module):
    @torch.no_grad()
    def forward(self, x):
        return x.relu()


def test_code_without_gradients_is_written_out() -> None:
    x = torch.randn(2, 3)
    assert task_of(WithoutGradients(), x).body == task_of(nn.ReLU(), x).body.replace("input", "x")


def test_a_recurrent_layer_keeps_its_constructor(tasks: dict[str, CapturedTask]) -> None:
    assert "self.module = nn.GRU(size_64, size_64, batch_first=True)" in (tasks["encoder.rnn"].text or "")
    assert tasks["encoder.rnn"].prefix == "module"


def test_a_recurrent_layer_inside_is_handed_nothing_that_does_not_fit(tasks: dict[str, CapturedTask]) -> None:
    text = tasks["encoder"].text or ""
    assert "self.rnn.weight_ih_l0 = nn.Parameter(torch.randn(192, 64)" in text, "no sizes that change apart"
    names: dict[str, Any] = {}
    exec(text, names)
    assert names["Model"]()(torch.randn(2, 5, 64))[0].shape == (2, 5, 64)
    for shape in ((2, 3, 8), (1, 3, 64)):
        with pytest.raises(AssertionError):
            names["Model"]()(torch.randn(shape))


def test_inputs_have_the_same_shapes_strides_and_statistics() -> None:
    x = (3 + 0.5 * torch.randn(4, 8, 64, dtype=torch.float64)).to(torch.bfloat16).transpose(0, 1)
    names: dict[str, Any] = {}
    exec(task_of(RMSNorm(TinyModel().config), x).text, names)
    (made,) = names["get_inputs"]()
    assert (made.shape, made.stride(), made.dtype) == (x.shape, x.stride(), x.dtype)
    assert float(made.float().mean()) == pytest.approx(3, abs=0.1)
    assert float(made.float().std()) == pytest.approx(0.5, abs=0.1)


class Masked(nn.Module):
    def forward(self, x, mask, ids, scale=None, *, more):
        return {"y": (x * scale).masked_fill(mask, float("-inf")), "ids": (ids + 1, more["z"] * 2)}


def test_integers_booleans_numbers_and_nests() -> None:
    x, mask, ids = torch.randn(5, 70), torch.rand(5, 70) < 0.2, torch.randint(3, 9, (5, 70))
    made = task_of(Masked(), x, mask, ids, 2.5, more={"z": x})
    names: dict[str, Any] = {}
    exec(made.text, names)
    inputs = names["get_inputs"]()
    assert [one.dtype for one in inputs] == [torch.float32, torch.bool, torch.int64, torch.float32]
    assert inputs[1].float().mean() == pytest.approx(0.2, abs=0.1)
    assert (inputs[2].min(), inputs[2].max()) == (3, 8)
    assert "def forward(self, x, mask, ids, more_z):" in made.text
    assert names["Model"]()(*inputs)["ids"][1].shape == x.shape


def test_sizes_and_modes_that_make_no_difference_are_found() -> None:
    spec = task_of(RMSNorm(TinyModel().config), torch.randn(2, 3, 64)).spec
    assert spec.arguments[0].shape == ("n", "m", 64)
    assert spec.training is None
    spec = task_of(nn.Sequential(nn.Flatten(0), nn.Dropout()), torch.randn(2, 3)).spec
    assert spec.training is False


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.positions = nn.Parameter(torch.randn(17, 8))

    def forward(self, x):
        return torch.cat([x[:, :1], x], 1) + self.positions


def test_a_size_that_does_not_do_is_found_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    task_of(Positions(), torch.randn(2, 16, 8))
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


class Branching(nn.Module):
    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def forward(self, x):
        return x + 1 if x.shape[0] > self.most else x - 1


@pytest.mark.parametrize(("size", "most"), [(3, 3), (3, 4), (8, 4), (8, 1), (8, 4096)])
def test_a_branch_on_a_size_fixes_it(size: int, most: int) -> None:
    assert task_of(Branching(most), torch.randn(size, 5)).spec.arguments[0].shape == (size, "n")


class LooksAtValues(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1


class ReturnsObject(nn.Module):
    def forward(self, x):
        return KVCache()


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        return x + 1


class AddsInPlace(nn.Module):
    def forward(self, x):
        return x.add_(1)


REFUSED: dict[str, tuple[nn.Module, str]] = {
    "branch on values": (LooksAtValues(), "use model.eval() or --eval"),
    "object": (ReturnsObject(), "it returns a KVCache"),
    "state": (Counts(), "keeps something on itself"),
    "in place": (AddsInPlace(), "writes to its inputs"),
    "random": (nn.Dropout(), "draws random numbers"),
    "running mean": (nn.BatchNorm1d(64, momentum=0.2), "writes to its inputs, parameters or buffers"),
}


@pytest.mark.parametrize(("module", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_a_kernel_could_not_stand_in_for_is_refused(module: nn.Module, reason: str) -> None:
    before = {name: one.clone() for name, one in module.named_buffers()}
    (task,) = ts.capture(module.train(), (torch.ones(8, 64),))
    assert task.text is None
    assert reason in (task.reason or "")
    for name, one in module.named_buffers():
        assert torch.equal(one, before[name]), "the example call left a trace in the model"


def test_what_cannot_be_traced_is_unpickled_without_its_weights(tmp_path: Path) -> None:
    (tmp_path / "their_package.py").write_text(
        "import torch\nfrom torch import nn\n\nclass Gate(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.inner = nn.Linear(300, 300)\n"
        "        self.register_buffer('steps', torch.arange(7))\n"
        "    def forward(self, x, *, flip=False):\n"
        "        return self.inner(x) if x.sum() > 0 else self.inner(-x)\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        from their_package import Gate

        module = Gate()
        nn.init.normal_(module.inner.weight, 5.0, 0.5)
        made = task_of(module, torch.randn(4, 300), flip=True)
        refuse_other_code(module, made.spec, made.text, made.prefix)
        with pytest.raises(UsageError, match="its class has other code"):
            refuse_other_code(module, made.spec, made.text.replace("x.sum() > 0", "x.sum() > 1"), made.prefix)
        with pytest.raises(TaskError, match=r"cannot be traced: .*; such code may draw random numbers in training"):
            write_task(module.train(), (torch.randn(4, 300),), {}, ())
        sys.modules.pop("their_package")
    assert len(made.text) < 20_000
    assert made.prefix == "module"
    task = tmp_path / "tasks/task.py"
    task.parent.mkdir()
    task.write_text(made.text)
    program = (
        "import sys; from tilesmith.worker.task import build_model, load_task\n"
        "loaded = load_task(sys.argv[1]); model = build_model(loaded)\n"
        "assert model(*loaded.make_inputs().args).shape == (4, 300)\n"
        "weight = model.module.inner.weight\n"
        "assert abs(weight.mean() - 5) < 0.1 and abs(weight.std() - 0.5) < 0.1\n"
        "assert model.module.steps.tolist() == list(range(7))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(task)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_cache_is_refused_by_name(model: TinyModel) -> None:
    kwargs = {"caches": [KVCache(), KVCache()]}
    found = ts.capture(model, (IDS,), kwargs, where=["blocks.*.attention", "blocks.0.norm1"])
    assert [one.names for one in found] == [("blocks.0.norm1",)]
    why = "argument cache is a KVCache, which a guard cannot describe"
    assert found.refused == {"blocks.0.attention": why, "blocks.1.attention": why}
    first, second, _ = str(found).splitlines()
    assert first == "RMSNorm(hidden [2, 3, 64] float32) at blocks.0.norm1: a task"
    assert second == f"blocks.0.attention: left out: {why}"


def test_modules_are_chosen_by_pattern_or_function(model: TinyModel) -> None:
    chosen = capture_calls(model, (IDS,), {}, lambda name, module: isinstance(module, RMSNorm) and "1" in name)
    assert [set(group.modules) for group in chosen.groups] == [
        {"blocks.0.norm1", "blocks.1.norm1", "blocks.1.norm2"}
    ]
    with pytest.raises(UsageError, match=r"where='layers.*' names no module of the model; its modules: embed, enc"):
        ts.capture(model, (IDS,), where="layers.*")
    with pytest.raises(UsageError, match=r"where='nix' names no module of the model"):
        ts.capture(model, (IDS,), where=["norm", "nix"])


def test_an_example_that_does_not_fit_is_told() -> None:
    with pytest.raises(TaskError, match=r"the example does not fit RMSNorm.forward: missing a required argument"):
        task_of(RMSNorm(TinyModel().config))


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ((lambda: TinyModel(), (IDS,)), "the model is the function <lambda>: pass the module that it returns"),
        ((TinyModel, (IDS,)), "the model is the class TinyModel"),
        ((TinyModel(), {"ids": IDS}), r"keyword arguments come after it: write \(\), \{...\}"),
        ((TinyModel(), (IDS,), [IDS]), "keyword arguments are a dict, and this is a list"),
    ],
)
def test_wrong_arguments_are_told(args: Any, why: str) -> None:
    for call in (ts.scan, ts.optimize_, ts.optimize, ts.capture):
        with pytest.raises(UsageError, match=why):
            call(*args)


def test_a_folder_that_is_a_file_is_told(model: TinyModel) -> None:
    with pytest.raises(UsageError, match="cannot be a folder: File exists; name another"):
        ts.capture(model, (IDS,), where="norm", folder=__file__)


def test_a_lone_tensor_is_not_taken_for_many_arguments(model: TinyModel) -> None:
    ids = torch.zeros(2, 3, dtype=torch.long)
    for call in (ts.scan, ts.optimize_, ts.optimize, ts.capture):
        with pytest.raises(UsageError, match=r"write \(x,\), not x"):
            call(model, ids)
