"""Edits change what they must and nothing else."""

from __future__ import annotations

import ast

import pytest

from tilesmith.operators.source_edits import (
    edited,
    entry_of,
    in_place_of,
    parts_of,
    with_imports,
    with_prologue,
    with_wrapped_launches,
)

KERNEL = '''"""\x0cGröße: a file with letters of several bytes."""

from __future__ import annotations

import torch
import triton


@triton.jit
def scale(x_ptr):
    pass


_scale, other = scale, 3
_kernel = scale  # é


def helper(x, grid):
    "é"; _kernel[grid](x, table[0](x))


def scale(x, grid=(1,)):
    """Doc.

    More."""
    # why

    text = """
    kept
"""
    return helper(x, grid), _kernel[(1,)](x), text, other[0](x)
'''


def test_every_launch_is_wrapped_and_no_other_call() -> None:
    edited = with_wrapped_launches(KERNEL, "wrap")
    assert '"é"; wrap(_kernel)[grid](x, table[0](x))' in edited
    assert "return helper(x, grid), wrap(_kernel)[(1,)](x), text, other[0](x)" in edited
    assert edited.replace("wrap(_kernel)", "_kernel") == KERNEL


def test_what_spans_lines_is_replaced_whole() -> None:
    text = '\x0cé = f(\n    "ü",\n)[0]; ß = é\n'
    first, second = (one.value for one in ast.parse(text).body)
    changes = [in_place_of(first.value, "g(\n)"), in_place_of(second, "ö")]
    assert edited(text, changes) == "\x0cé = g(\n)[0]; ß = ö\n"


def test_the_entry_is_the_last_of_its_name() -> None:
    edited = with_prologue(KERNEL, entry_of(KERNEL, "scale", "scale_triton.py"), "log()", "guard(x)")
    assert edited.endswith(
        '    More."""\n    log()\n    with guard(x):\n        # why\n\n        text = """\n    kept\n"""\n'
        "        return helper(x, grid), _kernel[(1,)](x), text, other[0](x)\n"
    )


@pytest.mark.parametrize(
    "head", ["def f(x):\n", "def f(\n    x,  # a: b\n):\n\n    # first\n", "@cache\ndef f(x):  # why\n"]
)
def test_a_prologue_follows_any_head(head: str) -> None:
    text = f"{head}    return x\n"
    edited = with_prologue(text, entry_of(text, "f", "f.py"), "log()", "guard()")
    (function,) = ast.parse(edited).body
    assert isinstance(function, ast.FunctionDef)
    assert [ast.unparse(one) for one in function.body] == ["log()", "with guard():\n    return x"]


def test_imports_join_at_the_top() -> None:
    edited = with_imports(KERNEL, "import os\n\n", "\nLAST = 1\n")
    assert "from __future__ import annotations\n\nimport os\n\nimport torch\nimport triton\n\nLAST = 1\n" in edited
    assert with_imports("x = 1\n", "import os\n", "") == "import os\nx = 1\n"
    assert (
        with_imports('"""Doc."""\nx = 1\n', "import os\n", "y = 2\n") == '"""Doc."""\n\nimport os\ny = 2\nx = 1\n'
    )


def test_a_file_goes_into_another_without_what_that_has() -> None:
    parts = parts_of(
        '"""Doc."""\nfrom __future__ import annotations\nimport torch\nimport math\n\n\ndef f(): ...\n'
    )
    assert parts == ("import math", "def f(): ...")
