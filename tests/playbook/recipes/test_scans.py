"""Running sums and products along rows and columns: on chip, in blocks, and from the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from playbook_children import compile_exact, find_problems, interpreting
from playbook_judging import on_targets
from playbook_surveys import match_task
from playbook_tasks import FLAT, SMALL_INTEGERS, task

from tilesmith.lint import lint, read_kernel
from tilesmith.playbook.plan.plan import Plan

LONG = "x = torch.randn(3, 20001)"
SCANS = {
    "sum": task("return x.cumsum(-1)", FLAT),
    "product": task("return torch.cumprod(x * 0.1 + 1, 1) * 2", FLAT),
    "from_the_end": task("return x.flip(-1).cumsum(-1).flip(-1)", FLAT),
    "exclusive": task("return x.cumsum(-1) - x", FLAT),
    "masked": task("return torch.cumsum(x * m, 1)", f"{FLAT}\nm = torch.rand(30, 517) > 0.5"),
    "summed": task("return (x.cumsum(-1) * 2).sum(-1)", FLAT),
    "integers": task("return a.cumsum(-1), (a > 0).cumsum(-1)", SMALL_INTEGERS),
    "half": task("return x.cumsum(-1)", "x = torch.randn(30, 140).half()"),
    "long": task("return x.cumsum(-1) + 1", LONG),
    "long_from_the_end": task("return x.flip(-1).cumsum(-1).flip(-1)", LONG),
    "log_of_sums": task("return torch.logcumsumexp(x * 30, -1) + 1", FLAT),
    "log_of_sums_in_columns": task("return torch.logcumsumexp(x * 30, 0)", FLAT),
    "columns": task("return x.cumsum(0)", FLAT),
    "long_columns": task("return x.cumsum(1) * 2", "x = torch.randn(3, 1100, 40)"),
}


@pytest.mark.parametrize("name", SCANS)
def test_values_are_right(name: str) -> None:
    match = match_task(name, SCANS[name])
    assert isinstance(match, Plan)
    assert [region.recipe for region in match.regions] == ["columns" if "columns" in name else "rows"]
    source = match.write(match.tunings[0])
    assert ("_carry" in source) == ("long" in name)
    assert interpreting(find_problems, SCANS[name], source, launches=1) == []
    assert lint(read_kernel(source)).findings == ()


@pytest.mark.parametrize(
    ("name", "target"),
    on_targets(["long", "long_from_the_end", "long_columns"], {"long": "sm_80", "long_columns": "sm_90"}),
)
def test_scans_stay_in_registers(name: str, target: str, tmp_path: Path) -> None:
    text = SCANS[name].replace("3, 20001", "32768, 32768").replace("3, 1100, 40", "64, 4096, 4096")
    match = match_task(f"{name}_large", text)
    kernels = compile_exact(text, match.write(match.tunings[0]), target, str(tmp_path))
    assert [kernel.spills for kernel in kernels] == [0]


def test_both_directions_at_once_fit_on_chip_alone() -> None:
    both = "return x.cumsum(-1) + x.flip(-1).cumsum(-1).flip(-1)"
    match = match_task("both", task(both, FLAT))
    assert interpreting(find_problems, task(both, FLAT), match.write(match.tunings[0]), launches=1) == []
    assert not any(
        "BLOCK_N" in tuning for tuning in match_task("both_wide", task(both, "x = torch.randn(30, 5000)")).tunings
    )
