"""best.py is run as people run it: it takes what was verified and refuses everything else."""

from __future__ import annotations

import json
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tilesmith.lint import lint, read_kernel
from tilesmith.records import ArgumentSpec, Evaluation, Interface, OutputErrors, Verdict, from_json, to_json
from tilesmith.runs.best_file import BestKernel, render_best

EXAMPLES = Path(__file__).parents[2] / "examples" / "kernels"
KERNEL = '''from __future__ import annotations
from torch import nn

class ModelNew(nn.Module):
    """Stands in for a kernel."""

    def __init__(self):
        super(ModelNew, self).__init__()
        self.scale = nn.Parameter(__import__("torch").ones(4))

    def forward(self, x, y, mask=None, *, flag=True):
        return x * 2
'''
X, Y = (ArgumentSpec((name,), "tensor", "float32", ("n", size)) for name, size in (("x", 4), ("y", "m")))
MASK, FLAG = ArgumentSpec(("mask",), "value"), ArgumentSpec(("flag",), "value", value=True)
INTERFACE = Interface((X, Y, MASK, FLAG), ("mask", "flag"), ("flag",), training=False)
LIMITS = ("forward only", "mask must be None", "eval mode only")


def best(interface: Interface | None = INTERFACE, limits: tuple[str, ...] = LIMITS, source: str = KERNEL) -> str:
    evaluation = Evaluation(
        Verdict.PASSED,
        "right",
        "elementwise",
        errors=OutputErrors(0.0, 0.0, 1e-7, 1e-7, 1.0),
        limits=limits,
        interface=interface,
        environment={"device": "H200", "torch": "2.13", "precision": "default"},
    )
    return render_best(BestKernel(source, "kernel 3 is right", "double", "2026-11-16-double-1", 3, evaluation))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    return loaded(best()).ModelNew().eval()


def loaded(text: str) -> types.ModuleType:
    module = types.ModuleType("best")
    module.__file__ = "best.py"
    exec(compile(text, "best.py", "exec"), module.__dict__)
    return module


def test_the_head_says_how_to_use_it_and_what_it_is_for() -> None:
    head = best().splitlines()[:7]
    assert head[0] == "# tilesmith, run 2026-11-16-double-1: kernel 3 is right"
    assert "from best import ModelNew" in head[2]
    assert head[3].endswith(
        "forward(x: float32 (n, 4), y: float32 (n, m)); forward only; mask must be None; eval mode only"
    )


def test_the_facts_are_data(model: Any) -> None:
    facts = loaded(best()).TILESMITH
    assert facts["inputs"] == {"x": ["float32", "n", 4], "y": ["float32", "n", "m"]}
    assert facts["limits"] == list(LIMITS)
    assert json.loads(json.dumps(facts)) == facts


def test_what_was_verified_is_computed(model: Any) -> None:
    with torch.no_grad():
        assert model(torch.ones(3, 4), torch.ones(3, 5)).tolist() == [[2.0] * 4] * 3
        assert model(torch.ones(7, 4), y=torch.ones(7, 1), mask=None, flag=True).shape == (7, 4)
        assert list(model.state_dict()) == ["scale"]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda model: model(torch.ones(3, 5), torch.ones(3, 5)),
            r"x: float32 \(n, 4\) is wanted, not .* \(3, 5\)",
        ),
        (
            lambda model: model(torch.ones(3, 4), torch.ones(1, 5)),
            r"y: float32 \(n, m\) is wanted, not .* \(1, 5\)",
        ),
        (lambda model: model(torch.ones(3, 4).half(), torch.ones(3, 5)), "x: float32"),
        (lambda model: model(torch.ones(4), torch.ones(3, 5)), "x: float32"),
        (lambda model: model(torch.ones(3, 4), torch.ones(3, 5), torch.ones(1)), "mask must be None"),
        (lambda model: model(torch.ones(3, 4), torch.ones(3, 5), flag=False), "flag must be True"),
        (lambda model: model.train()(torch.ones(3, 4), torch.ones(3, 5)), "eval mode only"),
        (lambda model: model(torch.ones(3, 4), torch.ones(3, 5).to("meta")), "y: on another device than x"),
        (lambda model: model(torch.ones(4, 3).t(), torch.ones(3, 5)), "x: not contiguous"),
        (lambda model: model(torch.ones(0, 4), torch.ones(0, 5)), "x: empty"),
        (lambda model: model([1.0], torch.ones(3, 5)), "x: not a plain tensor"),
    ],
    ids=["size", "broadcast", "dtype", "rank", "mask", "flag", "mode", "device", "strides", "empty", "type"],
)
def test_every_other_call_is_refused(model: Any, call: Any, told: str) -> None:
    with torch.no_grad(), pytest.raises(ValueError, match=told):
        call(model)


def test_gradients_are_refused_where_the_kernel_has_none(model: Any) -> None:
    x, y = torch.ones(3, 4), torch.ones(3, 5)
    with pytest.raises(ValueError, match="forward only: call it under"):
        model(x, y)
    model.requires_grad_(False)
    assert model(x, y).shape == (3, 4)
    with pytest.raises(ValueError, match="forward only"):
        model(x.requires_grad_(), y)


@pytest.mark.parametrize(("limit", "taken", "refused"), [("batch above 4", 5, 4), ("batch up to 4", 4, 5)])
def test_the_other_side_of_a_branch_is_refused(
    monkeypatch: pytest.MonkeyPatch, limit: str, taken: int, refused: int
) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    model = loaded(best(limits=(limit,))).ModelNew()
    assert model(torch.ones(taken, 4), torch.ones(taken, 5)).shape == (taken, 4)
    with pytest.raises(ValueError, match=limit):
        model(torch.ones(refused, 4), torch.ones(refused, 5))


def test_nests_and_arguments_behind_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    nest = [ArgumentSpec(("pair",), "tuple", value=1), replace(X, path=("pair", 0))]
    interface = Interface((*nest, MASK, replace(Y, path=("y",))), ("mask",))
    source = KERNEL.replace("x, y, mask=None, *, flag=True", "pair, mask=None, y=None").replace("x * 2", "y")
    module = loaded(best(interface, (), source))
    assert module.TILESMITH["inputs"] == {"pair[0]": ["float32", "n", 4], "y": ["float32", "n", "m"]}
    x, y = torch.ones(3, 4), torch.ones(3, 5)
    assert module.ModelNew()((x,), y=y) is y
    for pair, told in (([x], "pair: another length"), ((y,), r"pair\[0\]: float32 \(n, 4\) is wanted")):
        with pytest.raises(ValueError, match=told):
            module.ModelNew()(pair, y=y)


def test_without_a_gpu_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    model = loaded(best()).ModelNew().eval()
    with torch.no_grad(), pytest.raises(ValueError, match="x must be on a GPU"):
        model(torch.ones(3, 4), torch.ones(3, 5))


def test_a_kernel_that_takes_more_is_not_held_back() -> None:
    text = best(limits=())
    assert "is_grad_enabled" not in text
    assert "self.training" not in text


def test_without_an_interface_only_the_head_is_added() -> None:
    assert best(interface=None) == f"# tilesmith, run 2026-11-16-double-1: kernel 3 is right\n{KERNEL}"


def test_interfaces_survive_json() -> None:
    plain = Interface((X, ArgumentSpec(("k", 0), "value", value=3)), ("mask",), ("k",), True)
    assert from_json(Interface, json.loads(json.dumps(to_json(plain)))) == plain


def test_the_file_has_no_findings_that_its_kernel_has_not() -> None:
    source = (EXAMPLES / "softmax.py").read_text(encoding="utf-8")
    alone = lint(read_kernel(source)).findings
    told = best(interface=replace(INTERFACE, arguments=(X,), left_out=(), keyword_only=()), source=source)
    assert "TRITON_INTERPRET" in told
    assert {one.id for one in lint(read_kernel(told)).findings} <= {one.id for one in alone}
