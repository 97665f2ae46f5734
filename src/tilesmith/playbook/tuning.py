"""Reads a tuning back out of a written file, where it stands as constants at the top."""

from __future__ import annotations

import ast

from tilesmith.playbook.recipe import Match, Tuning
from tilesmith.syntax import parse


def find_tuning(match: Match, source: str) -> Tuning | None:
    """The tuning that `match` writes this very text for; None if somebody else wrote it."""
    constants = _constants(source)
    present = [
        max((one.names for one in part.choices if constants.keys() >= {*one.names}), key=len, default=())
        for part in match.parts
    ]
    joined = tuple(name for names in present for name in names)
    for names in dict.fromkeys([*(tuning.names for tuning in match.tunings), joined]):
        if names and all(name in constants for name in names):
            tuning = Tuning(tuple((name, constants[name]) for name in names))
            if match.write(tuning).strip() == source.strip():
                return tuning
    return None


def _constants(source: str) -> dict[str, int]:
    try:
        tree = parse(source)
    except (SyntaxError, ValueError):
        return {}
    found: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value.value if isinstance(node.value, ast.Constant) else None
            if type(value) is int:
                found[node.targets[0].id] = value
    return found
