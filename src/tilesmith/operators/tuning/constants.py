"""The constants of a `<op>_triton.py` that may be tuned, and the same file with others.

They stand at the top as whole numbers: tiles, rows, warps, stages. A load may also be told to keep what it reads in
the cache; that is a constant too, `KEEP_bias_ptr`, which shows in the file as `eviction_policy="evict_last"`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tilesmith.operators.source_edits import Edit, constants_of, edited, end_of
from tilesmith.playbook.recipe import TunedPart, Tuning
from tilesmith.syntax import parse

_KEEP = "KEEP_"
_POLICY = "eviction_policy"
_LIMITS = {"WARPS": (1, 16), "STAGES": (1, 6), "ROWS": (1, 64), "GROUP": (1, 16), "BLOCK": (16, 8192)}
"""By a word in a constant's name: the least and the largest value."""
_STAGES = {"grid": ("ROWS", "GROUP"), "block": ("BLOCK",), "memory": ("WARPS", "STAGES", "KEEP")}


def read_tuning(text: str) -> Tuning:
    """The constants of a file that are known by their names, and its loads that may be kept."""
    tree = parse(text)
    known = {name: node.value for name, node in constants_of(tree).items() if isinstance(node, ast.Constant)}
    found = {name: value for name, value in known.items() if type(value) is int and _limits(name)}
    for pointer, call in _loads(tree):
        found.setdefault(f"{_KEEP}{pointer}", int(any(one.arg == _POLICY for one in call.keywords)))
    return Tuning(tuple(found.items()))


def with_tuning(text: str, tuning: Tuning) -> str:
    """The file with these constants; everything else stays as it is."""
    for name, value in tuning.values:
        if name.startswith(_KEEP):
            text = _with_hint(text, name.removeprefix(_KEEP), bool(value))
        else:
            text = re.sub(rf"^{name} = \d+(?=\s*(?:#.*)?$)", f"{name} = {value}", text, flags=re.MULTILINE)
    return text


def neighbors(tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
    """One constant doubled, halved or switched."""
    found: list[Tuning] = []
    for name, value in tuning.values:
        if any(word in name for word in _STAGES[stage]):
            least, most = _limits(name) or (value, value)
            is_counted = "STAGES" in name or name.startswith(_KEEP)
            steps = (value + 1, value - 1) if is_counted else (value * 2, value // 2)
            found += [tuning.changed(name, one) for one in steps if least <= one <= most]
    return tuple(found)


def is_allowed(name: str, value: object) -> bool:
    """Whether a constant may have this value."""
    least, most = _limits(name) or (0, -1)
    return type(value) is int and least <= value <= most and (value & (value - 1) == 0 or "STAGES" in name)


def without_hints(tuning: Tuning) -> Tuning:
    """The numbers alone: hints stand in the kernel and are the same for every shape."""
    return Tuning(tuple(one for one in tuning.values if not one[0].startswith(_KEEP)))


def describe(tuning: Tuning) -> str:
    """`BLOCK 1024, NUM_WARPS 4, bias kept in cache`"""
    parts = [f"{name} {value}" for name, value in tuning.values if not name.startswith(_KEEP)]
    kept = [
        name.removeprefix(_KEEP).removesuffix("_ptr") for name, n in tuning.values if name.startswith(_KEEP) and n
    ]
    return ", ".join([*parts, *(f"{name} kept in cache" for name in kept)])


def difference(old: Tuning, new: Tuning) -> str:
    """`BLOCK 1024 -> 2048`"""
    changed = [(name, a, b) for (name, a), (_, b) in zip(old.values, new.values, strict=True) if a != b]
    return ", ".join(f"{name} {a} -> {b}" for name, a, b in changed)


@dataclass(frozen=True)
class TunedFile:
    """A file as the forge's search takes it: one part, whose choices are constants near its own."""

    text: str
    finish: Callable[[str], str]
    """Makes a file that the judge takes of it."""
    suggested: tuple[Tuning, ...] = ()
    """Constants that somebody proposed."""

    @property
    def tuning(self) -> Tuning:
        return read_tuning(self.text)

    @property
    def parts(self) -> tuple[TunedPart, ...]:
        own = self.tuning
        near = [one for stage in _STAGES for one in neighbors(own, stage)]
        further = [two for one in neighbors(own, "block") for two in neighbors(one, "memory")]
        choices = tuple(dict.fromkeys([own, *self.suggested, *near, *further]))
        every = lambda tuning: tuple(one for stage in _STAGES for one in neighbors(tuning, stage))  # noqa: E731
        return (TunedPart("", "file", "", choices, every, may_be_left=False),)

    @property
    def tunings(self) -> tuple[Tuning, ...]:
        return self.parts[0].choices

    def write(self, tuning: Tuning) -> str:
        return self.finish(with_tuning(self.text, tuning))


def _limits(name: str) -> tuple[int, int] | None:
    if name.startswith(_KEEP):
        return 0, 1
    return next((limits for word, limits in _LIMITS.items() if word in name), None)


def _loads(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """`tl.load(bias_ptr + cols, ...)`, by the name of its pointer."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and call.args and ast.unparse(call.func) == "tl.load":
            names = [one.id for one in ast.walk(call.args[0]) if isinstance(one, ast.Name)]
            pointers = [name for name in names if name.endswith("_ptr")]
            if len(pointers) == 1:
                yield pointers[0], call


def _with_hint(text: str, pointer: str, kept: bool) -> str:
    lines, edits = text.encode().splitlines(keepends=True), list[Edit]()
    for call in (call for name, call in _loads(parse(text)) if name == pointer):
        hint = next((one for one in call.keywords if one.arg == _POLICY), None)
        if kept and hint is None:
            line, column = max([*map(end_of, call.args), *map(end_of, call.keywords)])
            rest = lines[line - 1][column : end_of(call)[1] - 1 if line == call.end_lineno else None]
            closing = re.match(rb"[\s)]*\)", rest)  # of parentheses around the last argument
            column += closing.end() if closing else 0
            edits.append(Edit((line, column), (line, column), f', {_POLICY}="evict_last"'))
        elif not kept and hint is not None:
            (first, start), (line, end) = (hint.lineno, hint.col_offset), end_of(hint)
            before, after = lines[first - 1][:start].rstrip().removesuffix(b","), lines[line - 1][end:]
            end += 0 if before else len(after) - len(after.removeprefix(b",").lstrip())
            edits.append(Edit((first, len(before)), (line, end), ""))
    return edited(text, edits)
