"""An operator's folder on disk: operator.toml, and the digests of the four files."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tilesmith.errors import ProjectError
from tilesmith.operators.records import KINDS, LEADING, Operator, OperatorParameter, Project, Sizes
from tilesmith.runs.atomic_files import write_atomically

FORMAT = 1
TOML = "operator.toml"
_SETTINGS = ("name", "summary", "target", "tolerance", "history", "dtypes", "returns", "baseline")


def read_project(folder: Path) -> Project:
    """Raises ProjectError where operator.toml is missing, cannot be read or makes no sense."""
    path = folder / TOML
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ProjectError(
            f"{folder}: no operator project (it has no {TOML}); tilesmith op new makes one"
        ) from None
    except (OSError, ValueError) as error:
        raise ProjectError(f"{path}: cannot be read: {error}") from None
    try:
        if data["format"] != FORMAT:
            raise ProjectError(f"format {data['format']} is not {FORMAT}; another tilesmith wrote it")
        return Project(folder, _operator_of(data), dict(data.get("passed", {})))
    except ProjectError as error:
        raise ProjectError(f"{path}: {error}") from None
    except KeyError as error:
        raise ProjectError(f"{path}: {error.args[0]} is missing") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise ProjectError(f"{path}: makes no sense: {error}") from None


def write_project(project: Project) -> None:
    """Writes operator.toml, and nothing else."""
    project.folder.mkdir(parents=True, exist_ok=True)
    write_atomically(project.folder / TOML, toml_text(project))


def read_files(project: Project) -> dict[str, str]:
    """The text of each of the four files; raises ProjectError for the first that is missing."""
    texts = {}
    for kind in KINDS:
        path = project.path(kind)
        try:
            texts[kind] = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise ProjectError(
                f"{path.name} is missing from {project.folder}; put it back, or run  {update_command(project)}"
            ) from None
        except (OSError, ValueError) as error:
            raise ProjectError(f"{path}: cannot be read: {error}") from None
    return texts


def update_command(project: Project) -> str:
    """What writes a project's files anew."""
    name = project.operator.name
    folder = "" if project.folder == Path(name) else f" --out {project.folder}"
    return f"tilesmith op new {name} --update{folder}"


def code_digest(text: str) -> str:
    """Of the code alone: comments and layout do not count. Of a text that does not parse, of the text."""
    with contextlib.suppress(SyntaxError):
        text = ast.dump(ast.parse(text))
    return hashlib.sha256(text.encode()).hexdigest()


def passing(project: Project, texts: Mapping[str, str]) -> Project:
    """The project with these texts as its last passing state."""
    return replace(project, passed={kind: code_digest(texts[kind]) for kind in KINDS if kind in texts})


def _operator_of(data: Mapping[str, Any]) -> Operator:
    known = {name: data[name] for name in _SETTINGS if name in data}
    shapes = data["shapes"]
    return Operator(
        **{**known, "name": data["name"], "dtypes": tuple(data["dtypes"])},
        parameters=tuple(_parameter_of(one) for one in data["parameters"]),
        accuracy=tuple(_sizes_of(one) for one in shapes["accuracy"]),
        performance=tuple(_sizes_of(one) for one in shapes["performance"]),
    )


def _parameter_of(data: Mapping[str, Any]) -> OperatorParameter:
    return OperatorParameter(**{**data, "name": data["name"], "shape": tuple(data.get("shape", ()))})


def _sizes_of(data: Mapping[str, Any]) -> Sizes:
    return {name: tuple(size) if isinstance(size, list) else int(size) for name, size in data.items()}


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
    left_out = () if one.is_tensor else ("shape",)
    order = ("name", "kind", "annotation", "shape", "dtype", "below", "default", "value")
    return [
        f"{name} = {_value(values[name])}" for name in order if values[name] is not None and name not in left_out
    ]


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(name)} = {_value(one)}' for name, one in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return f'"{name}"' if name == LEADING else name
