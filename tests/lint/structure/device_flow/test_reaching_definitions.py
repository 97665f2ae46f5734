"""Which assignments can still hold where a name is read."""

from __future__ import annotations

import ast

import pytest

from tilesmith.lint.model.syntax.flow import read_flow
from tilesmith.lint.model.syntax.tree import SyntaxTree
from tilesmith.lint.structure.device_flow.reaching_definitions import reaching

CASES = {
    "x = 1\nx = 2\nuse(x)": {2},
    "x = 1\nif c:\n    x = 2\nuse(x)": {1, 3},
    "x = 1\nif c:\n    x = 2\nelse:\n    use(x)": {1},
    "x = 1\nfor i in r:\n    use(x)\n    x = 2": {1, 4},
    "x = 1\nfor i in r:\n    x = 2\n    use(x)\n    x = 3": {3},
    "x = 1\nx += 2\nuse(x)": {1, 2},
    "x = 1\nx = x % 3\nuse(x)": {2},
    "for i in a:\n    pass\nfor i in b:\n    use(i)": {3},
    "x = 1\nuse(x)\nx = 2": {1},
}


@pytest.mark.parametrize("text", CASES)
def test_what_reaches_a_use(text: str) -> None:
    tree = ast.parse(text)
    flow = read_flow(SyntaxTree(tree), tree.body)
    (use,) = [n.args[0] for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.args[0], ast.Name)]
    assert isinstance(use, ast.Name)
    assert {binding.line for binding in reaching(flow, use)} == CASES[text]
