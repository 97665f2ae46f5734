"""The playbook is a pipeline: graphs are understood, recipes decide, texts are written. Imports go one way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilesmith.playbook

PLAYBOOK = Path(tilesmith.playbook.__file__).parent
MAY_NOT_IMPORT = {"graph": ("writing", "recipes", "recipe"), "writing": ("recipes",)}


def imported(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tilesmith.playbook."):
                yield str(node.module).split(".")[2]


@pytest.mark.parametrize("part", MAY_NOT_IMPORT)
def test_imports_go_one_way(part: str) -> None:
    assert not set(imported(PLAYBOOK / part)) & set(MAY_NOT_IMPORT[part])
