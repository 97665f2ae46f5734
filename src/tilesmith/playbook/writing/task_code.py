"""What ModelNew takes over from the task's own source: its constructor, or all of it, and all that this needs.

By syntax tree, word for word, so that parameters get the same names, shapes and initial values. What could not be
taken over faithfully is declined.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.verbatim import VerbatimSource
from tilesmith.records import Survey
from tilesmith.syntax import parse
from tilesmith.tasks.source import TaskSource, parse_task

NEW_NAME = "ModelNew"
OURS = {"torch": "torch", "nn": "torch.nn", "triton": "triton", "tl": "triton.language"}
"""Names that every written file imports by itself, and what they stand for."""
PLAIN_BASES = ("nn.Module", "torch.nn.Module", "Module")
"""They call no method that a task would define."""


@dataclass(frozen=True)
class TaskCode:
    """The parts of a task that a written file repeats."""

    imports: tuple[str, ...]
    definitions: tuple[str, ...]
    """Module-level constants, functions and classes that the constructor uses."""
    bases: str
    body: str
    """The class without `forward`, indented as in a class; empty where there is nothing but `forward`."""
    signature: str
    """`self, x: torch.Tensor`"""
    returns: str
    """` -> torch.Tensor`, or empty."""
    names: frozenset[str]
    """What the repeated parts define at module level."""


@dataclass(frozen=True)
class WholeModel:
    """A model with its forward pass, for recipes that replace a module inside it."""

    imports: tuple[str, ...]
    definitions: tuple[str, ...]
    text: str
    names: frozenset[str]


def read_task_code(survey: Survey, results: Collection[str] = (), reserved: Collection[str] = ()) -> TaskCode:
    """`results` are classes that `forward` returns instances of; a kernel needs the names that are `reserved`."""
    reader = _TaskCodeReader(_source(survey), {}, _own_packages(survey), reserved)
    return reader.read(results, survey.graph.signature if survey.graph else "")


def read_outer_code(survey: Survey, reserved: Collection[str]) -> TaskCode:
    """All of the model under its own name, for a ModelNew that is derived from it."""
    source = _source(survey)
    kept = {source.model_name: source.model_name}
    return _TaskCodeReader(source, kept, _own_packages(survey), reserved).read_outer()


def read_whole_model(survey: Survey, module: str, replacement: str) -> WholeModel:
    """All of the model, which makes one `module` of `torch.nn`: there, `replacement` stands instead."""
    source = _source(survey)
    spellings = (f"nn.{module}", f"torch.nn.{module}", *([module] if _is_imported(source.text, module) else []))
    replaced = dict.fromkeys(spellings, replacement)
    return _TaskCodeReader(source, replaced, _own_packages(survey)).read_whole(spellings)


def _source(survey: Survey) -> TaskSource:
    if survey.is_function:
        capture = "tilesmith capture makes a task of it"
        raise Unmatched(f"has its model made by the function {survey.model}, which is no class: {capture}")
    roles = {"model": survey.model} if survey.model else {}
    return parse_task(Path(f"{survey.task}.py"), survey.source, roles, "inputs" if roles else "")


def _own_packages(survey: Survey) -> frozenset[str]:
    """What a kernel, which stands alone, cannot import."""
    return frozenset(Path(name).parts[0].removesuffix(".py") for name in survey.imports)


def _is_imported(text: str, module: str) -> bool:
    """Whether the bare name is the class of `torch.nn`: `from torch.nn import GRU`."""
    imports = [node for node in ast.walk(parse(text)) if isinstance(node, ast.ImportFrom)]
    names = [(alias.name, alias.asname) for node in imports if node.module == "torch.nn" for alias in node.names]
    return any(name == module and alias in (None, module) for name, alias in names)


def refuse_constants(code: TaskCode | WholeModel, names: Sequence[str]) -> None:
    """What a written file defines by itself must not hide the task's own."""
    for name in names:
        if name in code.names:
            raise Unmatched(f"has a constant of its own called {name}")


class _TaskCodeReader:
    def __init__(
        self,
        source: TaskSource,
        replaced: Mapping[str, str],
        own: Collection[str],
        reserved: Collection[str] = (),
    ) -> None:
        self._model, self._own = source.model_name, own
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._tree = parse(source.text)
        self._renamed = self._new_names({*OURS, NEW_NAME, "libdevice", *reserved})
        self._words = VerbatimSource(source.text, {self._model: NEW_NAME, **replaced, **self._renamed})
        found = [node for node in self._tree.body if isinstance(node, ast.ClassDef) and node.name == self._model]
        if not found:
            raise Unmatched(f"takes class {self._model} from another file")
        self._class = found[-1]
        self._refuse_changes()

    def read(self, results: Collection[str], inherited: str = "") -> TaskCode:
        """`inherited` is the signature of a `forward` that another class defines."""
        forward = self._method("forward")
        if forward is None and not inherited:
            raise Unmatched(f"takes the forward of class {self._model} from another class")
        if forward is None:
            made = _parsed(f"def forward({inherited}): pass")
            assert isinstance(made, ast.FunctionDef)
            forward = made
        kept = [node for node in self._kept() if not _is_docstring(node)]
        annotations = [forward.args, *([forward.returns] if forward.returns else [])]
        wanted = _free_names([*kept, *self._class.bases, *annotations]) | {"annotations", *results}
        needed = self._needed(wanted)
        if unknown := set(results) - {name for node in needed for name in _defined(node)}:
            raise Unmatched(f"returns an object of class {min(unknown)}, which its file does not define")
        imports = tuple(line for node in needed if _is_import(node) for line in _kept_import(node, wanted))
        definitions = tuple(self._words.at_module_level(node) for node in needed if not _is_import(node))
        names = frozenset(self._renamed.get(name, name) for node in needed for name in _defined(node))
        bases = ", ".join(ast.unparse(base) for base in (*self._class.bases, *self._class.keywords))
        body = "\n\n".join(self._words.in_class(node) for node in kept)
        returns = f" -> {ast.unparse(forward.returns)}" if forward.returns else ""
        return TaskCode(imports, definitions, bases, body, ast.unparse(forward.args), returns, names)

    def read_outer(self) -> TaskCode:
        wanted = _free_names([self._class]) | {"annotations"}
        needed = self._needed(wanted)
        definitions = [node for node in needed if not _is_import(node)]
        imports = tuple(line for node in needed if _is_import(node) for line in _kept_import(node, wanted))
        texts = tuple(self._words.at_module_level(node) for node in (*definitions, self._class))
        names = frozenset(self._renamed.get(name, name) for node in needed for name in _defined(node))
        return TaskCode(imports, texts, self._model, "", "self", "", names | {self._model})

    def read_whole(self, replaced: Sequence[str]) -> WholeModel:
        """The class with everything in it. What is replaced must be made in exactly one place."""
        wanted = _free_names([self._class]) | {"annotations"}
        needed = self._needed(wanted)
        definitions = [node for node in needed if not _is_import(node)]
        places = sum(self._words.count(node, name) for node in [self._class, *definitions] for name in replaced)
        if places != 1:
            raise Unmatched(f"makes {replaced[0]} in {places} places of its source, where one can be replaced")
        imports = [line for node in needed if _is_import(node) for line in _kept_import(node, wanted - {*replaced})]
        if any(line.endswith("*") for line in imports):
            raise Unmatched("imports everything from a module, which may hide what this recipe defines")
        bases = ", ".join(ast.unparse(base) for base in (*self._class.bases, *self._class.keywords))
        body = "\n\n".join(self._words.in_class(node) for node in self._class.body)
        return WholeModel(
            imports=tuple(imports),
            definitions=tuple(self._words.at_module_level(node) for node in definitions),
            text=f"class {NEW_NAME}({bases}):\n{body}",
            names=frozenset(name for node in (*definitions, *map(_parsed, imports)) for name in _defined(node)),
        )

    def _new_names(self, reserved: Collection[str]) -> dict[str, str]:
        """For what the task defines under names that every written file needs for something else."""
        defined = {name for node in self._tree.body if not _is_import(node) for name in _defined(node)}
        clashing = defined & set(reserved) - {self._model}
        inside = [one for node in self._tree.body for one in ast.walk(node) if one is not node]
        hiding = {one.arg for one in inside if isinstance(one, ast.arg)}
        nested = [one for node in self._tree.body if not isinstance(node, ast.Assign) for one in ast.walk(node)]
        hiding |= {one.id for one in nested if _is_stored(one)}
        if hidden := clashing & hiding:
            raise Unmatched(f"calls two things {min(hidden)}, a name that a kernel needs")
        return {name: f"task_{name}" for name in clashing}

    def _method(self, name: str) -> ast.FunctionDef | None:
        found = [node for node in self._class.body if isinstance(node, ast.FunctionDef) and node.name == name]
        return found[-1] if found else None

    def _kept(self) -> list[ast.stmt]:
        """Everything but `forward` and the methods that only `forward` calls."""
        methods = {node.name: node for node in self._class.body if isinstance(node, ast.FunctionDef)}
        called = ({name for name in methods if name.startswith("__")} | self._used_by_bases(methods)) - {"forward"}
        waiting = list(called)
        while waiting:
            used = _mentioned([methods[waiting.pop()]]) & set(methods) - {"forward"}
            waiting += used - called
            called |= used
        return [
            node
            for node in self._class.body
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name in called
        ]

    def _used_by_bases(self, methods: Collection[str]) -> set[str]:
        """Methods that a class above may call from its constructor; all of them where it is not in this file."""
        classes = {node.name: node for node in self._tree.body if isinstance(node, ast.ClassDef)}
        used: set[str] = set()
        waiting, seen = [self._class], {self._class.name}
        while waiting:
            for base in (ast.unparse(one) for one in waiting.pop().bases):
                if base in classes and base not in seen:
                    seen.add(base)
                    waiting.append(classes[base])
                    used |= _mentioned([classes[base]])
                elif base not in (*seen, *PLAIN_BASES):
                    return set(methods)
        return used & set(methods)

    def _needed(self, wanted: set[str]) -> list[ast.stmt]:
        """Statements of the module that define `wanted` names, and what those need in turn: `wanted` grows."""
        chosen: set[int] = set()
        made: set[str] = set()
        statements = self._tree.body
        grown = True
        while grown:
            grown = False
            for position, node in enumerate(statements):
                if position in chosen or node is self._class or _is_main_block(node):
                    continue
                if _defined(node) & (wanted | {"*"}) or (_has_effect(node) and _free_names([node]) & made):
                    chosen.add(position)
                    wanted |= _free_names([node])
                    made |= set() if _is_import(node) else _defined(node)
                    grown = True
        self._refuse_early_use([statements[position] for position in chosen])
        self._refuse_own_imports([statements[position] for position in chosen])
        return [statements[position] for position in sorted(chosen)]

    def _refuse_early_use(self, needed: Sequence[ast.stmt]) -> None:
        """What is taken over stands above the class, so only functions and methods may speak of it."""
        for node in needed:
            at_once = node.bases if isinstance(node, ast.ClassDef) else [node]
            if not isinstance(node, ast.FunctionDef) and self._model in _free_names(at_once):
                raise Unmatched(f"makes something out of class {self._model} that its constructor needs")

    def _refuse_own_imports(self, needed: Sequence[ast.stmt]) -> None:
        for node in needed:
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            relative = isinstance(node, ast.ImportFrom) and node.level
            if relative or any(module.partition(".")[0] in self._own for module in modules):
                raise Unmatched(
                    f"needs a file of its own package (line {node.lineno}), which a kernel cannot import"
                )

    def _refuse_changes(self) -> None:
        """A class that is not what its own text says cannot be taken over by its text."""
        if self._class.decorator_list:
            raise Unmatched(f"decorates class {self._model}")
        for node in self._tree.body:
            if node is self._class or _is_main_block(node):
                continue
            if self._model in _defined(node) or (_has_effect(node) and self._model in _free_names([node])):
                raise Unmatched(f"changes class {self._model} after defining it")


def _parsed(line: str) -> ast.stmt:
    return parse(line).body[0]


def _is_import(node: ast.AST) -> TypeGuard[ast.Import | ast.ImportFrom]:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_main_block(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in _free_names([node.test])


def _has_effect(node: ast.stmt) -> bool:
    """Whether a statement of the module may change what others define: `SIZES.append(3)`, `SIZES[0] = 3`."""
    if isinstance(node, ast.Assign):
        return any(not isinstance(target, ast.Name | ast.Tuple) for target in node.targets)
    is_definition = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.AnnAssign)
    return not (is_definition or _is_import(node) or _is_docstring(node))


def _mentioned(nodes: Sequence[ast.AST]) -> set[str]:
    """Attributes by name, also those that `getattr` is asked for."""
    inside = [one for node in nodes for one in ast.walk(node)]
    texts = {one.value for one in inside if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return texts | {one.attr for one in inside if isinstance(one, ast.Attribute)}


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _free_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Names that the nodes take from outside: neither parameters nor variables of their own functions."""
    found: set[str] = set()
    for node in nodes:
        inside = _free_names(list(ast.iter_child_nodes(node)))
        if isinstance(node, ast.Name):
            inside.add(node.id)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inside -= {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
            body = node.body if isinstance(node.body, list) else []
            inside -= {one.id for part in body for one in ast.walk(part) if _is_stored(one)}
        found |= inside
    return found


def _is_stored(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _defined(node: ast.stmt | ast.ExceptHandler) -> set[str]:
    if _is_import(node):
        return {(alias.asname or alias.name.split(".")[0]) for alias in node.names}
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {node.name}
    nested = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt | ast.ExceptHandler)]
    below = {name for one in nested for name in _defined(one)}
    return below | {one.id for one in ast.walk(node) if _is_stored(one)}


def _kept_import(node: ast.Import | ast.ImportFrom, wanted: set[str]) -> Iterator[str]:
    """The import with only the names that are used, and none that every written file has anyway."""
    module = getattr(node, "module", None)
    kept = []
    for alias in node.names:
        name = alias.asname or alias.name.split(".")[0]
        full = f"{module}.{alias.name}" if module else alias.name
        if (name in wanted or alias.name == "*") and OURS.get(name) != full:
            kept.append(alias)
    if isinstance(node, ast.Import):
        yield from (ast.unparse(ast.Import([alias])) for alias in kept)
    elif kept:
        yield ast.unparse(ast.ImportFrom(module, kept, node.level))
