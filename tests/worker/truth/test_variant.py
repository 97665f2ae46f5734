"""One shape of a task: its mode, its truth and the draws it can take."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import torch

from tilesmith.errors import TaskError
from tilesmith.tasks.draws import CORNERS_DRAW, DRAWS
from tilesmith.worker.task import load_task
from tilesmith.worker.tensors.exchange import map_tensors
from tilesmith.worker.truth.torch_share import measure_torch_share
from tilesmith.worker.truth.variant import Variant

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def variant(tmp_path, forward, init="", inputs="[torch.rand(16, 8)]", precision="default"):
    body = f"""
class Model(nn.Module):
    def __init__(self):
        super().__init__()
{textwrap.indent(textwrap.dedent(init), " " * 8)}
    def forward(self, x):
{textwrap.indent(textwrap.dedent(forward), " " * 8)}
def get_inputs():
    return {inputs}
"""
    path = tmp_path / "task.py"
    path.write_text(HEAD + body)
    return Variant(load_task(path), "cpu", precision, 0)


def test_a_plain_model_keeps_its_mode(tmp_path):
    made = variant(tmp_path, "return self.norm(x)", "self.norm = nn.BatchNorm1d(8)")
    assert made.training is True
    assert made.construction()["training"] is True


@pytest.mark.parametrize(
    ("init", "forward"),
    [
        ("self.drop = nn.Dropout(0.5)", "return self.drop(x)"),
        ("self.drop = nn.Dropout1d(0.2)", "return self.drop(x)"),
        ("self.rnn = nn.GRU(8, 8, 2, dropout=0.3)", "return self.rnn(x)[0]"),
        ("", "return F.dropout(x, 0.5, self.training)"),
    ],
    ids=["module", "channels", "inside a GRU", "functional"],
)
def test_a_random_model_is_compared_in_eval_mode(tmp_path, init, forward):
    made = variant(tmp_path, forward, init)
    assert made.training is False
    inputs = made.inputs("own")
    assert torch.equal(made.run_eager(inputs), made.run_eager(inputs))


def test_dropout_that_drops_nothing_changes_nothing(tmp_path):
    assert variant(tmp_path, "return self.drop(x)", "self.drop = nn.Dropout(0.0)").training is True


@pytest.mark.parametrize(
    "forward",
    [
        "return x * 3",
        "return (x.float() / 3).float()",
        "return x.to(torch.float32) / 3",
        "return x.to(dtype=torch.float32) / 3",
        "return x.type(torch.float32) / 3",
        "return (x.half().float()) / 3",
        "return x.sum(-1, dtype=torch.float32) / 3",
        "return torch.softmax(x, -1, dtype=torch.float32)",
        "y = torch.zeros(x.shape, dtype=torch.float32)\ny += x / 3\nreturn y",
        "return self.weight.float() * x.float() / 3",
    ],
)
def test_truth_is_float64_whatever_the_forward_casts_to(tmp_path, forward):
    made = variant(tmp_path, forward, "self.weight = nn.Parameter(torch.rand(8))")
    answer = made.answer("own")
    assert answer.truth_is == "float64 on cpu"
    assert answer.truth.tensors[0].dtype == torch.float64
    assert answer.eager.tensors[0].dtype == torch.float32
    exact = made.run_eager(map_tensors(made.inputs("own"), torch.Tensor.double)) if "half" not in forward else None
    fraction = answer.truth.tensors[0] - answer.truth.tensors[0].float().double()
    if "3" in forward and "* 3" not in forward:
        assert bool((fraction != 0).any()), "the truth was rounded to float32 on the way"
    assert exact is None or torch.allclose(answer.truth.tensors[0], exact.double(), rtol=1e-5)


def test_a_model_that_cannot_run_in_float64_is_its_own_truth(tmp_path):
    made = variant(tmp_path, "assert x.dtype == torch.float32\nreturn x / 3")
    answer = made.answer("own")
    assert not answer.is_exact
    assert torch.equal(answer.truth.tensors[0], answer.eager.tensors[0])


def test_draws_that_make_the_reference_invent_nan_are_left_out(tmp_path):
    made = variant(tmp_path, "return torch.log(x)", inputs="[torch.rand(16, 8) + 0.1]")
    usable = {draw for draw in DRAWS if made.is_usable(draw)}
    assert usable == {"own", "own again", "scaled", "shifted", "large"}


def test_draws_on_which_the_reference_raises_are_left_out(tmp_path):
    made = variant(tmp_path, "assert bool((x >= 0).all())\nreturn x * 2")
    assert not made.is_usable("wild")
    assert made.is_usable("scaled")


def test_the_tasks_own_inputs_are_used_even_where_they_give_infinity(tmp_path):
    assert variant(tmp_path, "return 1 / (x * 0)").is_usable("own")


def test_a_reference_that_fails_on_its_own_inputs_is_the_tasks_fault(tmp_path):
    made = variant(tmp_path, "return x @ x")
    with pytest.raises(TaskError, match=r"task\.py.*fails on get_inputs"):
        made.is_usable("own")


def test_the_state_is_perturbed_and_comes_back_after_every_run(tmp_path):
    """BatchNorm in training mode moves its statistics: every run must start from the same ones."""
    made = variant(tmp_path, "return self.norm(x)", "self.norm = nn.BatchNorm1d(8)")
    assert not torch.equal(made.state["norm.weight"], made.seeded["norm.weight"])
    inputs = made.inputs("own")
    first = made.run_eager(inputs)
    made.run_eager(made.inputs("wild"))
    assert torch.equal(made.run_eager(inputs), first)
    assert bool((made.state["norm.running_var"] > 0).all())


def test_a_forward_that_works_in_place_does_not_spoil_the_inputs(tmp_path):
    made = variant(tmp_path, "return x.relu_().mul_(2)")
    inputs = made.inputs("wild")
    kept = inputs.args[0].clone()
    answer = made.answer_on(inputs)
    assert torch.equal(inputs.args[0], kept)
    assert torch.allclose(answer.truth.tensors[0].float(), answer.eager.tensors[0])


def test_an_answer_is_computed_once_and_can_be_released(tmp_path):
    made = variant(tmp_path, "return x / 3")
    first = made.answer("own")
    assert made.answer("own") is first
    made.release()
    assert made.answer("own") is not first


def test_a_task_that_says_cuda_runs_here_too(tmp_path):
    made = variant(tmp_path, "return x.cuda() / 3", inputs="[torch.rand(4, device='cuda')]")
    assert made.answer("own").truth.tensors[0].shape == (4,)


def test_tf32_is_in_the_eager_values_but_not_in_the_truth(tmp_path):
    parts = {"init": "self.conv = nn.Conv1d(8, 4, 3)", "inputs": "[torch.rand(2, 8, 16)]"}
    default = variant(tmp_path, "return self.conv(x)", **parts).answer("own")
    strict = variant(tmp_path, "return self.conv(x)", **parts, precision="ieee").answer("own")
    assert torch.equal(default.truth.tensors[0], strict.truth.tensors[0])
    errors = [(a.eager.tensors[0].double() - a.truth.tensors[0]).norm() for a in (default, strict)]
    assert errors[0] > 20 * errors[1]


def test_tensors_kept_as_plain_attributes_do_not_narrow_the_truth(tmp_path):
    """KernelBench's GRUs keep their initial state so; truth must not fall back to PyTorch's own values."""
    init = "self.gru = nn.GRU(8, 4)\nself.h0 = torch.randn(1, 2, 4)"
    made = variant(tmp_path, "return self.gru(x, self.h0)[0]", init, "[torch.rand(5, 2, 8)]")
    answer = made.answer("own")
    assert answer.truth_is == "float64 on cpu"
    assert answer.truth.tensors[0].dtype == torch.float64


def test_a_task_that_is_random_in_every_mode_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "task.py"
    path.write_text(
        "import torch\nimport torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, x):\n"
        "        return x + torch.rand_like(x)\ndef get_inputs():\n    return [torch.randn(16, 8)]\n"
    )
    with pytest.raises(TaskError, match="another seed, in eval mode too"):
        Variant(load_task(path), "cpu", "default", 0)


def test_what_torch_made_counts_even_when_a_draw_with_equal_corners_is_known(tmp_path):
    made = variant(tmp_path, "return torch.relu(x)", inputs="[torch.randn(4096, 512)]")
    answer = made.answer("own again").truth.tensors[0].clone()
    assert measure_torch_share(made, "own again", [answer], [0]) == 1.0
    made.answer(CORNERS_DRAW)
    assert measure_torch_share(made, "own again", [answer], [0]) == 1.0


def test_running_out_of_memory_does_not_change_the_draw(tmp_path, monkeypatch):
    made = variant(tmp_path, "return x")
    usual, tried = made._drawn, []

    def drawn(draw, seed, device):
        tried.append(device)
        if len(tried) == 1:
            raise torch.OutOfMemoryError("full")
        return usual(draw, seed, "cpu")

    made.device = "meta"  # stands for a GPU
    monkeypatch.setattr(made, "_draws_on", None)
    monkeypatch.setattr(made, "_drawn", drawn)
    with pytest.raises(torch.OutOfMemoryError):
        made.inputs("own")
    made.inputs("own")
    assert tried == ["meta", "meta"]


def test_where_the_first_draw_is_made_all_are_made(tmp_path, monkeypatch):
    made = variant(tmp_path, "return x")
    usual, tried = made._drawn, []

    def drawn(draw, seed, device):
        tried.append(device)
        if device == "meta":
            raise TypeError("no such generator")
        return usual(draw, seed, device)

    made.device = "meta"
    monkeypatch.setattr(made, "_draws_on", None)
    monkeypatch.setattr(made, "_drawn", drawn)
    for draw in ("own", "wild"):
        made.inputs(draw)
    assert tried == ["meta", "cpu", "cpu"]
