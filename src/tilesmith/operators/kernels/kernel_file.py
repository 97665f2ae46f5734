"""What the forge wrote becomes `<op>_triton.py`: kernels, launchers, and an entry with the operator's signature.

What a launcher asserted it refuses by a ValueError, so that `python -O` takes nothing away.
"""

from __future__ import annotations

import ast
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tilesmith.errors import ProjectError
from tilesmith.lint.model.reading import read_kernel
from tilesmith.lint.structure.kernel_kinds.synchronization import waits_for_others
from tilesmith.operators.kernels.entry import fixed_scalars, in_parentheses, refusals
from tilesmith.operators.records import LEADING, Number, Operator
from tilesmith.operators.sizes import is_free, traced_value, usual_value
from tilesmith.operators.source_edits import (
    Edit,
    constants_of,
    edited,
    functions_of,
    in_place_of,
    is_docstring,
    without_docstring,
)
from tilesmith.operators.writing import docstring, function_head, quoted, render, tuple_text
from tilesmith.syntax import parse

_WIDTH = 110
_ROW_BLOCK = 2048
"""Elements of several rows that a program takes."""
_COUNTED = ("warps", "stages", "rows")
"""What the number of some constants is followed by, in prose."""


@dataclass(frozen=True)
class WrittenKernel:
    """The parts of a file that has ModelNew."""

    summary: str
    imports: tuple[str, ...]
    code: str
    """Constants, kernels and launchers."""
    forward: str
    """The body of ModelNew's forward, not indented."""


@dataclass(frozen=True)
class KernelVariant:
    """What serves some of the operator's dtypes."""

    dtypes: tuple[str, ...]
    source: str
    """With ModelNew, as the forge wrote it."""


def triton_text(operator: Operator, variants: Sequence[KernelVariant]) -> str:
    """One file for all variants; the entry chooses by the dtype of the first tensor that has the operator's."""
    written = [
        _renamed(_split(operator, one.source), operator, "" if place == 0 else f"_{one.dtypes[0]}")
        for place, one in enumerate(variants)
    ]
    imports = list(dict.fromkeys(line for one in written for line in one.imports))
    files = [read_kernel(one.source) for one in variants]
    waits = any(waits_for_others(file.with_callees(one)) for file in files for one in file.kernels)
    libdevice = any(line.endswith("import libdevice") for line in imports)
    return render(
        "triton",
        name=operator.name,
        summary=written[0].summary,
        imports=imports if "import os" in imports else ["import os", "", *imports],
        libdevice=libdevice,
        dtypes=tuple_text([f"torch.{one}" for one in operator.dtypes]),
        parts=[_with_refusals(operator, one.code) for one in written],
        head=function_head(operator),
        docstring=docstring(operator),
        refusals=refusals(operator, waits),
        body=_entry(operator, variants, written),
    )


def _split(operator: Operator, source: str) -> WrittenKernel:
    tree = parse(source)
    lines = source.splitlines()
    model = next((one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == "ModelNew"), None)
    forward = next((one for one in model.body if isinstance(one, ast.FunctionDef)), None) if model else None
    if model is None or forward is None or forward.name != "forward" or len(without_docstring(model.body)) > 1:
        raise ProjectError(
            f"the kernel of {operator.name} keeps something between calls (its ModelNew is more than a forward), "
            "which an operator cannot"
        )
    names = [one.arg for one in forward.args.args[1:]]
    if names != [one.name for one in operator.parameters]:
        raise ProjectError(f"the kernel of {operator.name} takes {', '.join(names)}")
    imports = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    rest = [one for one in tree.body if one is not model and one not in imports and not is_docstring(one)]
    read = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    unread = [value.lineno - 1 for name, value in constants_of(tree).items() if name not in read]
    needless = {*_implied_assertions(operator, tree), *unread}
    inside = range(_first_line(rest[0]) - 1, model.lineno - 1) if rest else ()
    code = "\n".join(lines[place] for place in inside if place not in needless).strip("\n")
    body = [one for one in without_docstring(forward.body) if not _is_refusal(operator, one)]
    forward_text = textwrap.dedent("\n".join(lines[body[0].lineno - 1 : forward.end_lineno]))
    shown = [
        ast.unparse(one) for one in imports if "nn." in code + forward_text or "torch.nn" not in ast.unparse(one)
    ]
    summary = _summary(operator, ast.get_docstring(tree) or "", constants_of(tree))
    code = _with_rows_of_nothing(operator, code)
    return _with_rows_by_length(WrittenKernel(summary, tuple(shown), code, forward_text))


def _with_rows_of_nothing(operator: Operator, code: str) -> str:
    """Launchers that divide by the length of a row, which an operator may be called with none of."""
    for one in operator.tensors:
        if len(one.shape) == 2:
            code = code.replace(
                f"    N = {one.name}.shape[-1]\n    M = {one.name}.numel() // N\n",
                f"    M, N = {one.name}.shape\n",
            )
    return re.sub(r"triton\.next_power_of_2\((\w+)\)", r"triton.next_power_of_2(max(\1, 1))", code)


def _with_rows_by_length(written: WrittenKernel) -> WrittenKernel:
    """A kernel that takes several whole rows at once was written for rows of one length. For others the launcher
    takes as many as make a block, and more warps where one row is long."""
    launch = "ROWS=ROWS, BLOCK_N=triton.next_power_of_2(max(N, 1)), num_warps=NUM_WARPS"
    limit = re.search(r"^    assert N <= \d+.*\n", written.code, re.MULTILINE)
    if limit is None or written.code.count(launch) != 1 or written.code.count("triton.cdiv(M, ROWS)") != 1:
        return written
    chosen = (
        "    BLOCK_N = triton.next_power_of_2(max(N, 1))\n"
        "    rows = max(1, BLOCK // BLOCK_N)  # short rows together, long ones alone\n"
        "    warps = min(16, max(NUM_WARPS, BLOCK_N // 512))\n"
    )
    code = written.code[: limit.end()] + chosen + written.code[limit.end() :]
    code = re.sub(r"^ROWS = \d+$", f"BLOCK = {_ROW_BLOCK}", code, flags=re.MULTILINE)
    code = code.replace(launch, "ROWS=rows, BLOCK_N=BLOCK_N, num_warps=warps")
    code = code.replace("triton.cdiv(M, ROWS)", "triton.cdiv(M, rows)")
    summary = written.summary.replace("NUM_WARPS warps per ROWS rows", "NUM_WARPS warps or more per BLOCK elements")
    return replace(written, code=code, summary=summary)


def _is_refusal(operator: Operator, node: ast.stmt) -> bool:
    """`if k != 3: raise ...`, which the entry says in its own words."""
    tests = [f"{one.name} != {usual_value(operator, one.name)!r}" for one in fixed_scalars(operator)]
    return isinstance(node, ast.If) and ast.unparse(node.test) in tests and isinstance(node.body[0], ast.Raise)


def _implied_assertions(operator: Operator, tree: ast.Module) -> list[int]:
    """Lines of launchers that assert what the entry has made sure of."""
    inside = [one for node in functions_of(tree).values() for one in node.body if isinstance(one, ast.Assert)]
    return [one.lineno - 1 for one in inside if one.lineno == one.end_lineno and _is_implied(operator, one.test)]


_OPPOSITES = {
    ast.Lt: ">=",
    ast.GtE: "<",
    ast.Gt: "<=",
    ast.LtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
}


def _with_refusals(operator: Operator, code: str) -> str:
    """`assert N <= 64, "why"` of a launcher as `if N > 64: raise ValueError(...)` in the operator's name."""
    lines, changes = code.splitlines(), []
    for function in parse(code).body:
        if not isinstance(function, ast.FunctionDef) or function.decorator_list:
            continue
        for one in ast.walk(function):
            if isinstance(one, ast.Assert) and lines[one.lineno - 1].strip().startswith("assert "):
                raised = f"raise ValueError{_problem(operator, one, code)}"
                refused = f"if {_opposite(one.test, code)}:\n{textwrap.indent(raised, ' ' * (one.col_offset + 4))}"
                changes.append(in_place_of(one, refused))
    return edited(code, changes)


def _opposite(test: ast.expr, code: str) -> str:
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _OPPOSITES:
        left, right = (ast.get_source_segment(code, one) for one in (test.left, test.comparators[0]))
        return f"{left} {_OPPOSITES[type(test.ops[0])]} {right}"
    return f"not ({ast.get_source_segment(code, test)})"


def _problem(operator: Operator, one: ast.Assert, code: str) -> str:
    """`softmax is written for N <= 64, not N = 70: why`, as a literal in parentheses that looks N up."""
    wanted = ast.get_source_segment(code, one.test) or ""
    given = one.test.left.id if isinstance(one.test, ast.Compare) and isinstance(one.test.left, ast.Name) else ""
    why = one.msg.value if isinstance(one.msg, ast.Constant) and isinstance(one.msg.value, str) else ""
    told = f"{operator.name} is written for {wanted}"
    why = "" if why in ("", f"written for {wanted}") else f": {why}"
    if not given or re.search(r'["\\{}\n]', told):
        return in_parentheses(quoted(" ".join(f"{told}{why}".split())))
    literal = f'f"{told}, not {given} = {{{given}}}"'
    return f"(\n    {literal}\n    {quoted(why)}\n)" if why else f"({literal})"


def _is_implied(operator: Operator, test: ast.expr) -> bool:
    """`x.dim() == 2`, `bias.shape[-1] == x.shape[-1]`; leading sizes have become one by then."""
    left, _, right = ast.unparse(test).partition(" == ")
    shapes = {one.name: one.shape for one in operator.tensors}
    if found := re.fullmatch(r"(\w+)\.dim\(\)", left):
        return right == str(len(shapes.get(found[1], ())))
    sizes = [re.fullmatch(r"(\w+)\.shape\[(-?\d+)\]", side) for side in (left, right)]
    named = [
        shapes[one[1]][int(one[2])]
        for one in sizes
        if one and one[1] in shapes and -len(shapes[one[1]]) <= int(one[2]) < len(shapes[one[1]])
    ]
    return len(named) == 2 and named[0] == named[1]


def _summary(operator: Operator, text: str, constants: Mapping[str, ast.expr]) -> str:
    """Without the shapes of the task; numbers that are constants or scalars under their names, so that it stays
    true when those change."""
    text = re.sub(r"\n*Shapes in the task:.*?\.\n(?=\S)", "\n\n", text, flags=re.DOTALL)
    for one in operator.scalars:
        if is_free(operator, one.name):
            text = _named(text, traced_value(operator, one.name), one.name)
    for name, value in constants.items():
        if isinstance(value, ast.Constant):
            counted = next((noun for noun in _COUNTED if name.endswith(noun.upper())), None)
            after = f"(?= {counted})" if counted else f"(?=[ ,])(?! (?:{'|'.join(_COUNTED)}))"
            text = re.sub(rf"\b{value.value!r}\b{after}", name, text, count=1)
    paragraphs = [one if one.startswith(" ") else textwrap.fill(one, _WIDTH) for one in text.split("\n\n")]
    whole = f"{operator.name} in Triton: " + "\n\n".join(paragraphs)
    return whole.replace("\\", "\\\\").replace('"""', "'''").rstrip()


def _named(text: str, value: Number, name: str) -> str:
    """A formula with the scalar's name in the place of its number, which it may show to few digits."""
    if not isinstance(value, float):
        return text
    numbers = {
        found
        for found in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)
        if math.isclose(float(found), value, rel_tol=1e-3)
    }
    for number in numbers:
        text = text.replace(number, name)
    return text


def _renamed(written: WrittenKernel, operator: Operator, suffix: str) -> WrittenKernel:
    """Under names that do not clash with the entry or with another variant."""
    forward = "\n\n\ndef forward_():\n"
    text = f"{written.code}{forward}{textwrap.indent(written.forward, '    ')}"
    tree = parse(text)
    functions = [name for name in functions_of(tree) if name != "forward_"]
    names = {name: f"{name}{suffix}" for name in functions}
    names |= {name: f"{name}{suffix.upper()}" for name in constants_of(tree)}
    launchers = [name for name in functions if f"{name}_kernel" in functions]
    if len(launchers) == 1:
        names[launchers[0]] = f"launch_{operator.name}{suffix}"
        names[f"{launchers[0]}_kernel"] = f"{operator.name}_kernel{suffix}"
    if names.get(operator.name) == operator.name:
        names[operator.name] = f"launch_{operator.name}"
    code, _, body = rename(text, names).rpartition(forward)
    return replace(written, code=code, forward=textwrap.dedent(body))


def rename(text: str, names: Mapping[str, str]) -> str:
    """Top-level names, and not the variables of functions that happen to be called alike."""
    changes: list[Edit] = []
    for top in parse(text).body:
        used = [one for one in ast.walk(top) if isinstance(one, ast.Name)]
        local: set[str] = set()
        if isinstance(top, ast.FunctionDef):
            local = {one.id for one in used if isinstance(one.ctx, ast.Store)}
            local |= {one.arg for one in ast.walk(top) if isinstance(one, ast.arg)}
            place = (top.lineno, top.col_offset + len("def "))
            new = names.get(top.name, top.name)
            changes.append(Edit(place, (place[0], place[1] + len(top.name.encode())), new))
        changes += [in_place_of(one, names[one.id]) for one in used if one.id in names and one.id not in local]
    return edited(text, changes)


def _entry(operator: Operator, variants: Sequence[KernelVariant], written: Sequence[WrittenKernel]) -> str:
    """The body of the entry, after what it refuses."""
    first = next((one for one in operator.tensors if one.dtype is None), operator.tensors[0])
    lines = _flattening(operator, written)
    bodies = [_unflattened(one) if lines else one.forward for one in written]
    for variant, body in zip(variants[:-1], bodies, strict=False):
        lines.append(f"if {first.name}.dtype in {tuple_text([f'torch.{dtype}' for dtype in variant.dtypes])}:")
        lines.append(textwrap.indent(body, "    "))
    return "\n".join([*lines, bodies[-1]])


def _flattening(operator: Operator, written: Sequence[WrittenKernel]) -> list[str]:
    """Where there are leading sizes: the lines that make one size of them."""
    leading = [one for one in operator.tensors if one.shape[:1] == (LEADING,)]
    alone = len(operator.tensors) == 1 and operator.tensors[0].shape == (LEADING,)
    reads_sizes = any(".dim() ==" in one.code or ".shape[" in one.code for one in written)
    if not leading or (alone and not reads_sizes):
        return []
    inner = len(leading[0].shape) - 1
    lines = [f"leading = {leading[0].name}.shape" + (f"[:-{inner}]" if inner else "")]
    for one in leading:
        kept = "".join(f", {one.name}.shape[{place - len(one.shape)}]" for place in range(1, len(one.shape)))
        lines.append(f"{one.name} = {one.name}.reshape(leading.numel(){kept})")
    return lines


def _unflattened(written: WrittenKernel) -> str:
    """A kernel's result with the leading sizes back in their place; one without dimensions is what it is."""
    returned = parse(written.forward).body[-1]
    if not isinstance(returned, ast.Return) or returned.value is None:
        return written.forward
    lines, value = written.forward.splitlines()[: returned.lineno - 1], ast.unparse(returned.value)
    is_single, shaped = "torch.empty((), " in written.code, "y.reshape(leading + y.shape[1:])"
    if isinstance(returned.value, ast.Tuple):
        lines.append(f"return tuple({shaped}{' if y.dim() else y' * is_single} for y in {value})")
    else:
        lines += [f"return {value}"] if is_single else [f"y = {value}", f"return {shaped}"]
    return "\n".join(lines)


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno, *(one.lineno for one in decorators)])
