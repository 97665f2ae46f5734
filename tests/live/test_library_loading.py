"""Kernels that were judged before go into a model, unless something speaks against it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from live_kernels import MARK, marked_card, passed
from sample_package import TinyModel
from torch import nn

import tilesmith as ts
from tilesmith.errors import UsageError
from tilesmith.live.calls.call_records import KernelCard
from tilesmith.live.captured.module_tasks import write_task
from tilesmith.live.compile_backend import tilesmith
from tilesmith.live.kernel_cards import read_card, write_card
from tilesmith.live.swaps.kernel_files import file_digest
from tilesmith.records import Attempt, AttemptEvent, Candidate, Phase
from tilesmith.runs import Manifest, create_run

X = torch.randn(2, 3, 64, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> TinyModel:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    torch.manual_seed(0)
    return TinyModel().eval().requires_grad_(False)


@pytest.fixture
def library(model: TinyModel, tmp_path: Path) -> Path:
    folder = tmp_path / "kernels" / "norm"
    folder.mkdir(parents=True)
    card = marked_card(model.norm, folder, X)
    write_card(folder, replace(card, names=("norm", "blocks.0.norm1")))
    return folder.parent


def by_kernel(y: torch.Tensor) -> bool:
    return bool(y.mean() > MARK / 2)


def test_a_card_survives_its_file(library: Path) -> None:
    card = read_card(library / "norm/kernel.json")
    write_card(library, card)
    assert read_card(library / "kernel.json") == card


def test_a_library_is_loaded_and_undone(model: TinyModel, library: Path) -> None:
    handle = ts.load_(model, library, strict=True)
    assert by_kernel(model.norm(X))
    assert by_kernel(model.blocks[0].norm1(X))
    assert not by_kernel(model.blocks[1].norm1(X))
    model.norm(X[:1])
    assert handle.hits == {"norm": 1, "blocks.0.norm1": 1}
    assert handle.misses == {"norm": {"hidden: not of shape [2, 3, 64]": 1}, "blocks.0.norm1": {}}
    assert "norm: 1 calls by the kernel, by PyTorch: 1 x hidden: not of shape" in str(handle)
    handle.undo()
    assert not by_kernel(model.norm(X))


def test_one_kernel_is_loaded_for_the_same_calls(model: TinyModel, library: Path) -> None:
    shutil.copytree(library / "norm", library / "norm_2")
    handle = ts.load_(model, library, strict=True)
    assert [one.name for one in handle.installed] == ["norm", "blocks.0.norm1"]
    handle.undo()
    other = library / "norm_2/best.py"
    other.write_text(other.read_text() + "# tuned\n")
    write_card(other.parent, replace(read_card(other.parent / "kernel.json"), sha256=file_digest(other)))
    handle = ts.load_(model, library)
    assert len(handle.installed) == 2
    assert "norm_2 is for the same calls as a kernel before it" in handle.skipped["norm"]


def test_files_by_name(model: TinyModel, library: Path) -> None:
    ts.load_(model, {"blocks.1.norm2": library / "norm/best.py"}, strict=True)
    assert by_kernel(model.blocks[1].norm2(X))
    assert not by_kernel(model.norm(X))


CHANGES: dict[str, tuple[Callable[[KernelCard], KernelCard], str]] = {
    "gpu": (lambda card: replace(card, gpu="NVIDIA H200"), "it was judged on NVIDIA H200, and this is"),
    "torch": (lambda card: replace(card, versions={**card.versions, "torch": "2.1.0"}), "judged with torch 2.1.0"),
    "triton": (lambda card: replace(card, versions={**card.versions, "triton": "3.0.0"}), "with triton 3.0.0"),
    "file": (lambda card: replace(card, sha256="0" * 64), "changed since it was judged"),
    "verdict": (lambda card: replace(card, verdict="inaccurate", reason="too far"), "it did not pass: too far"),
    "name": (lambda card: replace(card, names=("nothing",)), "no such module"),
    "class": (lambda card: replace(card, names=("head",)), "made for sample_package.layers.RMSNorm"),
}


@pytest.mark.parametrize(("change", "reason"), CHANGES.values(), ids=CHANGES)
def test_what_does_not_fit_is_not_loaded(
    model: TinyModel, library: Path, change: Callable[[KernelCard], KernelCard], reason: str
) -> None:
    write_card(library / "norm", change(read_card(library / "norm/kernel.json")))
    handle = ts.load_(model, library)
    assert handle.installed == []
    assert all(reason in why for why in handle.skipped.values())
    assert "not loaded" in str(handle)
    assert not by_kernel(model.norm(X))
    with pytest.raises(UsageError, match=reason):
        ts.load_(model, library, strict=True)


def test_without_the_interpreter_an_interpreted_kernel_is_not_loaded(
    model: TinyModel, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRITON_INTERPRET")
    assert set(ts.load_(model, library).skipped.values()) == {
        "it was judged without a GPU; forge it again where the model runs"
    }


def test_strict_leaves_nothing_behind(model: TinyModel, library: Path) -> None:
    card = read_card(library / "norm/kernel.json")
    write_card(library / "norm", replace(card, names=("norm", "nothing")))
    with pytest.raises(UsageError, match="nothing: the model has no such module"):
        ts.load_(model, library, strict=True)
    assert not by_kernel(model.norm(X))


RUN_TASK = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 4)

    def forward(self, x):
        return RESULT

def get_inputs():
    return [torch.randn(3, 2, 4)]
"""


@pytest.mark.parametrize(
    ("result", "reason"),
    [("self.rnn(x)", None), ("self.rnn(x)[0]", "returns something else"), ("self.rnn(x + 1)", "something else")],
    ids=["the same", "a result unused", "other values"],
)
def test_a_run_is_loaded_where_its_task_is_the_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: str, reason: str | None
) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    task = RUN_TASK.replace("RESULT", result)
    run = create_run(tmp_path, Manifest("gru", "gru.py", "", "author", "2026-11-16", {}), task)
    candidate = Candidate(1, task.replace("Model(", "ModelNew("), None, 1, Phase.SEED)
    attempt = Attempt(candidate, passed(), None, True, "first to pass", 1.0)
    run.journal.append(AttemptEvent(attempt))
    run.kernel_path(candidate)
    run.write_best(attempt, "right")
    run.close()
    handle = ts.load_(nn.GRU(4, 4), {"": run.path / "best.py"})
    assert len(handle.installed) == (reason is None)
    assert reason is None or reason in handle.skipped[""]


def test_a_damaged_card_is_named(model: TinyModel, library: Path) -> None:
    (library / "norm/kernel.json").write_text(json.dumps({"format_version": 1}))
    with pytest.raises(UsageError, match=r"kernel.json: is no description of a kernel"):
        ts.load_(model, library)
    with pytest.raises(UsageError, match="has no kernels"):
        ts.load_(model, library.parent)


def test_a_compiled_model_is_told_of_a_library_without_kernels(tmp_path: Path) -> None:
    compiled = torch.compile(nn.ReLU(), backend=tilesmith, options={"library": tmp_path, "inner": "eager"})
    with pytest.raises(Exception, match=r"UsageError: .*: has no kernels"):
        compiled(torch.ones(2))


class Gate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8), requires_grad=False)

    def forward(self, a, b):
        return a * b * self.weight


GATE = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))

    def forward(self, a, b):
        return a * b * self.weight + 1000.0
"""


class Around(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()

    def forward(self, a, b):
        return self.gate(a, b) - 1


@pytest.fixture
def gates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library with a kernel and its task, of any number of rows."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    a = torch.ones(4, 8)
    task = write_task(Gate(), (a, a), {}, ("gate",))
    assert [one.shape for one in task.spec.inputs] == [("n", 8), ("n", 8)]
    (tmp_path / "task.py").write_text(task.text)
    card = marked_card(Gate(), tmp_path, a, a, text=GATE)
    write_card(tmp_path, replace(card, spec=task.spec, names=("gate",), flat=True))
    return tmp_path


WRONG_GRAPHS: dict[str, Callable[[Around], Any]] = {
    "broadcast": lambda m: torch.ones(1, 8),
    "other dtype": lambda m: torch.ones(4, 8, dtype=torch.float64),
    "weight of another shape": lambda m: setattr(m.gate, "weight", nn.Parameter(torch.ones(1), False)),
    "weight of another dtype": lambda m: m.gate.double() and None,
}


@pytest.mark.parametrize("change", WRONG_GRAPHS.values(), ids=WRONG_GRAPHS)
def test_a_compiled_graph_with_other_tensors_has_no_kernel(gates: Path, change: Callable[[Around], Any]) -> None:
    a, model = torch.ones(4, 8), Around()
    torch._dynamo.reset()
    compiled = torch.compile(model, backend=tilesmith, options={"library": gates, "inner": "eager"}, dynamic=False)
    assert by_kernel(compiled(a, torch.ones(4, 8)))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not by_kernel(compiled(a, torch.ones(4, 8)))
    other = change(model)
    other = torch.ones(4, 8) if other is None else other
    assert not by_kernel(compiled(a, other))


def test_a_kernel_without_its_task_is_not_loaded(gates: Path) -> None:
    assert len(ts.load_(Around(), gates, strict=True).installed) == 1
    (gates / "task.py").write_text("<<<<<<< HEAD")
    assert "its task cannot be executed: SyntaxError" in ts.load_(Around(), gates).skipped["gate"]
    (gates / "task.py").unlink()
    assert "task.py is missing" in ts.load_(Around(), gates).skipped["gate"]


def test_a_module_in_two_places_has_two_names(model: TinyModel, library: Path) -> None:
    model.blocks[1].norm2 = model.norm
    handle = ts.load_(model, {"norm": library / "norm/best.py", "blocks.1.norm2": library / "norm/best.py"})
    assert (len(handle.installed), handle.skipped) == (1, {})


def test_wrong_arguments_are_told(model: TinyModel, library: Path) -> None:
    wrong: Any = [
        ((None, library), "the first argument is the model, an nn.Module, and this is a NoneType"),
        ((TinyModel, library), r"the model is the class TinyModel: make one of it, TinyModel\(...\)"),
        (("kernels/", model), "and this is a str"),
        ((model, None), "kernels are a folder, or files by the names of modules"),
        ((model, {"norm": 3}), "kernels are a folder, or files by the names of modules"),
    ]
    for args, why in wrong:
        with pytest.raises(UsageError, match=why):
            ts.load_(*args)
    with pytest.raises(UsageError, match="grad='yes': use fallback or recompute"):
        ts.load_(model, library, grad="yes")


def test_a_file_nobody_judged_is_refused(model: TinyModel, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("class ModelNew: pass")
    handle: Any = ts.load_(model, {"norm": tmp_path / "mine.py"})
    assert "neither kernel.json nor run.json" in handle.skipped["norm"]
    handle = ts.load_(model, {"norm": tmp_path / "nix.py"})
    assert handle.skipped["norm"].endswith("nix.py: no such file")
