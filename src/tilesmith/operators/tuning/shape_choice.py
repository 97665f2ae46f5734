"""Constants that depend on the shape: as `@triton.autotune` configurations, or as a table of what was measured.

Both rewrite `<op>_triton.py` in place: the kernels stay as they are.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilesmith.errors import ProjectError
from tilesmith.operators.definition import Definition
from tilesmith.operators.kernels.entry import find_sizes
from tilesmith.operators.records import Operator, Sizes
from tilesmith.operators.source_edits import (
    Edit,
    before_line,
    constants_of,
    edited,
    end_of,
    functions_of,
    in_place_of,
    without_docstring,
)
from tilesmith.operators.writing import function_head, render_text
from tilesmith.playbook.recipe import Tuning
from tilesmith.syntax import parse

CHOICES = "CHOICES"
_META = {"num_warps": "WARPS", "num_stages": "STAGES"}


@dataclass(frozen=True)
class _Launch:
    """The one launch of a file whose constants are tuned."""

    kernel: ast.FunctionDef
    launcher: ast.FunctionDef
    call: ast.Call
    grid: ast.expr
    constants: Mapping[str, str]
    """Keywords of the launch, by the name of the constant that each passes."""
    read: tuple[str, ...]
    """Constants that the launcher reads."""


def with_autotune(text: str, tunings: Sequence[Tuning]) -> str:
    """The winners as configurations, keyed by the kernel's sizes."""
    launch = _launch(text, tunings[0])
    if set(launch.read) - launch.constants.keys():
        raise ProjectError(
            "the launcher computes with its constants before it passes them, so configurations cannot choose them: "
            "tune without --autotune, or on a GPU with --dispatch"
        )
    configs = [_config(one, launch.constants) for one in tunings]
    key = [one.arg for one in launch.kernel.args.args if one.arg not in launch.constants.values()]
    key = [one for one in key if not one.endswith("_ptr") and one in _sizes_of(text, launch.kernel)]
    decorator = render_text("autotune.j2", configs=configs, key=key)
    text = edited(text, [in_place_of(launch.grid, _grid(text, launch))])
    launch, lines = _launch(text, tunings[0]), text.splitlines(keepends=True)
    start, end = launch.call.lineno - 1, end_of(launch.call)[0]
    passing = "".join(lines[start:end])
    for constant, keyword in launch.constants.items():
        passing = re.sub(rf"\b{keyword}={constant}(?:, |,(?=\n)|\b)", "", passing)
    kept = [one for one in passing.splitlines(keepends=True) if one.strip() and one.strip() != "# constants"]
    lines[start:end] = kept
    lines.insert(launch.kernel.decorator_list[0].lineno - 1, decorator)
    text = "".join(lines)
    for name in tunings[0].names:  # what the host asserts by a constant must hold for every configuration
        largest = max(one[name] for one in tunings)
        text = re.sub(rf"^{name} = \d+$", f"{name} = {largest}", text, flags=re.MULTILINE)
    names = [one for one in ast.walk(parse(text)) if isinstance(one, ast.Name)]
    read = {one.id for one in names if isinstance(one.ctx, ast.Load)}
    constants = re.compile(r"^([A-Z][A-Z0-9_]*) = \d+\n", re.MULTILINE)
    return constants.sub(lambda found: found[0] if found[1] in read else "", text)


Choice = tuple[Sizes, Tuning | None]


def with_dispatch(text: str, operator: Operator, choices: Sequence[Choice], pytorch: Definition) -> str:
    """A table of the constants that were fastest at each measured shape, None where that was what `pytorch`
    defines. The launcher takes its constants as arguments then."""
    launch = _launch(text, next(tuning for _, tuning in choices if tuning is not None))
    keeps = any(tuning is None for _, tuning in choices)
    preamble = pytorch.preamble.splitlines()
    imports = [line for line in preamble if line.startswith(("import ", "from "))]
    table = render_text(
        "dispatch.j2",
        name=operator.name,
        rows=[
            (shape_key(operator, sizes), tuning and json.dumps({name: tuning[name] for name in launch.read}))
            for sizes, tuning in choices
        ],
        names=operator.size_names,
        head=function_head(operator).replace("(", "_pytorch(", 1) if keeps else "",
        helpers="\n".join(line for line in preamble if line not in imports).strip("\n"),
        body=pytorch.body,
    )
    entry = functions_of(parse(text))[operator.name]
    calls = [one for one in ast.walk(entry) if isinstance(one, ast.Call)]
    call = next((one for one in calls if ast.unparse(one.func) == f"launch_{operator.name}"), None)
    if call is None:
        raise ProjectError(
            f"{operator.name}_triton.py: its entry does not call launch_{operator.name}, which --dispatch needs"
        )
    refusals = [one for one in entry.body if isinstance(one, ast.If) and isinstance(one.body[-1], ast.Raise)]
    if not refusals:
        raise ProjectError(
            f"{operator.file_name('triton')}: its entry refuses nothing, and --dispatch chooses after that: let it "
            "begin with an if that raises ValueError for other shapes"
        )
    chosen = f"    chosen = choose_{operator.name}({', '.join(find_sizes(operator))})\n"
    if keeps:
        arguments = ", ".join(one.name for one in operator.parameters)
        chosen += f"    if chosen is None:\n        return {operator.name}_pytorch({arguments})\n"
    last = launch.launcher.body[0].lineno - 1
    head, closing = text.split("\n")[last - 1], re.compile(r",?\s*\)((?: ->.*)?):$")
    defaults = "".join(f", {name}: int = {name}" for name in launch.read)
    line, column = end_of(call)
    changes = [
        Edit((line, column - 1), (line, column - 1), ", **chosen"),
        before_line(end_of(refusals[-1])[0] + 1, chosen),
        before_line(entry.lineno, f"{table.rstrip()}\n\n\n"),
        Edit((last, 0), (last, len(head.encode())), closing.sub(rf"{defaults})\1:", head.rstrip())),
    ]
    before, rest, after = edited(text, changes).partition("import torch\n")
    brought = "".join(f"{line}\n" for line in imports if f"{line}\n" not in text and line != "import math")
    return f"{before}import math\n\n{rest}{brought if keeps else ''}{after}"


def chooses_by_shape(text: str) -> bool:
    return "@triton.autotune(" in text or _table(text) is not None


def left_to_pytorch(text: str) -> list[tuple[int, ...]]:
    """The measured shapes that the file leaves to PyTorch."""
    table = _table(text)
    if table is None:
        return []
    pairs = zip(table.keys, table.values, strict=True)
    return [ast.literal_eval(key) for key, value in pairs if key and ast.unparse(value) == "None"]


def always_kernel(text: str) -> str:
    """The same file with a kernel for every shape: what the judge is to see. What is left to PyTorch needs none."""
    table = _table(text)
    if table is None:
        return text
    left = [value for value in table.values if ast.unparse(value) == "None"]
    return edited(text, [in_place_of(value, "{}") for value in left])


def kernel_once(text: str, operator: Operator) -> str | None:
    """The same file with a kernel for the largest shape for accuracy alone, PyTorch for all others: how the judge
    sees what is left to PyTorch. None where nothing is."""
    table, keys = _table(text), [shape_key(operator, one) for one in operator.accuracy]
    if table is None or not left_to_pytorch(text) or not keys:
        return None
    rows = dict.fromkeys(keys, "None") | {max(keys, key=math.prod): "{}"}
    new = "{" + ", ".join(f"{key}: {chosen}" for key, chosen in rows.items()) + "}"
    return edited(text, [in_place_of(table, new)])


def require_own_pytorch(operator: Operator, texts: Mapping[str, str]) -> None:
    """Raises ProjectError where no kernel is left to run, or where PyTorch computes something else than in the
    baseline."""
    left, table, name = left_to_pytorch(texts["triton"]), _table(texts["triton"]), operator.file_name("triton")
    measured = [shape_key(operator, one) for one in operator.performance]
    if table is None or not left:
        return
    if len(left) == len(table.keys) or (measured and set(measured) <= set(left)):
        raise ProjectError(f"{name}: {CHOICES} leaves every shape to PyTorch: give one of them its constants back")
    if _body(texts["triton"], f"{operator.name}_pytorch") != _body(texts["baseline"], operator.name):
        raise ProjectError(
            f"{name}: {operator.name}_pytorch does not have the body that {operator.name} has in "
            f"{operator.file_name('baseline')}: put it back"
        )


def _body(text: str, name: str) -> list[str]:
    function = functions_of(parse(text)).get(name)
    return [ast.dump(one) for one in without_docstring(function.body)] if function else []


def shape_key(operator: Operator, sizes: Sizes) -> tuple[int, ...]:
    several = ((size,) if isinstance(size := sizes[name], int) else size for name in operator.size_names)
    return tuple(map(math.prod, several))


def _table(text: str) -> ast.Dict | None:
    value = constants_of(parse(text)).get(CHOICES)
    return value if isinstance(value, ast.Dict) else None


def _launch(text: str, tuning: Tuning) -> _Launch:
    functions = functions_of(parse(text))
    found = []
    for launcher in functions.values():
        names = {one.id for one in ast.walk(launcher) if isinstance(one, ast.Name)}
        read = tuple(name for name in tuning.names if name in names)
        for call in ast.walk(launcher):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Subscript):
                continue
            passed = {ast.unparse(one.value): one.arg for one in call.keywords if one.arg}
            constants = {name: passed[name] for name in tuning.names if name in passed}
            kernel = functions.get(ast.unparse(call.func.value))
            if read and kernel is not None:
                found.append(_Launch(kernel, launcher, call, call.func.slice, constants, read))
    if len(found) != 1:
        raise ProjectError(
            f"the file launches {len(found)} kernels with constants of its own, and the choice by shape is written "
            "for one: tune without --autotune and --dispatch"
        )
    return found[0]


def _sizes_of(text: str, kernel: ast.FunctionDef) -> set[str]:
    """Parameters of the group `# sizes`; where there is no such comment, all that are no pointers."""
    names = {one.arg for one in kernel.args.args}
    head = "\n".join(text.splitlines()[kernel.lineno - 1 : kernel.body[0].lineno - 1])
    group = re.search(r"^\s*# sizes\s*$((?:\n(?!\s*#).*)*)", head, re.MULTILINE)
    return names & set(re.findall(r"\w+", group[1])) if group else names


def _config(tuning: Tuning, constants: Mapping[str, str]) -> str:
    values = {constants[name]: value for name, value in tuning.values if name in constants}
    inside = ", ".join(f'"{name}": {value}' for name, value in values.items() if name not in _META)
    meta = "".join(f", {name}={values[name]}" for name in _META if name in values)
    return f"triton.Config({{{inside}}}{meta})"


def _grid(text: str, launch: _Launch) -> str:
    """A function of the configuration, where it depends on that."""
    grid = ast.get_source_segment(text, launch.grid) or ""
    for constant, keyword in launch.constants.items():
        if keyword not in _META:
            grid = re.sub(rf"\b{constant}\b", f'meta["{keyword}"]', grid)
    return f"lambda meta: {grid}" if "meta[" in grid else grid
