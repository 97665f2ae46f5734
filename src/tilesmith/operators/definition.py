"""A definition becomes an operator and the text of its reference: from a Python file, or from one expression.

A definition file is plain Python: one typed function with a PyTorch body, and constants that say what it takes.

    SHAPES = {"x": ["M", "N"], "bias": ["N"]}                   names are sizes; numbers are fixed; "..." is any
    DTYPES = ["float32", "float16"]                             default: float32, float16, bfloat16
    OWN_DTYPES = {"mask": "bool"}                               tensors that do not follow DTYPES
    INDICES = {"target": "V"}                                   int64 tensors, of values below a size
    VALUES = {"scale": [0.5, -2.0]}                             what tests pass for a scalar, the usual value first
    ACCURACY = [{"M": 1, "N": 1}], PERFORMANCE = [...]          the sizes of both tests, else sensible ones
    TARGET = 1.2

Nothing of it is run here.
"""

from __future__ import annotations

import ast
import builtins
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilesmith.errors import ProjectError, UsageError
from tilesmith.operators.bound_names import require_free_names
from tilesmith.operators.project import read_sizes, read_source
from tilesmith.operators.records import FLOATS, LEADING, Operator, OperatorParameter, is_name
from tilesmith.operators.sizes import accuracy_sizes, performance_sizes
from tilesmith.operators.source_edits import (
    PlainArgument,
    functions_of,
    is_docstring,
    plain_arguments,
    read_syntax,
    without_docstring,
)
from tilesmith.playbook.graph.operators import POINTWISE, SYNONYMS
from tilesmith.syntax import parse, parse_expression

_SIZES = '[{"M": 37, "N": 53}]'
SETTINGS = {
    "SHAPES": '{"x": ["M", "N"]}',
    "DTYPES": '["float32", "float16"]',
    "OWN_DTYPES": '{"mask": "bool"}',
    "INDICES": '{"target": "V"}',
    "VALUES": '{"scale": [0.5, -2.0]}',
    "ACCURACY": _SIZES,
    "PERFORMANCE": _SIZES,
    "TARGET": "1.2",
}
"""What a definition may say beside its function, with an example of how."""
_SCALARS = ("float", "int", "bool", "str")
_PRODUCTS = {"matmul", "mm", "bmm", "addmm", "baddbmm", "linear", "einsum", "scaled_dot_product_attention"}
_REDUCTIONS = {
    *("sum", "mean", "var", "std", "prod", "norm", "softmax", "log_softmax", "logsumexp", "cumsum", "var_mean"),
    *("layer_norm", "rms_norm", "group_norm", "batch_norm", "normalize", "cross_entropy", "nll_loss", "mse_loss"),
}
_CASTS = {"to", "type_as", "float", "half", "bfloat16", "double"}
_EXPRESSION_NAMES = {"torch", "F", "math", *dir(builtins)}


@dataclass(frozen=True)
class Definition:
    """An operator, and its reference as source text."""

    operator: Operator
    preamble: str
    """Imports, constants and helpers that the function needs."""
    body: str
    """Of the function, without its docstring, not indented."""
    contract: str = ""
    """The last line of its docstring, which in a baseline has the shapes."""


def read_definition(path: Path, name: str) -> Definition:
    try:
        text = read_source(path)
    except FileNotFoundError:
        raise UsageError(f"{path}: cannot be read: there is no such file") from None
    read_syntax(text, path)
    try:
        return parse_definition(text, name)
    except ProjectError as error:
        raise ProjectError(f"{path}: {error}") from None


def parse_definition(text: str, name: str) -> Definition:
    tree = parse(text)
    function = _function(tree, name)
    require_free_names(tree)
    settings = _settings(tree)
    docstring = ast.get_docstring(function) or ast.get_docstring(tree) or ""
    kept = [node for node in tree.body if node is not function and not is_docstring(node) and not _setting(node)]
    statements = without_docstring(function.body)
    if not statements:
        raise ProjectError(f"{name} has no body: write what it computes in PyTorch")
    operator = _operator(function, settings, docstring.split("\n\n")[0].replace("\n", " ").strip())
    operator = replace(operator, arithmetic=_arithmetic(tree))
    parts = [_segment(text, node) for node in kept]
    if not any(isinstance(node, ast.Import) and "torch" in {one.name for one in node.names} for node in kept):
        parts.insert(0, "import torch")
    last_line = docstring.strip().rpartition("\n")[2]
    return Definition(operator, "\n".join(parts), _body(text, statements), last_line)


def _body(text: str, statements: Sequence[ast.stmt]) -> str:
    """As it is written, comments included; by its syntax where that cannot be indented anew: what shares a line
    with `def`, or has a string of several lines."""
    lines = text.splitlines()
    start, end = statements[0].lineno - 1, statements[-1].end_lineno
    alone = not lines[start].encode()[: statements[0].col_offset].strip()
    while lines[start - 1].lstrip().startswith("#"):
        start -= 1
    written = textwrap.dedent("\n".join(lines[start:end]))
    return written if alone and _indents_to(written, statements) else "\n".join(map(ast.unparse, statements))


def _indents_to(written: str, statements: Sequence[ast.stmt]) -> bool:
    try:
        function = parse(f"def _():\n    pass\n{textwrap.indent(written, '    ')}\n").body[0]
    except SyntaxError:
        return False
    assert isinstance(function, ast.FunctionDef)
    return [ast.dump(one) for one in function.body[1:]] == [ast.dump(one) for one in statements]


def define_expression(name: str, expression: str, scalars: Sequence[str] = ()) -> Definition:
    """`F.hardswish(x) * scale`: its free names are the parameters, in order of appearance, tensors unless they are
    among the scalars (`scale`, or `scale=2.0` for the value of tests): of one shape, whichever, where it is
    elementwise, else [M, N]."""
    values = dict(map(_scalar, scalars))
    scalars = list(values)
    if not is_name(name):
        raise UsageError(f"'{name}' is no name for a Python function")
    try:
        tree = parse_expression(expression.strip())
    except SyntaxError as error:
        raise UsageError(f"--expr: {error.msg} in  {expression}") from None
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    names.sort(key=lambda one: (one.lineno, one.col_offset))
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    free = list(dict.fromkeys(node.id for node in names if node.id not in _EXPRESSION_NAMES | bound))
    if unknown := [one for one in scalars if one not in free]:
        raise UsageError(f"--scalar {unknown[0]}: the expression has no such name; it has {', '.join(free)}")
    if not set(free) - set(scalars):
        raise UsageError(f"--expr: no tensor in  {expression}")
    arguments = ", ".join(f"{one}: {'float' if one in scalars else 'torch.Tensor'}" for one in free)
    used = {node.id for node in names}
    imports = ["import math"] * ("math" in used) + ["import torch"]
    imports += ["import torch.nn.functional as F"] * ("F" in used)
    shapes = {one: [LEADING] for one in free if one not in scalars} if _is_elementwise(tree) else {}
    said = {one: value for one, value in values.items() if value is not None}
    text = f"def {name}({arguments}) -> torch.Tensor:\n    return {ast.unparse(tree)}\n"
    found = parse_definition("\n".join([*imports, "", f"SHAPES = {shapes}", f"VALUES = {said}", text]), name)
    return replace(found, operator=replace(found.operator, summary=ast.unparse(tree)))


def _scalar(text: str) -> tuple[str, float | None]:
    """`scale`, or `scale=2.0`"""
    name, equals, value = text.partition("=")
    try:
        number = float(value) if equals else None
    except ValueError:
        number = math.nan
    if number is not None and not math.isfinite(number):
        raise UsageError(f"--scalar {text}: '{value}' is no number; write it as  {name}=2.0")
    return name.strip(), number


def _is_elementwise(tree: ast.expr) -> bool:
    """Arithmetic, comparisons and calls of functions that take each element by itself."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if id(node) in called:
                if name not in POINTWISE | SYNONYMS.keys() | _CASTS:
                    return False
            case ast.Attribute(attr="dtype") | ast.Attribute(value=ast.Name(id="torch" | "math")):
                pass
            case ast.Attribute() | ast.Subscript() | ast.MatMult() | ast.Tuple() | ast.List() | ast.IfExp():
                return False
            case ast.Call(func=ast.Name()):
                return False
    return True


def with_shapes(definition: Definition, shapes: Mapping[str, Sequence[str | int]]) -> Definition:
    """The same operator with other shapes, and the sizes that are sensible for those."""
    operator = definition.operator
    if unknown := [name for name in shapes if name not in {one.name for one in operator.tensors}]:
        raise UsageError(f"--shapes: {operator.name} has no tensor '{unknown[0]}'")
    parameters = tuple(
        replace(one, shape=tuple(shapes[one.name])) if one.name in shapes else one for one in operator.parameters
    )
    changed = replace(operator, parameters=parameters, accuracy=(), performance=())
    return replace(definition, operator=_with_sizes(changed, {}))


def with_dtypes(definition: Definition, texts: Sequence[str]) -> Definition:
    """The same operator with other dtypes: `float16`, or `mask=bool` for a tensor that does not follow those."""
    pairs = [one.replace(" ", "").rpartition("=") for one in texts]
    own = {name: dtype for name, equals, dtype in pairs if equals}
    if unknown := [name for name in own if name not in {one.name for one in definition.operator.tensors}]:
        raise UsageError(f"--dtypes: {definition.operator.name} has no tensor '{unknown[0]}'")
    dtypes = tuple(dtype for _, equals, dtype in pairs if not equals)
    parameters = tuple(replace(one, dtype=own.get(one.name, one.dtype)) for one in definition.operator.parameters)
    operator = replace(definition.operator, dtypes=dtypes or definition.operator.dtypes, parameters=parameters)
    return replace(definition, operator=operator)


def parse_shapes(text: str) -> dict[str, list[str | int]]:
    """`x=M,N; bias=N`"""
    found: dict[str, list[str | int]] = {}
    for part in filter(None, (one.strip() for one in text.split(";"))):
        name, equals, sizes = part.partition("=")
        if not equals:
            raise UsageError(f'--shapes {text}: write it as  "x=M,N; bias=N"')
        parts = filter(None, (one.strip() for one in sizes.split(",")))
        found[name.strip()] = [int(one) if one.isdecimal() else one for one in parts]
    return found


def _function(tree: ast.Module, name: str) -> ast.FunctionDef:
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"]
    if name not in names:
        others = f", but {', '.join(names)}" if names else ""
        raise ProjectError(f"there is no function {name}{others}; the operator is named after its function")
    if len(names) > 1:
        told = ", ".join(one for one in names if one != name) or f"{name}, twice"
        raise ProjectError(f"more than one function; let the names of helpers begin with _: {told}")
    found = functions_of(tree)[name]
    if found.decorator_list:
        raise ProjectError(f"line {found.lineno}: {name} is decorated; a definition is a plain function")
    return found


def _operator(function: ast.FunctionDef, settings: Mapping[str, Any], summary: str) -> Operator:
    parameters = [_parameter(one, settings) for one in plain_arguments(function)]
    for setting in ("SHAPES", "OWN_DTYPES", "INDICES", "VALUES"):
        kind = "scalar" if setting == "VALUES" else "tensor"
        names = {one.name for one in parameters if one.kind == kind}
        if unknown := [one for one in settings.get(setting, {}) if one not in names]:
            raise ProjectError(f"{setting} names '{unknown[0]}', which is no {kind} of {function.name}")
    operator = Operator(
        name=function.name,
        parameters=tuple(parameters),
        summary=summary.rstrip("."),
        returns=_annotation(function.returns) if function.returns else "torch.Tensor",
        dtypes=tuple(settings.get("DTYPES", FLOATS)),
        target=settings.get("TARGET", 1.0),
    )
    return _with_sizes(operator, settings)


def _parameter(one: PlainArgument, settings: Mapping[str, Any]) -> OperatorParameter:
    known: Any = None
    if one.default is not None:
        try:
            known = ast.literal_eval(one.default)
        except ValueError:
            known = ()
        if known is None:
            raise ProjectError(
                f"line {one.line}: {one.name} may be None, which the parameter of an operator cannot be: make an "
                "operator with it and one without"
            )
        if not isinstance(known, float | int | bool | str):
            raise ProjectError(f"line {one.line}: the default of {one.name} must be a number, a boolean or a word")
    plain = type(known).__name__ if known is not None else "torch.Tensor"
    annotation = _annotation(one.annotation) if one.annotation else plain
    if annotation in _SCALARS:
        if annotation == "float" and type(known) is int:
            known = float(known)
        said = settings.get("VALUES", {}).get(one.name)
        value = tuple(said) if isinstance(said, list | tuple) else said
        return OperatorParameter(one.name, annotation, "scalar", default=known, value=value)
    if annotation != "torch.Tensor":
        allowed = ", ".join(_SCALARS)
        raise ProjectError(f"line {one.line}: {one.name}: {annotation} is neither torch.Tensor nor {allowed}")
    below = settings.get("INDICES", {}).get(one.name)
    shape = tuple(settings.get("SHAPES", {}).get(one.name, ("M", "N")))
    dtype = settings.get("OWN_DTYPES", {}).get(one.name, "int64" if below is not None else None)
    return OperatorParameter(one.name, shape=shape, dtype=dtype, below=below)


def _with_sizes(operator: Operator, settings: Mapping[str, Any]) -> Operator:
    accuracy, performance = (settings.get(name) for name in ("ACCURACY", "PERFORMANCE"))
    accuracy = accuracy_sizes(operator) if accuracy is None else tuple(map(read_sizes, accuracy))
    performance = performance_sizes(operator) if performance is None else tuple(map(read_sizes, performance))
    sized = replace(operator, accuracy=accuracy, performance=performance)
    sized.require_sizes()
    return sized


def _annotation(node: ast.expr) -> str:
    """As text, with torch's tensors under one name."""
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
    try:
        return re.sub(r"(?<![\w.])Tensor\b", "torch.Tensor", ast.unparse(parse_expression(text)))
    except SyntaxError:
        raise ProjectError(f"line {node.lineno}: '{text}' is no annotation") from None


def _settings(tree: ast.Module) -> dict[str, Any]:
    found = {}
    for node in tree.body:
        if name := _setting(node):
            try:
                found[name] = ast.literal_eval(node.value)  # type: ignore[attr-defined]
            except ValueError:
                raise ProjectError(f"line {node.lineno}: {name} must be written out, without computing") from None
            if not _has_form(name, found[name]):
                raise ProjectError(f"line {node.lineno}: {name} must be like  {name} = {SETTINGS[name]}")
    return found


def _has_form(setting: str, said: Any) -> bool:
    """Whether a setting is put together as the example of it is."""
    example = ast.literal_eval(parse_expression(SETTINGS[setting]))
    if isinstance(example, float):
        return type(said) in (int, float)
    if isinstance(example, list):
        return isinstance(said, list | tuple) and all(isinstance(one, type(example[0])) for one in said)
    lists = said.values() if setting == "SHAPES" and isinstance(said, dict) else ()
    return isinstance(said, dict) and all(isinstance(one, list | tuple) for one in lists)


def _setting(node: ast.stmt) -> str | None:
    """The name of the setting that a statement sets."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id if node.targets[0].id in SETTINGS else None
    return None


def _arithmetic(tree: ast.Module) -> str:
    inside = list(ast.walk(tree))
    names = {node.attr for node in inside if isinstance(node, ast.Attribute)}
    names |= {node.id for node in inside if isinstance(node, ast.Name)}
    if names & _PRODUCTS or any(isinstance(node, ast.MatMult) for node in inside):
        return "product"
    return "reduction" if names & _REDUCTIONS else "rounding"


def _segment(text: str, node: ast.stmt) -> str:
    """A statement as it is written, with its decorators."""
    decorators = getattr(node, "decorator_list", [])
    if not decorators:
        return ast.get_source_segment(text, node) or ""
    return "\n".join(text.splitlines()[decorators[0].lineno - 1 : node.end_lineno])
