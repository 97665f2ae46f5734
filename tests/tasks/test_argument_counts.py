"""How many arguments a task hands over, where its file shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilesmith.tasks.argument_counts import count_inputs
from tilesmith.tasks.source import parse_task


@pytest.mark.parametrize(
    ("returned", "count"),
    [
        ("[torch.rand(3), x]", 2),
        ("torch.rand(3), torch.rand(4)", 2),
        ("(x, y, z)", 3),
        ("[x, *rest]", None),
        ("torch.rand(3)", None),
        ("{'x': x}", None),
        ("[x], {'mask': y}", None),
        ("args, kwargs", None),
        ("[x], dict(mask=y)", None),
    ],
)
def test_inputs_are_counted_only_where_all_are_positions(returned: str, count: int | None) -> None:
    task = parse_task(Path("t.py"), f"class Model: pass\ndef get_inputs(): return {returned}\n")
    assert count_inputs(task) == count
