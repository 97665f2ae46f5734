"""Numbers that a module computes from sizes are computed again at every shape."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playbook_children import compile_exact, find_problems, interpreting
from playbook_judging import ONE_TARGET
from playbook_surveys import match_task
from playbook_tasks import owner, task
from sized_tasks import SIZED

from tilesmith.lint import lint, read_kernel


def written(name: str, text: str) -> str:
    match = match_task(name, text)
    return match.write(match.tunings[0])


@pytest.mark.parametrize("name", SIZED)
def test_a_kernel_is_right_at_every_shape(name: str) -> None:
    sized = SIZED[name]
    source = written(name, sized.at(sized.own))
    assert lint(read_kernel(source)).findings == ()
    for sizes in (sized.own, *sized.others):
        assert interpreting(find_problems, sized.at(sizes), source, ragged=False) == []


@pytest.mark.parametrize("target", ONE_TARGET)
def test_nothing_spills(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    for name, sized in SIZED.items():
        text = sized.at(sized.own)
        assert not any(one.spills for one in compile_exact(text, written(name, text), target, str(tmp_path))), name


def test_the_file_says_how_a_number_is_computed() -> None:
    source = written("attention_scores", SIZED["attention_scores"].at((4, 24, 64)))
    assert "fused_softmax(matmul, mask, q.shape[2] ** 0.5)" in source


def test_sizes_that_were_always_equal_must_be() -> None:
    """Nobody knows which of the two the code meant."""
    text = task("return x / math.sqrt(x.shape[0]) + torch.tanh(x)", "x = torch.randn(N, N)", extra="N = 24")
    with pytest.raises(ValueError, match=r"written for x\.shape\[0\] = x\.shape\[1\]"):
        interpreting(find_problems, text.replace("(N, N)", "(N, 30)"), written("square", text), ragged=False)


def test_a_number_that_nobody_can_explain_is_for_the_shape_alone() -> None:
    """The third power of a size is no form that is looked for."""
    text = task("return x / x.shape[1] ** 3.5 + torch.tanh(x)", "x = torch.randn(20, 24)")
    source = written("unexplained", text)
    assert interpreting(find_problems, text, source, ragged=False) == []
    with pytest.raises(ValueError, match=r"written for tuple\(x\.shape\) = \(20, 24\)"):
        interpreting(find_problems, text.replace("20, 24", "20, 30"), source, ragged=False)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("if x.shape[1] > 64:\n    return x * 2\nreturn torch.tanh(x) + 1", "x.shape[1] <= 64"),
        ("h = torch.tanh(x)\nif h.size(-1) % 2:\n    h = h * 3\nreturn h + 1", "(x.shape[1] % 2) == 0"),
        ("return torch.tanh(x) * (3 if x.shape[1] ** 2 > 2500.5 else 2) + 1", "(x.shape[1] ** 2) <= 2500.5"),
        ("return torch.tanh(x) * (3 if divmod(x.shape[1], 8)[1] else 2) + 1", "(x.shape[1] % 8) == 0"),
        ("return torch.tanh(x[:, : min(x.size(1), 40)]) + 1", "x.shape[1] <= 40"),
        ("h = x[:, 0]\nfor t in range(x.shape[1]):\n    h = torch.tanh(h) + t\nreturn h", "x.shape[1] = 24"),
    ],
)
def test_another_branch_at_another_size_is_refused(code: str, told: str) -> None:
    text = task(code, "x = torch.randn(20, 24)")
    source = written("branch", text)
    assert interpreting(find_problems, text, source, ragged=False) == []
    assert interpreting(find_problems, text.replace("20, 24", "12, 24"), source, ragged=False) == []
    with pytest.raises(ValueError, match=re.escape(f"written for {told}")):
        interpreting(find_problems, text.replace("20, 24", "20, 77"), source, ragged=False)


def test_a_product_takes_no_rows_of_another_length() -> None:
    """Its operands are read by the length of one of them."""
    linear = owner("self.linear = nn.Linear(size, 1024)")
    text = task("return F.gelu(self.linear(x))", "x = torch.randn(2048, 1024)", linear, "1024")
    assert "assert weight.shape[-1] == x.shape[-1]" in written("product", text)


def test_what_is_read_from_a_table_must_lie_within() -> None:
    table = "def __init__(self):\n    super().__init__()\n    self.register_buffer('table', torch.randn(64))"
    text = task("return torch.tanh(x) * self.table[: x.shape[1]]", "x = torch.randn(20, 24)", table)
    source = written("table", text)
    assert interpreting(find_problems, text.replace("20, 24", "3, 64"), source, ragged=False) == []
    with pytest.raises(AssertionError, match=r"written for x\.shape\[-1\] <= table\.shape\[-1\]"):
        interpreting(find_problems_of_a_longer_table, text, source)


def find_problems_of_a_longer_table(text: str, source: str) -> None:
    """PyTorch refuses it, too, so nothing is compared."""
    import torch
    from playbook_children import Twins

    Twins(text, source).outputs(torch.randn(3, 65))
