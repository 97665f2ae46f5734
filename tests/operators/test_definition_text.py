"""What a definition says comes out in the baseline as it went in."""

from __future__ import annotations

import ast

import pytest

from tilesmith.operators.definition import parse_definition
from tilesmith.operators.writing import baseline_text

BODIES = {
    "one line": "def f(x): y = x + 1; return y * 2\n",
    "below the head": "def f(\n    x,\n): y = x + 1; return y * 2\n",
    "beside the docstring": 'def f(x):\n    """Twice."""; return x * 2\n',
    "string of several lines": 'def f(x):\n  y = """a\n b\n\nc"""\n  return x * len(y)\n',
    "f-string of several lines": 'def f(x):\n  y = f"""a\n b{x}\n\nc"""\n  return x * len(y)\n',
    "comment at the margin": "def f(x):\n# twice\n    return x * 2\n",
}


@pytest.mark.parametrize("text", BODIES.values(), ids=BODIES)
def test_no_statement_of_a_body_is_lost_or_changed(text: str) -> None:
    written, wanted = (ast.parse(one).body[-1] for one in (baseline_text(parse_definition(text, "f")), text))
    assert isinstance(written, ast.FunctionDef)
    assert isinstance(wanted, ast.FunctionDef)
    statements = wanted.body[1:] if ast.get_docstring(wanted) else wanted.body
    assert [ast.dump(one) for one in written.body[1:]] == [ast.dump(one) for one in statements]


def test_a_helper_keeps_its_decorators() -> None:
    helper = "@torch.no_grad()\n@cache\ndef _two():\n    return 2\n"
    text = f"import torch\nfrom functools import cache\n{helper}def f(x): return x * _two()\n"
    assert helper in baseline_text(parse_definition(text, "f"))
