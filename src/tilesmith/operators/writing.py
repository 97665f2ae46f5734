"""The texts of a project's files: the baseline from a definition, both tests from the operator alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from tilesmith.operators.definition import Definition
from tilesmith.operators.records import LEADING, Operator, OperatorParameter, Sizes
from tilesmith.operators.sizes import is_free, ordinary_place, other_values, usual_value
from tilesmith.syntax import parse

if TYPE_CHECKING:
    from jinja2 import Environment

LAYOUTS = ("strided", "sliced", "transposed", "expanded")
"""Of memory that is not contiguous: each is judged."""
_WIDTH = 110


def baseline_text(definition: Definition) -> str:
    operator = definition.operator
    return render(
        "baseline",
        name=operator.name,
        preamble=definition.preamble,
        head=function_head(operator),
        docstring=docstring(operator),
        body=definition.body,
    )


def accuracy_text(operator: Operator) -> str:
    """The same operator always gives the same text, so that a changed test shows."""
    known = {one.name: other_values(operator, one.name) for one in operator.scalars}
    others = [(name, list(values), not is_free(operator, name)) for name, values in known.items() if values]
    facts = {"shapes": map(_call, operator.accuracy), "ordinary": ordinary_place(operator), "others": others}
    multiplies_bfloat16 = operator.arithmetic == "product" and "bfloat16" in operator.dtypes
    return render(
        "accuracy", **_shared(operator), **facts, layouts=LAYOUTS, multiplies_bfloat16=multiplies_bfloat16
    )


def performance_text(operator: Operator) -> str:
    shapes = map(_call, operator.performance)
    return render("performance", **_shared(operator), shapes=shapes, target=repr(float(operator.target)))


def function_head(operator: Operator) -> str:
    """The line, or lines, from `def` to the colon."""
    line = f"def {operator.signature}:"
    if len(line) <= _WIDTH:
        return line
    return "\n".join(
        [f"def {operator.name}(", *(f"    {one}," for one in operator.parameters), f") -> {operator.returns}:"]
    )


def docstring(operator: Operator) -> str:
    """What it computes, and the contract: the baseline and the kernel have it alike."""
    summary = (operator.summary or operator.name).replace("\\", "\\\\").replace('"""', "'''")
    return f"{summary}.\n\n{contract(operator)}"


def contract(operator: Operator) -> str:
    """`x [M, N], bias [N]; float32, float16`: shapes and dtypes in a line."""
    tensors = [
        f"{one.name} [{', '.join(map(str, one.shape))}]"
        + (f" {one.dtype}" if one.dtype else "")
        + (f" below {one.below}" if one.below is not None else "")
        for one in operator.tensors
    ]
    return f"{', '.join(tensors)}; {', '.join(operator.dtypes)}"


def make_inputs_text(operator: Operator, for_judge: bool = False) -> str:
    """A function that makes arguments of given sizes, by name. The judge seeds by itself, and tries other numbers
    in the place of those that it can read as sizes."""
    device, drawn = ('"cpu"', "judged_drawn") if for_judge else ("DEVICE", "drawn")
    any_whole = not all("float" in dtype for dtype in operator.dtypes)

    def number(value: int) -> str:
        return f'int("{value}")' if for_judge else str(value)

    def argument(one: OperatorParameter) -> str:
        if not one.is_tensor:
            return repr(usual_value(operator, one.name))
        sizes = (number(size) if isinstance(size, int) else size.replace(LEADING, "*leading") for size in one.shape)
        shape, dtype = tuple_text([*sizes]), f"torch.{one.dtype}" if one.dtype else "dtype"
        if one.below is not None:
            return f"torch.randint({one.below}, {shape}, dtype={dtype}, device={device})"
        if one.dtype is not None and one.dtype.startswith(("int", "uint", "bool")):
            return (
                f"torch.randint({number(2 if one.dtype == 'bool' else 100)}, {shape}, device={device}).to({dtype})"
            )
        if one.dtype is None and any_whole:
            return f"{drawn}({shape}, dtype)"
        return f"torch.randn({shape}, device={device}).to({dtype})"

    names = ["dtype", *("leading" if name == LEADING else name for name in operator.size_names)]
    facts = {"for_judge": for_judge, "any_whole": any_whole, "device": device, "two": number(2), "bits": number(40)}
    values = [(one.name, argument(one)) for one in operator.parameters]
    return render("inputs", name=operator.name, names=names, values=values, **facts).rstrip()


def tuple_text(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _call(sizes: Sizes) -> str:
    """`dict(M=37, N=53)`"""
    inside = ", ".join(f"{'leading' if name == LEADING else name}={size}" for name, size in sizes.items())
    return f"dict({inside})"


def _shared(operator: Operator) -> dict[str, Any]:
    return {
        "name": operator.name,
        "interface": quoted(operator.signature),
        "contract": quoted(contract(operator)),
        "dtypes": ", ".join(f"torch.{one}" for one in operator.dtypes),
        "make_inputs": make_inputs_text(operator),
    }


def quoted(text: str) -> str:
    """A literal, on several lines where it is long."""
    if len(text) <= _WIDTH - 12:
        return f'"{text}"' if '"' not in text and "\\" not in text else repr(text)
    parts, line = [], ""
    for word in text.split(" "):
        if len(line) + len(word) > _WIDTH - 10:
            parts.append(line)
            line = ""
        line += f"{word} "
    quoted = [*parts, line[:-1]]
    return "\n".join(["(", *(f"    {one!r}" for one in quoted), ")"])


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("tilesmith.operators", "templates"),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(template: str, **facts: Any) -> str:
    """A Python file; what a template makes must at least parse."""
    text = render_text(f"{template}.py.j2", **facts)
    parse(text)
    return text


def render_text(template: str, **facts: Any) -> str:
    return _environment().get_template(template).render(facts)
