"""Whether a kernel that was written in one dtype, with one value of each float, serves others."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tilesmith.operators.records import Operator
from tilesmith.operators.sizes import is_free
from tilesmith.operators.source_edits import Edit, edited, in_place_of
from tilesmith.syntax import parse

_OTHER_NAMES = {"float16": {"half"}}


def for_any_float(operator: Operator, source: str, dtype: str, reference: str) -> str | None:
    """The file with casts to the type of a tensor where it has casts to `dtype`, in which it was written. None
    where it serves that dtype alone: it names it elsewhere, the kernel has no tensor of the operator's dtypes, or
    the reference asks for it."""
    asked = {getattr(one, "attr", None) for one in ast.walk(parse(reference))}
    named: list[ast.Attribute] = []
    casts: list[Edit] = []
    for function in parse(source).body:
        inside = list(ast.walk(function))
        named += [one for one in inside if isinstance(one, ast.Attribute) and one.attr == dtype]
        names = {one.arg for one in inside if isinstance(one, ast.arg)}
        pointers = [f"{one.name}_ptr" for one in operator.tensors if one.dtype is None]
        pointer = next((one for one in pointers if one in names), None)
        for call in inside:
            match call:
                case ast.Call(func=ast.Attribute(attr="to"), args=[ast.Attribute() as given]) if pointer:
                    if ast.unparse(given) == f"tl.{dtype}":
                        casts.append(in_place_of(given, f"{pointer}.dtype.element_ty"))
    if len(named) > len(casts) or asked & {dtype, *_OTHER_NAMES.get(dtype, ())}:
        return None
    return edited(source, casts)


def built_in_floats(operator: Operator, source: str) -> Sequence[str]:
    """Floats of which the file takes one value only: its forward begins with `if limit != 5.1:` and raises."""
    names = {one.name for one in operator.scalars if is_free(operator, one.name)}
    refused = {
        ast.unparse(one.test.left)
        for one in ast.walk(parse(source))
        if isinstance(one, ast.If)
        and isinstance(one.test, ast.Compare)
        and isinstance(one.test.ops[0], ast.NotEq)
        and isinstance(one.body[0], ast.Raise)
    }
    return sorted(names & refused)
