"""The interface as each file of a project has it, by its syntax alone, and what to change where they differ."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tilesmith.errors import ProjectError
from tilesmith.operators.bound_names import bound_names, require_free_names
from tilesmith.operators.project import TOML, code_digest, moved_kinds, read_files, read_project, update_command
from tilesmith.operators.records import KINDS, Operator, Project
from tilesmith.operators.source_edits import constants_of, entry_of, with_head
from tilesmith.operators.writing import accuracy_text, contract, function_head, performance_text

_FUNCTIONS = ("triton", "baseline")
"""Files that define the operator; the other two name its interface."""


@dataclass(frozen=True)
class InterfaceSeen:
    """What a file says of the operator's interface."""

    parameters: tuple[tuple[str, str, str], ...]
    """Name, annotation and default of each, as text."""
    returns: str
    tensors: str
    """Shapes and dtypes in a line; empty where the file does not tell."""
    dtypes: str = ""
    """What the constant DTYPES holds, where the file has one."""

    @property
    def names(self) -> list[str]:
        return [one[0] for one in self.parameters]

    def describe(self, name: str) -> str:
        return f"{name}({', '.join(self.names)})"


class WholeProject(NamedTuple):
    """A project whose files agree."""

    project: Project
    texts: Mapping[str, str]
    """Of the four files, by kind."""


def read_whole_project(folder: Path) -> WholeProject:
    """Raises ProjectError where a file is missing, lags behind or is not what operator.toml makes."""
    project = read_project(folder)
    texts = read_files(project)
    require_one_interface(project, texts)
    require_own_tests(project, texts)
    return WholeProject(project, texts)


def require_one_interface(project: Project, texts: Mapping[str, str]) -> None:
    """Raises ProjectError that names every file that lags, and says what to change."""
    operator = project.operator
    names = {kind: operator.file_name(kind) for kind in KINDS}
    seen = {TOML: _of_operator(operator)}
    seen |= {names[kind]: _of_file(operator, kind, texts[kind], names[kind]) for kind in KINDS}
    moved = {names[kind] for kind in moved_kinds(project, texts)} if project.passed else set()
    wanted = _newest(seen, moved)
    lagging = [name for name in seen if _differs(seen[name], wanted)]
    if not lagging:
        return
    agreeing = [name for name in seen if name not in lagging]
    told = [f"{name}: {_difference(operator.name, seen[name], wanted, agreeing)}" for name in lagging]
    leader = names["baseline"]
    if code_digest(texts["baseline"]) == operator.baseline:
        if seen[TOML].names != seen[leader].names:
            told.append(f"parameters are added, renamed and removed in {leader}, then  {update_command(project)}")
            raise ProjectError("; ".join(told))
        leader = TOML
    raise ProjectError(
        f"{'; '.join(told)}; mend that, or let all files follow {leader} with  {update_command(project)}"
    )


def conforms(operator: Operator, text: str) -> bool:
    """Whether a kernel's file has the operator's interface already."""
    try:
        found = _of_file(operator, "triton", text, operator.file_name("triton"))
    except ProjectError:
        return False
    return not _differs(found, _of_operator(operator))


def with_interface(text: str, operator: Operator, path: str, old: Operator | None = None) -> str:
    """A file whose entry tells the operator's whole interface: annotations, defaults, and the tensors in its
    docstring's last line; a summary that was the old operator's is replaced. Raises ProjectError where its
    parameters have other names."""
    entry = entry_of(text, operator.name, path)
    told = (ast.get_docstring(entry) or operator.summary or operator.name).splitlines()
    if old is not None and told[0] == f"{old.summary or old.name}.":
        told[0] = f"{operator.summary or operator.name}."
    wanted = [one.name for one in operator.parameters]
    returns = f" -> {ast.unparse(entry.returns)}" if entry.returns else ""
    own = f"def {entry.name}({ast.unparse(entry.args)}){returns}:"
    heads = [ast.unparse(ast.parse(f"{head} ...")) for head in (function_head(operator), own)]
    summary = (ast.get_docstring(entry) or "").partition("\n")[0]
    if heads[0] == heads[1] and told[0] == summary and len(told) > 1 and told[-1].strip() == contract(operator):
        return text
    if [one.arg for one in entry.args.args] != wanted:
        raise ProjectError(
            f"{path}: {operator.name} does not take ({', '.join(wanted)}) as the kernel's file does; mend it first"
        )
    if len(told) > 1 and told[-1].strip().startswith(f"{operator.tensors[0].name} ["):
        told = "\n".join(told[:-1]).rstrip().splitlines()  # that of another project
    return with_head(text, entry, function_head(operator), "\n".join([*told, "", contract(operator)]))


def require_own_tests(project: Project, texts: Mapping[str, str]) -> None:
    """The tests are those that operator.toml makes, and the baseline is the one they were made for."""
    operator = project.operator
    for kind, text in (("accuracy", accuracy_text(operator)), ("performance", performance_text(operator))):
        if code_digest(text) != code_digest(texts[kind]):
            raise ProjectError(
                f"{operator.file_name(kind)} is not the test that {TOML} makes: change shapes, dtypes and the "
                f"target in {TOML}, then run  {update_command(project)}"
            )
    if code_digest(texts["baseline"]) != operator.baseline:
        raise ProjectError(
            f"{operator.file_name('baseline')} was changed, and with it what {operator.name} computes: a change of "
            f"maths moves all four files. Put it back, or accept it with  {update_command(project)}"
        )


def describe_change(project: Project, texts: Mapping[str, str]) -> str:
    """What moved since the last check that passed."""
    if not project.passed:
        return "no check has passed yet"
    moved = moved_kinds(project, texts)
    names = ", ".join(project.operator.file_name(kind) for kind in moved)
    if not moved:
        return "nothing changed since the last check that passed"
    kind = "the kernel alone" if moved == ["triton"] else "interface or maths"
    return f"{kind}: {names} changed since the last check that passed"


def _of_operator(operator: Operator) -> InterfaceSeen:
    stub = ast.parse(f"def {operator.signature}: ...").body[0]
    assert isinstance(stub, ast.FunctionDef)
    return InterfaceSeen(*_signature(stub), contract(operator), ", ".join(operator.dtypes))


def _of_file(operator: Operator, kind: str, text: str, name: str) -> InterfaceSeen:
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise ProjectError(f"{name}, line {error.lineno}: {error.msg}; Python cannot read it") from None
    constants = constants_of(tree)
    dtypes = constants.get("DTYPES")
    names = ", ".join(ast.unparse(one).removeprefix("torch.") for one in getattr(dtypes, "elts", []))
    if kind in _FUNCTIONS:
        found = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == operator.name]
        if not found:
            raise ProjectError(f"{name}: there is no function {operator.name}, the operator's entry; add it")
        _require_plain(tree, found[-1], name)
        require_free_names(tree, f"{name}, ")
        lines = [line.strip() for line in (ast.get_docstring(found[-1]) or "").splitlines()]
        return InterfaceSeen(*_signature(found[-1]), lines[-1] if len(lines) > 1 else "", names)
    told = [_text(constants.get(one)) for one in ("INTERFACE", "TENSORS")]
    try:
        stub = ast.parse(f"def {told[0]}: ...").body[0]
    except SyntaxError:
        stub = ast.Pass()
    if not isinstance(stub, ast.FunctionDef) or stub.name != operator.name:
        raise ProjectError(f"{name}: INTERFACE does not tell the signature of {operator.name}; put it back")
    return InterfaceSeen(*_signature(stub), told[1], names)


def _require_plain(tree: ast.Module, entry: ast.FunctionDef, file: str) -> None:
    """What `def` says is what runs: nothing wraps the entry, takes its place or hides parameters."""
    given = entry.args
    if entry.decorator_list:
        raise ProjectError(f"{file}, line {entry.lineno}: {entry.name} is decorated; remove the decorator")
    if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs:
        raise ProjectError(
            f"{file}, line {entry.lineno}: {entry.name} may have plain parameters only; remove *, ** and /"
        )
    for one in bound_names(tree):
        if one.name == entry.name and (one.line > entry.lineno or one.is_global):
            raise ProjectError(
                f"{file}, line {one.line}: {entry.name} is defined a second time; let its function come last"
            )


def _signature(function: ast.FunctionDef) -> tuple[tuple[tuple[str, str, str], ...], str]:
    given = [*function.args.posonlyargs, *function.args.args]
    defaults: list[ast.expr | None] = [None] * (len(given) - len(function.args.defaults))
    defaults += function.args.defaults
    pairs = [*zip(given, defaults, strict=True)]
    pairs += zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    parameters = tuple((one.arg, _unparsed(one.annotation), _unparsed(default)) for one, default in pairs)
    return parameters, _unparsed(function.returns)


def _newest(seen: Mapping[str, InterfaceSeen], moved: set[str]) -> InterfaceSeen:
    """Files that moved since all agreed lead, if they agree; else most of them are right, and operator.toml where
    there are as many on both sides."""
    counts = Counter(_key(one) for one in seen.values())
    leading = {_key(seen[name]) for name in moved}
    others = {_key(one) for name, one in seen.items() if name not in moved}
    if len(leading) == 1 and len(moved) > 1 and len(others) == 1:
        return next(seen[name] for name in moved)
    best = max(counts.values())
    return next(one for one in seen.values() if counts[_key(one)] == best)


def _key(one: InterfaceSeen) -> tuple[object, ...]:
    return one.parameters, one.returns, one.tensors


def _differs(one: InterfaceSeen, wanted: InterfaceSeen) -> bool:
    return _key(one) != _key(wanted) or bool(one.dtypes and one.dtypes != wanted.tensors.rpartition("; ")[2])


def _difference(name: str, one: InterfaceSeen, wanted: InterfaceSeen, agreeing: Sequence[str]) -> str:
    """The first thing to change, and who has it already."""
    others = f"{', '.join(agreeing[:-1])} and {agreeing[-1]}" if len(agreeing) > 1 else "".join(agreeing)
    have = "have" if len(agreeing) > 1 else "has"
    own, theirs = [{p[0]: p[1:] for p in each.parameters} for each in (one, wanted)]
    shown = one.describe(name)
    for missing in [parameter for parameter in theirs if parameter not in own]:
        return f"{shown} has no parameter '{missing}': {others} {have} it"
    for extra in [parameter for parameter in own if parameter not in theirs]:
        return f"{shown} has a parameter '{extra}' that {others} {have} not"
    if list(own) != list(theirs):
        return f"{shown} has its parameters in another order than {wanted.describe(name)} in {others}"
    for parameter, (annotation, default) in theirs.items():
        if own[parameter][1] != default:
            found, wants = own[parameter][1] or "none", default or "none"
            return f"the default of '{parameter}' is {found}; in {others} it is {wants}"
        if own[parameter][0] != annotation:
            found, wants = own[parameter][0] or "missing", annotation or "missing"
            return f"the annotation of '{parameter}' is {found}; in {others} it is {wants}"
    if one.returns != wanted.returns:
        return f"{shown} returns {one.returns or 'nothing that is annotated'}; in {others} it is {wanted.returns}"
    if one.tensors != wanted.tensors:
        return f'shapes and dtypes are "{one.tensors}"; in {others} they are "{wanted.tensors}"'
    return f"DTYPES are {one.dtypes}; in {others} they are {wanted.tensors.rpartition('; ')[2]}"


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _unparsed(node: ast.expr | None) -> str:
    return ast.unparse(node) if node is not None else ""
