"""What each known cheat would return, and that it is measured as a candidate's outputs are."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import torch

from tilesmith.process.protocol.comparison import CheatResult
from tilesmith.tasks.draws import EXTRA_DRAWS
from tilesmith.worker.task import load_task
from tilesmith.worker.tensors.exchange import FlatOutputs
from tilesmith.worker.truth.answer_comparison import compare_with_answer
from tilesmith.worker.truth.cheat_context import CheatContext, Inapplicable, NothingToShow
from tilesmith.worker.truth.draws import draw_inputs
from tilesmith.worker.truth.known_cheats import cheats_for, try_cheats
from tilesmith.worker.truth.rounding import coarser, round_to_half_width, to_bfloat16
from tilesmith.worker.truth.variant import Variant

X = "[torch.randn(16, 8)]"


def variant(tmp_path: Path, forward: str, init: str = "", inputs: str = X, arguments: str = "x") -> Variant:
    body = f"""
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
{textwrap.indent(init or "pass", " " * 8)}
    def forward(self, {arguments}):
{textwrap.indent(forward, " " * 8)}
def get_inputs():
    return {inputs}
"""
    path = tmp_path / "task.py"
    path.write_text(body)
    return Variant(load_task(path), "cpu", "default", 0)


def outputs(made: Variant, name: str, draw: str = "own") -> list[torch.Tensor]:
    """What the cheat of that name returns."""
    cheat = next(cheat for cheat in cheats_for(made) if cheat.name == name)
    return cheat.make(CheatContext(made, draw)).tensors


def results(made: Variant, draw: str = "own") -> dict[str, CheatResult]:
    return try_cheats(made, draw, [cheat.name for cheat in cheats_for(made)])


def test_names_are_unique_and_every_cheat_answers(tmp_path: Path) -> None:
    made = variant(tmp_path, "return x * self.w", "self.w = nn.Parameter(torch.rand(8))")
    names = [cheat.name for cheat in cheats_for(made)]
    assert len(set(names)) == len(names) >= 18
    assert list(results(made)) == names


def test_only_those_asked_for_are_tried(tmp_path: Path) -> None:
    assert list(try_cheats(variant(tmp_path, "return x"), "own", ["zeros"])) == ["zeros"]


def test_outputs_are_replaced(tmp_path: Path) -> None:
    made = variant(tmp_path, "return x + 3")
    right = made.answer("own").eager.tensors[0]
    assert not outputs(made, "zeros")[0].any()
    assert torch.equal(outputs(made, "a constant", "wild")[0], torch.full((16, 8), float(right.double().mean())))
    assert torch.allclose(outputs(made, "row means")[0], right.mean(-1, keepdim=True).expand(16, 8))
    assert torch.equal(outputs(made, "input 0 returned unchanged")[0], made.inputs("own").args[0])


def test_work_is_left_out(tmp_path: Path) -> None:
    made = variant(tmp_path, "return x.t() + 3")
    zeros = {
        "second half left out": 64,
        "last sixteenth left out": 8,
        "every second element left out": 64,
    }
    for name, count in zeros.items():
        assert int((outputs(made, name)[0] == 0).sum()) == count


def test_stale_answers_are_those_of_another_draw(tmp_path: Path) -> None:
    made = variant(tmp_path, "return x * 2")
    again = made.answer("own again").eager.tensors[0]
    assert torch.equal(outputs(made, "yesterday's output")[0], again)
    assert torch.equal(outputs(made, "the first call cached", "wild")[0], made.answer("own").eager.tensors[0])
    with pytest.raises(NothingToShow):
        outputs(made, "the first call cached")


def test_half_of_each_row_is_not_read(tmp_path: Path) -> None:
    made = variant(tmp_path, "return x.sum(-1)", inputs="[torch.randn(16, 7)]")
    x = made.inputs("own").args[0]
    assert torch.allclose(outputs(made, "half of each input row")[0], x[:, :4].sum(-1))
    twice = x[:, :4].sum(-1) + x[:, :3].sum(-1)
    assert torch.allclose(outputs(made, "half of each input row, twice")[0], twice, atol=1e-6)


def test_parameters_are_ignored_and_come_back(tmp_path: Path) -> None:
    made = variant(tmp_path, "return x * self.w", "self.w = nn.Parameter(torch.full((8,), 5.0))")
    x, right = made.inputs("own").args[0], made.answer("own").eager.tensors[0]
    assert torch.equal(outputs(made, "initial parameters")[0], x * 5)
    assert not outputs(made, "parameters all zero")[0].any()
    assert torch.equal(outputs(made, "parameters all one")[0], x)
    assert torch.equal(made.run_eager(made.inputs("own")), right)


def test_inputs_are_ignored(tmp_path: Path) -> None:
    made = variant(tmp_path, "return x + y", inputs="[torch.randn(4), torch.randn(4)]", arguments="x, y")
    x, y = made.inputs("own").args
    assert torch.equal(outputs(made, "only the first input used")[0], x)
    assert torch.equal(outputs(made, "the first input ignored")[0], y)


def test_only_the_first_output_is_right(tmp_path: Path) -> None:
    made = variant(tmp_path, "return x.sum(-1), x.argmax(-1)")
    first, second = outputs(made, "only the first output right")
    assert torch.equal(first, made.answer("own").eager.tensors[0])
    assert not second.any()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("only the first output right", "only one output"),
        ("only the first input used", "no second input"),
        ("initial parameters", "no parameters"),
        ("parameters all zero", "no parameters"),
        ("row means", "no output"),
        ("input 0 returned unchanged", "fits no output"),
    ],
)
def test_what_means_nothing_here_says_why(tmp_path: Path, name: str, why: str) -> None:
    made = variant(tmp_path, "return x.argmax(-1)")
    assert why in str(results(made)[name].inapplicable)
    with pytest.raises(Inapplicable):
        outputs(made, name)


def test_a_model_that_refuses_what_a_cheat_makes_is_no_failure(tmp_path: Path) -> None:
    made = variant(tmp_path, "assert bool((x != 0).all())\nreturn x * 2")
    assert "does not run" in str(results(made)["half of each input row"].inapplicable)


def test_a_constant_stands_for_integers_and_booleans_too(tmp_path: Path) -> None:
    made = variant(tmp_path, "return x.argmax(-1), x > -1, torch.view_as_complex(x.view(16, 4, 2))")
    integers, booleans, numbers = outputs(made, "a constant")
    assert integers.unique().numel() == 1
    assert bool(booleans.all())
    assert numbers.dtype == torch.complex64
    assert all(one.comparison is None or not one.comparison.layout_problem for one in results(made).values())


def test_an_input_is_stretched_or_reshaped_to_fit(tmp_path: Path) -> None:
    stretched = variant(tmp_path, "return x.expand(6, 8) * 2", inputs="[torch.randn(1, 8)]")
    assert outputs(stretched, "input 0 returned unchanged")[0].shape == (6, 8)
    reshaped = variant(tmp_path, "return x.reshape(8, 16)")
    assert results(reshaped)["input 0 returned unchanged"].identical


def test_cheats_are_measured_exactly_like_candidates(tmp_path: Path) -> None:
    made = variant(tmp_path, "return torch.softmax(x, -1)")
    answer = made.answer("own")
    zeros = FlatOutputs(answer.eager.layout, [torch.zeros_like(t) for t in answer.eager.tensors])
    assert results(made)["zeros"] == CheatResult(compare_with_answer(made, answer, zeros))


def test_tensors_of_no_elements_and_scalars_do_no_harm(tmp_path: Path) -> None:
    assert results(variant(tmp_path, "return x[:0]"))["zeros"].identical
    scalar = results(variant(tmp_path, "return x.mean()"))
    assert scalar["second half left out"].inapplicable
    assert scalar["a constant"].identical


@pytest.mark.parametrize(
    ("dtype", "digits"), [(torch.float64, 24), (torch.float32, 11), (torch.float16, 4), (torch.bfloat16, 4)]
)
def test_rounding_keeps_the_type_and_that_many_digits(dtype: torch.dtype, digits: int) -> None:
    x = torch.linspace(1, 2, 1001, dtype=torch.float64).to(dtype)
    rounded = round_to_half_width(x)
    assert rounded.dtype == dtype
    error = (rounded.double() - x.double()).abs().max()
    assert 2.0 ** -(digits + 2) < error <= 2.0**-digits


def test_rounding_leaves_alone_what_it_does_not_apply_to() -> None:
    integers, half = torch.arange(3), torch.rand(3).half()
    assert round_to_half_width(integers) is integers
    assert coarser(integers) is integers
    assert to_bfloat16(half) is half
    odd = torch.tensor([torch.inf, -torch.inf, 0.0]).bfloat16()
    assert torch.equal(round_to_half_width(odd), odd)


@pytest.mark.parametrize("kind", EXTRA_DRAWS)
def test_stronger_draws_are_different_repeatable_and_finite(kind: str) -> None:
    for shape in ((), (1,), (64, 8), (2, 3, 4, 5)):
        first, second = (draw_inputs(lambda shape=shape: [torch.rand(shape)], kind, 3)[0] for _ in range(2))
        assert torch.equal(first, second)
        assert bool(first.isfinite().all())
    own = draw_inputs(lambda: [torch.rand(64, 8)], "own", 3)[0]
    assert not torch.equal(draw_inputs(lambda: [torch.rand(64, 8)], kind, 3)[0], own)


def test_stronger_parameters_are_far_from_small_initial_ones(tmp_path: Path) -> None:
    init = "self.w = nn.Parameter(torch.full((8,), 1e-6))\nself.register_buffer('v', torch.full((8,), 1e-6))"
    usual = variant(tmp_path, "return x * self.w", init)
    strong = Variant(usual.loaded, "cpu", "default", 0, strong_parameters=True)
    assert float(usual.state["w"].abs().max()) < 1e-5
    assert float(strong.state["w"].abs().max()) > 1e-2
    assert bool((strong.state["v"] > 0).all())
