"""What a lost operator.toml said, from the other files of its project."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilesmith.errors import ProjectError
from tilesmith.operators.definition import parse_shapes, read_definition, with_shapes
from tilesmith.operators.project import code_digest, read_source
from tilesmith.operators.records import KINDS, LEADING, OperatorParameter, Project, Sizes
from tilesmith.operators.source_edits import constants_of, functions_of, read_syntax
from tilesmith.operators.writing import accuracy_text


def recover_project(folder: Path, name: str) -> Project:
    """Interface, shapes and dtypes as the baseline has them; sizes, values and the target as the tests have them,
    or sensible ones. Raises ProjectError where there is no baseline."""
    paths = {kind: folder / f"{name}_{kind}.py" for kind in KINDS}
    texts = {kind: read_source(path) if path.exists() else "" for kind, path in paths.items()}
    if not texts["baseline"]:
        raise ProjectError(f"{folder}: no operator project (it has no operator.toml); tilesmith op new makes one")
    trees = {kind: read_syntax(texts[kind], path) for kind, path in paths.items() if kind != "triton"}
    definition = read_definition(paths["baseline"], name)
    values = dict(_values(trees["accuracy"]))
    parameters = tuple(
        shaped(one, definition.contract) or one
        if one.is_tensor
        else replace(one, value=None if values.get(one.name) == one.default else values.get(one.name))
        for one in definition.operator.parameters
    )
    operator = replace(definition.operator, parameters=parameters, accuracy=(), performance=())
    dtypes = re.findall(r"\w+", definition.contract.rpartition("; ")[2])
    operator = replace(operator, dtypes=tuple(dtypes) or operator.dtypes)
    told = {kind: constants_of(trees[kind]) for kind in ("accuracy", "performance")}
    found = {kind: _sizes(constants.get("SHAPES")) for kind, constants in told.items()}
    target = getattr(told["performance"].get("TARGET"), "value", operator.target)
    operator = with_shapes(replace(definition, operator=operator), {}).operator
    sizes: dict[str, Any] = {kind: rows for kind, rows in found.items() if rows}
    operator = replace(operator, **sizes, target=target, baseline=code_digest(texts["baseline"]))
    fixed = replace(operator, parameters=tuple(replace(one, fixed=one.annotation == "float") for one in parameters))
    is_fixed = code_digest(accuracy_text(fixed)) == code_digest(texts["accuracy"])
    return Project(folder, fixed if is_fixed else operator)


def shaped(one: OperatorParameter, contract: str) -> OperatorParameter | None:
    """A tensor as the end of the baseline's docstring has it; None where that does not name it."""
    said = re.search(rf"\b{one.name} \[([^]]*)\](?: (?!below\b)(\w+))?(?: below (\w+))?", contract)
    if said is None:
        return None
    shape = parse_shapes(f"{one.name}={said[1]}")[one.name]
    below = parse_shapes(f"below={said[3]}")["below"][0] if said[3] else None
    return replace(one, shape=tuple(shape), dtype=said[2], below=below)


def _sizes(shapes: ast.expr | None) -> tuple[Sizes, ...]:
    """Of a list of `dict(M=37, N=53)`."""
    calls = [one for one in getattr(shapes, "elts", []) if isinstance(one, ast.Call)]
    return tuple(
        {LEADING if one.arg == "leading" else str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
        for call in calls
    )


def _values(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """Of the scalars, from what `make_inputs` returns."""
    for node in ast.walk(functions_of(tree).get("make_inputs", ast.Module([], []))):
        for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
            if isinstance(key, ast.Constant) and not isinstance(value, ast.Call):
                yield str(key.value), ast.literal_eval(value)
