"""The constants of a `<op>_triton.py` that may be tuned, and the same file with others.

They stand at the top as whole numbers: tiles, rows, warps, stages. A load may also be told to keep what it reads in
the cache; that is a constant too, `KEEP_bias_ptr`, which shows in the file as `eviction_policy="evict_last"`.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tilesmith.operators.source_edits import TextReplacement, constants_of, replaced
from tilesmith.playbook.recipe import TunedPart, Tuning

_KEEP = "KEEP_"
_HINT = ', eviction_policy="evict_last"'
_LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
_LIMITS = {"WARPS": (1, 16), "STAGES": (1, 6), "ROWS": (1, 64), "GROUP": (1, 16), "BLOCK": (16, 8192)}
"""By a word in a constant's name: the least and the largest value."""
_STAGES = {"grid": ("ROWS", "GROUP"), "block": ("BLOCK",), "memory": ("WARPS", "STAGES", "KEEP")}


def read_tuning(text: str) -> Tuning:
    """The constants of a file that are known by their names, and its loads that may be kept."""
    tree = ast.parse(text)
    known = {name: node.value for name, node in constants_of(tree).items() if isinstance(node, ast.Constant)}
    found = [(name, value) for name, value in known.items() if type(value) is int and _limits(name)]
    return Tuning((*found, *((f"{_KEEP}{name}", kept) for name, kept in _loads(tree).items())))


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
    return tuple(_neighbors(tuning, _STAGES[stage]))


def _neighbors(tuning: Tuning, words: tuple[str, ...]) -> Iterator[Tuning]:
    for name, value in tuning.values:
        if not any(word in name for word in words):
            continue
        if name.startswith(_KEEP):
            yield tuning.changed(name, 1 - value)
            continue
        least, most = _limits(name) or (value, value)
        steps = (value + 1, value - 1) if "STAGES" in name else (value * 2, value // 2)
        yield from (tuning.changed(name, one) for one in steps if least <= one <= most)


def is_allowed(name: str, value: object) -> bool:
    """Whether a constant may have this value."""
    if type(value) is not int:
        return False
    if name.startswith(_KEEP):
        return value in (0, 1)
    least, most = _limits(name) or (0, 0)
    return least <= value <= most and (value & (value - 1) == 0 or "STAGES" in name)


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
    return next((limits for word, limits in _LIMITS.items() if word in name), None)


def _loads(tree: ast.Module) -> dict[str, int]:
    """Pointers that are read by loads, and whether what is read is kept in the cache."""
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        pointer = _pointer(node)
        if pointer is not None and isinstance(node, ast.Call):
            hints = [one for one in node.keywords if one.arg == "eviction_policy"]
            found.setdefault(pointer, int(bool(hints)))
    return found


def _pointer(node: ast.AST) -> str | None:
    """`bias_ptr` of `tl.load(bias_ptr + cols, ...)`"""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != "tl.load" or not node.args:
        return None
    names = [one.id for one in ast.walk(node.args[0]) if isinstance(one, ast.Name) and one.id.endswith("_ptr")]
    return names[0] if len(names) == 1 else None


def _with_hint(text: str, pointer: str, kept: bool) -> str:
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and _pointer(node) == pointer]
    lines = io.StringIO(text).readlines()
    tokens = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type not in _LAYOUT]
    changes: list[TextReplacement] = []
    for call in calls:
        hints = [one for one in call.keywords if one.arg == "eviction_policy"]
        if kept and not hints:
            line, column = call.end_lineno or call.lineno, call.end_col_offset or 0
            closing = (line, _characters(lines[line - 1], column))
            place = next(place for place, one in enumerate(tokens) if one.end == closing) - 1
            row, end = tokens[place - (tokens[place].string == ",")].end
            changes.append(TextReplacement(row, len(lines[row - 1][:end].encode()), "", _HINT))
        elif not kept and hints:
            whole = lines[hints[0].lineno - 1]
            start, end = (_characters(whole, one or 0) for one in (hints[0].col_offset, hints[0].end_col_offset))
            before, rest = whole[:start].rstrip().removesuffix(","), whole[end:]
            if not before:
                rest = rest.removeprefix(",").lstrip()
            old = whole[len(before) : len(whole) - len(rest)]
            changes.append(TextReplacement(hints[0].lineno, len(before.encode()), old, ""))
    return replaced(text, changes)


def _characters(line: str, column: int) -> int:
    """A column of ast, which counts bytes, in characters."""
    return len(line.encode()[:column].decode())
