"""Executing a candidate's source and building its model."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from tilesmith.worker.candidate.loading import BadCandidate, adopt_sizes, construct, execute, forget_modules
from tilesmith.worker.truth.model_state import UnmatchedTensor, clone_state, perturbed, state_of

SOURCE = """\
import torch
from torch import nn
class ModelNew(nn.Module):
    def __init__(self, size, *, bias=True):
        super().__init__()
        self.line = nn.Linear(size, size, bias=bias)
    def forward(self, x):
        return self.line(x)
"""


def plan(*args, training=True, **kwargs):
    torch.manual_seed(5)
    reference = nn.Module()
    reference.line = nn.Linear(*args, *args, **kwargs)
    seeded = clone_state(state_of(reference))
    names = {name for name, _ in reference.named_parameters()}
    state = perturbed(seeded, names, 1)
    return {
        "seed": 5,
        "args": list(args),
        "kwargs": kwargs,
        "seeded": seeded,
        "state": state,
        "training": training,
    }


def test_sources_are_found_again_under_the_file_name():
    found = execute("/nowhere/lonely_kernel.py", SOURCE)
    assert inspect.getsource(found.forward) == "    def forward(self, x):\n        return self.line(x)\n"
    assert found.__module__ == "lonely_kernel"
    assert execute("/nowhere/torch.py", SOURCE).__module__ == "torch_kernel", "torch is somebody else"


def test_the_latest_candidate_of_a_name_is_the_one_that_counts():
    execute("kernel.py", SOURCE)
    changed = execute("kernel.py", SOURCE.replace("self.line(x)", "self.line(x) * 2"))
    assert "* 2" in inspect.getsource(changed.forward)


def test_loaded_anew_it_remembers_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "a_neighbor.py").write_text("seen = []\n")
    text = f"import a_neighbor\na_neighbor.seen.append(1)\nSEEN = len(a_neighbor.seen)\n{SOURCE}"
    path = str(tmp_path / "remembering_kernel.py")
    for _ in range(2):
        found = execute(path, text)
        assert sys.modules[found.__module__].SEEN == 1
        forget_modules()
        assert not {"a_neighbor", "remembering_kernel"} & set(sys.modules)
    assert "torch" in sys.modules


def test_a_file_without_model_says_so():
    with pytest.raises(BadCandidate, match="no class ModelNew"):
        execute("kernel.py", "class Model: pass")


def test_what_the_file_raises_comes_through():
    with pytest.raises(ZeroDivisionError):
        execute("kernel.py", "1 / 0")


@pytest.mark.parametrize("training", [True, False])
def test_the_model_gets_the_references_state_and_mode(training):
    made = plan(4, bias=False, training=training)
    model, transfer = construct(execute("kernel.py", SOURCE), made, "cpu")
    assert torch.equal(model.line.weight, made["state"]["line.weight"])
    assert model.training is training
    assert transfer.sources == {"line.weight": "line.weight"}


def test_the_common_seed_gives_the_same_values_under_other_names():
    renamed = SOURCE.replace("self.line", "self.layer")
    made = plan(4)
    model, transfer = construct(execute("kernel.py", renamed), made, "cpu")
    assert set(transfer.by_value) == {"layer.weight", "layer.bias"}
    assert torch.equal(model.layer.weight, made["state"]["line.weight"])


def test_a_model_that_is_no_module():
    with pytest.raises(BadCandidate, match=r"not an nn\.Module"):
        construct(execute("kernel.py", "def ModelNew(size): return size"), plan(4), "cpu")


def test_a_parameter_of_its_own_is_named():
    extra = SOURCE.replace(
        "        self.line =", "        self.extra = nn.Parameter(torch.rand(7))\n        self.line ="
    )
    with pytest.raises(UnmatchedTensor, match="'extra'"):
        construct(execute("kernel.py", extra), plan(4), "cpu")


def test_repeated_constants_of_the_task_follow_the_shape_at_hand():
    found = execute("kernel.py", "batch_size = 10\nwidth = 7\n" + SOURCE)
    names = found.__init__.__globals__
    adopt_sizes({"batch_size": (10, 6), "width": (8, 4), "height": (9, 5)})
    assert (names["batch_size"], names["width"], "height" in names) == (6, 7, False)
    adopt_sizes({})
    assert names["batch_size"] == 10
