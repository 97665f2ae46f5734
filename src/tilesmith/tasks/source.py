"""Reads a task without running it, and says in one line what is missing.

A task file defines `class Model(nn.Module)`, `get_inputs()` and, unless the constructor takes no
arguments, `get_init_inputs()`. A file with other names needs one more line to be a task:

    tilesmith = {"model": "MyNet", "inputs": "make_batch", "init": "make_args"}

Any class of any module is a task too, named as `package.module:Class`; see `user_code.task_name`.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tilesmith.errors import TaskError
from tilesmith.syntax import parse
from tilesmith.tasks.user_code.module_files import ModuleFile, file_of_path
from tilesmith.tasks.user_code.own_imports import digest_of, own_imports
from tilesmith.tasks.user_code.task_name import NamedDefinition, TaskName, locate_inputs, locate_task

MAX_TASK_BYTES = 10_000_000
ADAPTER = "tilesmith"
DEFAULT_NAMES = {"model": "Model", "inputs": "get_inputs", "init": "get_init_inputs"}
NESTING_STATEMENTS = (ast.If, ast.Try, ast.With)
_SECOND_FILE = "\n\n# tilesmith: here begins {}\n"


@dataclass(frozen=True)
class TaskSource:
    """A task that parses and defines (or imports) what a task needs."""

    path: Path
    text: str
    """Of its file; where the inputs come from another file, of both files, one after the other."""
    name: str
    model_name: str
    """A class, or a function that returns a module."""
    inputs_name: str
    init_name: str | None
    """Null when the constructor takes no arguments."""
    file: ModuleFile
    inputs_file: ModuleFile | None = None
    """Where `inputs_name` is defined, if that is another file."""
    import_path: tuple[str, ...] = ()
    own_files: tuple[ModuleFile, ...] = ()
    """What it imports of the user's own code, and the file of its inputs."""
    own_digest: str = ""
    """Stands for the contents of `own_files`."""
    mode: str = "auto"
    """The mode it is judged in: eval, train, or what the task builds."""

    @property
    def model_text(self) -> str:
        """The part of the text that is the file of the model."""
        return self._texts()[0]

    @property
    def inputs_text(self) -> str | None:
        """The part that is the file of the inputs; None where there is no such file."""
        return self._texts()[2] if self.inputs_file is not None else None

    def _texts(self) -> tuple[str, str, str]:
        mark = _SECOND_FILE.format(self.inputs_file.path) if self.inputs_file is not None else "\0"
        return self.text.partition(mark)


_WHAT_A_TASK_IS = "a task defines class Model(nn.Module) and get_inputs()"
_SOUNDS_LIKE = {"inputs": ("input", "batch", "data"), "init": ("init", "arg", "param", "config")}


class _Definition(NamedTuple):
    kind: str  # "class", "function", "name" or "import"
    line: int
    is_module: bool


class _Namespace(NamedTuple):
    definitions: dict[str, _Definition]
    has_star_import: bool


def read_task(task: TaskName | str | Path) -> TaskSource:
    """The task of that name; a `TaskError` names the file, the line and the cure."""
    name = task if isinstance(task, TaskName) else TaskName(str(task))
    model = locate_task(name)
    path, text = model.file.path, _read_text(model.file.path)
    inputs = locate_inputs(name, model.file)
    apart = inputs if inputs is not None and inputs.file.path.resolve() != path.resolve() else None
    roles = {"model": model.name, "inputs": inputs.name if inputs else None}
    parsed = parse_task(path, text, {role: one for role, one in roles.items() if one}, "inputs" if apart else "")
    import_path = name.import_path()
    files = (model.file, *([apart.file] if apart else []))
    own = (*files[1:], *own_imports(files, import_path))
    return replace(
        parsed,
        text=text + _text_of_inputs(apart) if apart else text,
        name=model.name or parsed.name,
        file=model.file,
        inputs_file=apart.file if apart else None,
        import_path=import_path,
        own_files=own,
        own_digest=digest_of(own),
    )


def parse_task(path: Path, text: str, roles: Mapping[str, str] | None = None, elsewhere: str = "") -> TaskSource:
    """The task in `text`, which stands for the file at `path`. `roles` are names given by the user, and what is
    `elsewhere` need not be in the file."""
    tree = _parse(path, text)
    namespace = _module_namespace(tree)
    names = DEFAULT_NAMES | _adapter_line(path, tree) | (dict(roles) if roles else {})
    needed = [role for role in ("model", "inputs") if role != elsewhere]
    missing = [role for role in needed if not _is_known(names[role], namespace)]
    if missing:
        raise TaskError(_what_is_missing(path, missing, names, namespace, roles or {}))
    has_init = names["init"] in namespace.definitions or names["init"] != DEFAULT_NAMES["init"]
    if has_init and not _is_known(names["init"], namespace):
        raise TaskError(f"{path}: {ADAPTER} names {names['init']!r}, which the file does not define")
    is_function = (
        names["model"] in namespace.definitions and namespace.definitions[names["model"]].kind == "function"
    )
    init_name = names["init"] if (has_init or namespace.has_star_import) and not is_function else None
    return TaskSource(path, text, path.stem, names["model"], names["inputs"], init_name, file_of_path(path))


def own_texts(task: TaskSource) -> dict[str, str]:
    """The user's own files that a task imports, by their path under the folder they are imported from."""
    return {
        str(PurePosixPath(*_place(file))): file.path.read_text(encoding="utf-8", errors="replace")
        for file in task.own_files
        if file.path.is_file()
    }


def _place(file: ModuleFile) -> tuple[str, ...]:
    return file.path.resolve().relative_to(file.root.resolve()).parts


def _text_of_inputs(inputs: NamedDefinition) -> str:
    """Another file than the model's, to stand behind it."""
    path, text = inputs.file.path, _read_text(inputs.file.path)
    if not _is_known(str(inputs.name), _module_namespace(_parse(path, text))):
        raise TaskError(f"{path}: no function {inputs.name}, which --inputs names")
    return _SECOND_FILE.format(path) + text


def _read_text(path: Path) -> str:
    if path.is_dir():
        raise TaskError(f"{path}: is a directory; name the task's .py file inside it")
    try:
        if path.stat().st_size > MAX_TASK_BYTES:
            raise TaskError(f"{path}: larger than 10 MB; a task is a small .py file")
        data = path.read_bytes()
    except FileNotFoundError:
        raise TaskError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TaskError(f"{path}: cannot be read: {reason}") from None
    return _decode(path, data)


def _decode(path: Path, data: bytes) -> str:
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise TaskError(f"{path}:{line}: contains a null byte; a task is a Python text file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise TaskError(f"{path}:{line}: is not UTF-8; save the file as UTF-8 text") from None
    if not text.strip():
        raise TaskError(f"{path}: is empty; a task defines class Model and get_inputs()")
    return text


def _parse(path: Path, text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the file's own "\d" strings are no business of ours
            return parse(text)
    except SyntaxError as error:
        raise TaskError(f"{path}:{error.lineno or 1}: syntax error: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise TaskError(f"{path}: is nested too deeply to parse; simplify the expression") from None
    except ValueError as error:
        raise TaskError(f"{path}: cannot be parsed: {error}") from None


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement that runs at module level, including those under if, try and with."""
    for statement in body:
        yield statement
        if isinstance(statement, NESTING_STATEMENTS):
            for block in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, block, []))
            for handler in getattr(statement, "handlers", []):
                yield from _statements(handler.body)


def _module_namespace(tree: ast.Module) -> _Namespace:
    definitions: dict[str, _Definition] = {}
    has_star_import = False
    for statement in _statements(tree.body):
        if isinstance(statement, ast.ImportFrom | ast.Import):
            has_star_import |= any(alias.name == "*" for alias in statement.names)
            for alias in statement.names:
                name = alias.asname or alias.name.split(".")[0]
                definitions[name] = _Definition("import", statement.lineno, False)
        elif isinstance(statement, ast.ClassDef):
            bases = " ".join(ast.unparse(base) for base in statement.bases)
            definitions[statement.name] = _Definition("class", statement.lineno, "Module" in bases)
        elif isinstance(statement, ast.FunctionDef):
            definitions[statement.name] = _Definition("function", statement.lineno, False)
        else:
            for target in _assigned_names(statement):
                definitions[target] = _Definition("name", statement.lineno, False)
    return _Namespace(definitions, has_star_import)


def _assigned_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _is_known(name: str, namespace: _Namespace) -> bool:
    return name in namespace.definitions or namespace.has_star_import


def _adapter_line(path: Path, tree: ast.Module) -> dict[str, str]:
    """The user's `tilesmith = {...}` line: which names of the file play which role."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ADAPTER in _assigned_names(statement):
            return _read_adapter(f"{path}:{statement.lineno}", statement.value)
    return {}


def _read_adapter(where: str, value: ast.expr) -> dict[str, str]:
    form = f'{where}: write it as  {ADAPTER} = {{"model": "MyNet", "inputs": "make_batch"}}'
    try:
        roles = ast.literal_eval(value)
    except ValueError:
        raise TaskError(f"{form}, with names as plain strings") from None
    if not isinstance(roles, dict) or not all(isinstance(name, str) for name in roles.values()):
        raise TaskError(f"{form}, with names as plain strings")
    unknown = [str(role) for role in roles if role not in DEFAULT_NAMES]
    if unknown:
        raise TaskError(f"{where}: unknown key {unknown[0]!r}; the keys are {', '.join(DEFAULT_NAMES)}")
    return roles


def _what_is_missing(
    path: Path, missing: list[str], names: dict[str, str], namespace: _Namespace, roles: Mapping[str, str]
) -> str:
    """One line: what the file lacks, what it has instead, and the line that would fix it."""
    if roles and "model" in missing:
        made = {name: item for name, item in namespace.definitions.items() if not name.startswith("_")}
        makers = [name for name, item in made.items() if item.is_module or item.kind == "function"]
        cure = "" if "model" in roles else f": name the class or function that makes the model, {path}:NAME"
        return f"{path}: no class or function {names['model']}{cure}; it has {', '.join(makers) or 'none'}"
    if "inputs" in roles:
        return f"{path}: no function {names['inputs']}, which --inputs names"
    if "model" in roles:
        likely = _best_substitute("inputs", namespace) or "MODULE:FUNCTION"
        return f"{path}: no function {names['inputs']}: pass --inputs {likely}"
    if "ModelNew" in namespace.definitions:
        return f"{path}: this is a kernel (it defines ModelNew), not a task: write  tilesmith check TASK KERNEL"
    found = {role: _best_substitute(role, namespace) for role in missing}
    lacks = " and no ".join(f"{'class' if role == 'model' else 'function'} {names[role]}" for role in missing)
    substitutes = {role: name for role, name in found.items() if name}
    if not substitutes:
        cure = "add  def get_inputs(): return [...]" if missing == ["inputs"] else _WHAT_A_TASK_IS
        return f"{path}: no {lacks}; {cure}"
    seen = ", ".join(f"{name} (line {namespace.definitions[name].line})" for name in substitutes.values())
    arguments = _best_substitute("init", namespace)
    if arguments and not _is_known(names["init"], namespace):
        substitutes["init"] = arguments
    adapter = ", ".join(f'"{role}": "{name}"' for role, name in substitutes.items())
    return f"{path}: no {lacks}; found {seen}: rename it or add the line  {ADAPTER} = {{{adapter}}}"


def _best_substitute(role: str, namespace: _Namespace) -> str | None:
    """The definition most likely meant: an nn.Module, or a function that sounds like inputs."""
    kind = "class" if role == "model" else "function"
    names = [name for name, item in namespace.definitions.items() if item.kind == kind]
    if role == "model":
        modules = [name for name in names if namespace.definitions[name].is_module]
        return next(reversed(modules or names), None)
    telling = [name for name in names if any(word in name.lower() for word in _SOUNDS_LIKE[role])]
    makes_arguments = [name for name in names if any(word in name.lower() for word in _SOUNDS_LIKE["init"])]
    return next((name for name in telling if role == "init" or name not in makes_arguments), None)
