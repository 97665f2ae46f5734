"""Imports inside the linter point one way: model <- structure <- classify and rules; groups of rules stay apart."""

from __future__ import annotations

import ast
from pathlib import Path

import tilesmith

ROOT = Path(tilesmith.__file__).parent / "lint"
PACKAGE = "tilesmith.lint"
WORDS = {"vocabulary", "releases"}
ALLOWED = {
    "vocabulary": set[str](),
    "releases": {"vocabulary"},
    "model": {"model", "vocabulary"},
    "structure": {"structure", "model", "vocabulary"},
    "classify": {"structure", "model", "vocabulary"},
}
GROUPS = sorted(path.parent.name for path in ROOT.glob("rules/*/__init__.py"))


def imported(folder: str) -> set[str]:
    """Paths below `tilesmith.lint` that the files of a layer import: `structure.buffers`, `rules.findings`."""
    files = [*ROOT.glob(f"{folder}.py"), *(ROOT / folder).rglob("*.py")]
    assert files
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    direct = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    froms = [f"{n.module}.{a.name}" for n in nodes if isinstance(n, ast.ImportFrom) for a in n.names]
    return {name.removeprefix(f"{PACKAGE}.") for name in direct + froms if name.startswith(PACKAGE)}


def test_lower_layers_know_nothing_of_higher_ones() -> None:
    for layer, allowed in ALLOWED.items():
        assert {name.partition(".")[0] for name in imported(layer)} <= allowed, layer


def test_groups_of_rules_do_not_import_each_other() -> None:
    for group in GROUPS:
        rules = {name.split(".")[1] for name in imported(f"rules/{group}") if name.startswith("rules.")}
        assert rules <= {group, "findings"}, group
        others = {name.partition(".")[0] for name in imported(f"rules/{group}")}
        assert others <= {"rules", "structure", "model", *WORDS}, group
