"""An operator's folder on disk: operator.toml, and the digests of the four files."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import itertools
import json
import re
import shutil
import tokenize
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tilesmith.errors import ProjectError
from tilesmith.operators.records import KINDS, LEADING, Operator, OperatorParameter, Project, Sizes
from tilesmith.runs.atomic_files import write_atomically
from tilesmith.syntax import parse

FORMAT = 1
TOML = "operator.toml"
_SETTINGS = ("name", "summary", "target", "arithmetic", "history", "dtypes", "returns", "baseline")
_FORMS: Mapping[str, tuple[type, str]] = {
    **dict.fromkeys(("name", "summary", "arithmetic", "history", "returns", "dtype"), (str, "a text")),
    **dict.fromkeys(("annotation", "baseline"), (str, "a text")),
    "target": (float, "a number, as 1.2"),
    "fixed": (bool, "true or false"),
    "dtypes": (list, 'a list, as ["float32"]'),
    "shape": (list, 'a list, as ["M", "N"]'),
    **dict.fromkeys(("accuracy", "performance"), (list, "a list, as [{M = 37, N = 53}]")),
    "parameters": (list, "tables with the head [[parameters]]"),
    "shapes": (dict, "a table"),
    "passed": (dict, "a table of texts"),
}
"""What a value in operator.toml is, by its name."""
_ELEMENTS = {"dtypes": str, "passed": str, "accuracy": dict, "performance": dict, "parameters": dict}


def read_project(folder: Path) -> Project:
    """Raises ProjectError where operator.toml is missing, cannot be read or makes no sense."""
    path = folder / TOML
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise _without_toml(folder) from None
    except NotADirectoryError:
        raise ProjectError(f"{folder} is a file: name the folder of the operator") from None
    except (OSError, ValueError) as error:
        raise ProjectError(f"{path}: cannot be read: {error}") from None
    try:
        if data["format"] != FORMAT:
            raise ProjectError(f"format {data['format']} is not {FORMAT}; another tilesmith wrote it")
        _require_forms(data, (*_SETTINGS, "parameters", "shapes", "passed"))
        return Project(folder, _operator_of(data), dict(data.get("passed", {})))
    except ProjectError as error:
        raise ProjectError(f"{path}: {error}") from None
    except KeyError as error:
        raise ProjectError(f"{path}: {error.args[0]} is missing") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise ProjectError(f"{path}: makes no sense: {error}") from None


def write_project(project: Project) -> None:
    """Writes operator.toml, and nothing else. In one that is there already only [passed] changes: the rest may have
    been edited since it was read."""
    path = project.folder / TOML
    if not path.exists():
        project.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, toml_text(project))
        return
    text = path.read_text(encoding="utf-8-sig")
    try:
        wanted = tomllib.loads(text)
    except ValueError as error:
        raise ProjectError(f"{path}: cannot be read: {error}") from None
    if not _write_passed(path, text, project, wanted):
        raise ProjectError(f"{path}: the state that passed cannot be noted; remove what it says of `passed`")


def rewrite_project(project: Project) -> Path | None:
    """Writes another operator into operator.toml. Where more changes than the baseline's digest and [passed], the
    file is laid out anew; what was in it is then kept in the file that is returned."""
    path, wanted = project.folder / TOML, toml_text(project)
    if not path.exists():
        write_project(project)
        return None
    baseline = f"baseline = {_value(project.operator.baseline)}"
    text = re.sub(r"^baseline = .*$", baseline, path.read_text(encoding="utf-8-sig"), count=1, flags=re.MULTILINE)
    if _write_passed(path, text, project, tomllib.loads(wanted)):
        return None
    kept = set_aside(path)
    write_atomically(path.resolve(), wanted)
    return kept


def _write_passed(path: Path, text: str, project: Project, wanted: Mapping[str, Any]) -> bool:
    """Whether the text, with another table [passed], reads as it should, and so was written. Own tables of the
    user, which nobody reads, are no difference."""
    changed, wanted = _with_passed(text, project.passed), {**wanted, "passed": dict(project.passed)}
    try:
        found = tomllib.loads(changed)
    except ValueError:
        return False
    if {"passed": {}} | {name: found[name] for name in wanted if name in found} != wanted:
        return False
    write_atomically(path.resolve(), changed)
    return True


def set_aside(path: Path) -> Path:
    """A copy of a file beside it, under a name that is free: `softmax_triton.py.bak`."""
    names = (path.with_name(f"{path.name}.bak{number or ''}") for number in itertools.count())
    free = next(name for name in names if not name.exists())
    shutil.copyfile(path, free)
    return free


def _with_passed(text: str, passed: Mapping[str, str]) -> str:
    """operator.toml with another table [passed]; every other line stays, and comments in that table too."""
    lines = text.splitlines()
    wanted = [f"{kind} = {_value(digest)}" for kind, digest in passed.items()]
    heads = [place for place, line in enumerate(lines) if line.split("#")[0].strip() == "[passed]"]
    if not heads:
        return "\n".join([*lines, *(["", "[passed]", *wanted] if wanted else [])]) + "\n"
    start = heads[0] + 1
    end = next((place for place in range(start, len(lines)) if lines[place].startswith("[")), len(lines))
    others = [line for line in lines[start:end] if line.partition("=")[0].strip() not in (*KINDS, "device")]
    return "\n".join([*lines[:start], *wanted, *others, *lines[end:]]) + "\n"


def read_files(project: Project) -> dict[str, str]:
    """The text of each of the four files; raises ProjectError for the first that is missing."""
    texts = {}
    for kind in KINDS:
        path = project.path(kind)
        try:
            texts[kind] = read_source(path)
        except FileNotFoundError:
            raise missing_file(project, kind) from None
    return texts


def missing_file(project: Project, kind: str) -> ProjectError:
    """What to do about it; only a definition brings a baseline back, and of a kernel there may have been none."""
    given = " --from FILE" if kind == "baseline" else ""
    done = "write it" if kind == "triton" else "put it back"
    name = project.operator.file_name(kind)
    return ProjectError(
        f"{name} is missing from {project.folder}; {done}, or run  {update_command(project)}{given}"
    )


def _without_toml(folder: Path) -> ProjectError:
    names = [path.stem.removesuffix("_baseline") for path in sorted(folder.glob("*_baseline.py"))]
    if not names:
        return ProjectError(f"{folder}: no operator project (it has no {TOML}); tilesmith op new makes one")
    command = _update_command(names[0], folder)
    return ProjectError(f"{TOML} is missing from {folder}; put it back, or make it of the other files: {command}")


def read_source(path: Path) -> str:
    """A Python file in UTF-8, with a byte order mark or without; raises ProjectError for any other, also for one
    that a comment declares to be another, because comments are not in a digest."""
    try:
        data = path.read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if not encoding.startswith("utf-8"):
            raise ProjectError(f"{path}: it is declared to be {encoding}; save it in UTF-8 and remove that comment")
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig").read()
    except FileNotFoundError:
        raise
    except (OSError, ValueError, SyntaxError) as error:
        raise ProjectError(f"{path}: cannot be read: {error}") from None


def update_command(project: Project) -> str:
    """What writes a project's files anew."""
    return _update_command(project.operator.name, project.folder)


def _update_command(name: str, folder: Path) -> str:
    return f"tilesmith op new {name} --update" + ("" if folder == Path(name) else f" --out {folder}")


def code_digest(text: str) -> str:
    """Of the code alone: comments and layout do not count. Of a text that does not parse, of the text."""
    with contextlib.suppress(SyntaxError):
        text = ast.dump(parse(text))
    return hashlib.sha256(text.encode()).hexdigest()


def moved_kinds(project: Project, texts: Mapping[str, str]) -> list[str]:
    """What changed since the last check that passed."""
    return [kind for kind in KINDS if code_digest(texts[kind]) != project.passed.get(kind)]


def passing(project: Project, texts: Mapping[str, str], device: str | None = None) -> Project:
    """The project with these texts as its last passing state, on cuda or, in Triton's interpreter, on the cpu."""
    digests = {kind: code_digest(texts[kind]) for kind in KINDS if kind in texts}
    return replace(project, passed=digests | ({} if device is None else {"device": device}))


def _operator_of(data: Mapping[str, Any]) -> Operator:
    _require_known(
        [name for name, value in data.items() if not isinstance(value, dict)], ("format", "parameters", *_SETTINGS)
    )
    known = {name: data[name] for name in _SETTINGS if name in data}
    shapes = data["shapes"]
    _require_forms(shapes, shapes)
    operator = Operator(
        **{**known, "name": data["name"], "dtypes": tuple(data["dtypes"])},
        parameters=tuple(_parameter_of(one) for one in data["parameters"]),
        accuracy=tuple(map(read_sizes, shapes["accuracy"])),
        performance=tuple(map(read_sizes, shapes["performance"])),
    )
    operator.require_sizes()
    return operator


def _require_forms(data: Mapping[str, Any], names: Iterable[str], where: str = "") -> None:
    for name in (name for name in names if name in data and name in _FORMS):
        form, told = _FORMS[name]
        value = float(data[name]) if form is float and type(data[name]) is int else data[name]
        elements = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if not isinstance(value, form) or not all(isinstance(one, _ELEMENTS.get(name, object)) for one in elements):
            raise ProjectError(f"{where}{name} must be {told}, not {data[name]!r}")


def _parameter_of(data: Mapping[str, Any]) -> OperatorParameter:
    _require_known(data, [one.name for one in fields(OperatorParameter)])
    _require_forms(data, data, f"{data['name']}: ")
    value = data.get("value")
    known = {"name": data["name"], "shape": tuple(data.get("shape", ()))}
    return OperatorParameter(**{**data, **known, "value": tuple(value) if isinstance(value, list) else value})


def read_sizes(data: Mapping[str, Any]) -> Sizes:
    return {name: tuple(size) if isinstance(size, list) else size for name, size in data.items()}


def _require_known(names: Iterable[str], known: Sequence[str]) -> None:
    """Tables of the user's own are welcome; a misspelt word is not."""
    for name in names:
        if name not in known:
            raise ProjectError(f"'{name}' is none of {', '.join(known)}")


def toml_text(project: Project) -> str:
    """operator.toml, as a person would lay it out."""
    operator = project.operator
    lines = [f"format = {FORMAT}"]
    lines += [f"{name} = {_value(getattr(operator, name))}" for name in _SETTINGS if getattr(operator, name)]
    for one in operator.parameters:
        lines += ["", "[[parameters]]", *_parameter_lines(one)]
    lines += ["", "[shapes]"]
    for name in ("accuracy", "performance"):
        lines += [f"{name} = [", *(f"    {_value(sizes)}," for sizes in getattr(operator, name)), "]"]
    if project.passed:
        lines += ["", "[passed]", *(f"{kind} = {_value(digest)}" for kind, digest in project.passed.items())]
    return "\n".join(lines) + "\n"


def _parameter_lines(one: OperatorParameter) -> list[str]:
    values = {each.name: getattr(one, each.name) for each in fields(one)}
    left_out = (*(() if one.is_tensor else ("shape",)), *(() if one.fixed else ("fixed",)))
    order = ("name", "kind", "annotation", "shape", "dtype", "below", "default", "value", "fixed")
    return [
        f"{name} = {_value(values[name])}" for name in order if values[name] is not None and name not in left_out
    ]


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = [(f'"{name}"' if name == LEADING else name, _value(one)) for name, one in value.items()]
        return f"{{{', '.join(f'{name} = {text}' for name, text in pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
