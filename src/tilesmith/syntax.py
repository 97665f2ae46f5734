"""Python source to a syntax tree, from any thread."""

from __future__ import annotations

import ast
import threading

_one_at_a_time = threading.Lock()


def parse(text: str) -> ast.Module:
    """`ast.parse`, one at a time: two threads inside it raise SystemError in Python 3.11."""
    with _one_at_a_time:
        return ast.parse(text)


def parse_expression(text: str) -> ast.expr:
    with _one_at_a_time:
        return ast.parse(text, mode="eval").body
