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
from tilesmith.operators.source_edits import (
    constants_of,
    entry_of,
    functions_of,
    plain_arguments,
    read_syntax,
    with_head,
)
from tilesmith.operators.writing import accuracy_text, contract, function_head, performance_text
from tilesmith.syntax import parse


@dataclass(frozen=True)
class InterfaceSeen:
    """What a file says of the operator's interface."""

    parameters: tuple[tuple[str, tuple[str, str]], ...]
    """Annotation and default of each, as text, by its name."""
    returns: str
    tensors: str
    """Shapes and dtypes in a line; empty where the file does not tell."""
    dtypes: str = ""
    """What the constant DTYPES holds, where the file has one."""

    def describe(self, name: str) -> str:
        return f"{name}({', '.join(dict(self.parameters))})"

    def differs(self, wanted: InterfaceSeen) -> bool:
        return self.key != wanted.key or self.dtypes not in ("", wanted.tensors.rpartition("; ")[2])

    @property
    def key(self) -> tuple[object, ...]:
        return self.parameters, self.returns, self.tensors


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
    lagging = [name for name in seen if seen[name].differs(wanted)]
    if not lagging:
        return
    agreeing = [name for name in seen if name not in lagging]
    told = [f"{name}: {_difference(operator.name, seen[name], wanted, agreeing)}" for name in lagging]
    leader = names["baseline"]
    if code_digest(texts["baseline"]) == operator.baseline:
        if [*dict(seen[TOML].parameters)] != [*dict(seen[leader].parameters)]:
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
    return not found.differs(_of_operator(operator))


def with_interface(text: str, operator: Operator, path: str, old: Operator | None = None) -> str:
    """A file whose entry tells the operator's whole interface: annotations, defaults, and the tensors in its
    docstring's last line; a summary that was the old operator's is replaced. Raises ProjectError where its
    parameters have other names."""
    entry, wanted = entry_of(text, operator.name, path), _stub(operator.signature)
    own = (ast.get_docstring(entry) or "").splitlines()
    told = own or [operator.summary or operator.name]
    if old is not None and told[0] == f"{old.summary or old.name}.":
        told = [f"{operator.summary or operator.name}.", *told[1:]]
    heads = [(ast.dump(one.args), _unparsed(one.returns)) for one in (entry, wanted)]
    if heads[0] == heads[1] and told == own and len(told) > 1 and told[-1].strip() == contract(operator):
        return text
    names = [one.name for one in operator.parameters]
    if [one.arg for one in entry.args.args] != names:
        raise ProjectError(
            f"{path}: {operator.name} does not take ({', '.join(names)}) as the kernel's file does; mend it first"
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
    return _seen(_stub(operator.signature), TOML, contract(operator), ", ".join(operator.dtypes))


def _stub(signature: str) -> ast.FunctionDef:
    stub = parse(f"def {signature}: ...").body[0]
    assert isinstance(stub, ast.FunctionDef)
    return stub


def _of_file(operator: Operator, kind: str, text: str, file: str) -> InterfaceSeen:
    tree = read_syntax(text, file)
    constants = constants_of(tree)
    found = [ast.unparse(one).removeprefix("torch.") for one in getattr(constants.get("DTYPES"), "elts", [])]
    dtypes = ", ".join(found)
    if kind in ("accuracy", "performance"):  # they name the interface
        signature, tensors = (getattr(constants.get(one), "value", None) for one in ("INTERFACE", "TENSORS"))
        try:
            stub = _stub(str(signature))
        except (SyntaxError, AssertionError):
            stub = None
        if stub is None or stub.name != operator.name:
            raise ProjectError(f"{file}: INTERFACE does not tell the signature of {operator.name}; put it back")
        return _seen(stub, file, tensors if isinstance(tensors, str) else "", dtypes)
    entry = functions_of(tree).get(operator.name)
    if entry is None:
        raise ProjectError(f"{file}: there is no function {operator.name}, the operator's entry; add it")
    if entry.decorator_list:
        raise ProjectError(f"{file}, line {entry.lineno}: {entry.name} is decorated; remove the decorator")
    lines = (ast.get_docstring(entry) or "").splitlines()
    seen = _seen(entry, file, lines[-1].strip() if len(lines) > 1 else "", dtypes)
    for one in bound_names(tree):  # what `def` says is what runs
        if one.name == entry.name and (one.line > entry.lineno or one.is_global):
            raise ProjectError(
                f"{file}, line {one.line}: {entry.name} is defined a second time; let its function come last"
            )
    require_free_names(tree, f"{file}, ")
    return seen


def _seen(function: ast.FunctionDef, file: str, tensors: str, dtypes: str) -> InterfaceSeen:
    arguments = plain_arguments(function, f"{file}, ")
    parameters = tuple((one.name, (_unparsed(one.annotation), _unparsed(one.default))) for one in arguments)
    return InterfaceSeen(parameters, _unparsed(function.returns), tensors, dtypes)


def _newest(seen: Mapping[str, InterfaceSeen], moved: set[str]) -> InterfaceSeen:
    """Files that moved since all agreed lead, if they agree; else most of them are right, and operator.toml where
    there are as many on both sides."""
    leading = [one for name, one in seen.items() if name in moved]
    others = {one.key for name, one in seen.items() if name not in moved}
    if len({one.key for one in leading}) == len(others) == 1 and len(leading) > 1:
        return leading[0]
    counts = Counter(one.key for one in seen.values())
    return max(seen.values(), key=lambda one: counts[one.key])


def _difference(name: str, one: InterfaceSeen, wanted: InterfaceSeen, agreeing: Sequence[str]) -> str:
    """The first thing to change, and who has it already."""
    others = f"{', '.join(agreeing[:-1])} and {agreeing[-1]}" if len(agreeing) > 1 else "".join(agreeing)
    have = "have" if len(agreeing) > 1 else "has"
    own, theirs, shown = dict(one.parameters), dict(wanted.parameters), one.describe(name)
    for missing in [parameter for parameter in theirs if parameter not in own]:
        return f"{shown} has no parameter '{missing}': {others} {have} it"
    for extra in [parameter for parameter in own if parameter not in theirs]:
        return f"{shown} has a parameter '{extra}' that {others} {have} not"
    if list(own) != list(theirs):
        return f"{shown} has its parameters in another order than {wanted.describe(name)} in {others}"
    for parameter, wants in theirs.items():
        for what, place, none in (("default", 1, "none"), ("annotation", 0, "missing")):
            if own[parameter][place] != wants[place]:
                found = own[parameter][place] or none
                return f"the {what} of '{parameter}' is {found}; in {others} it is {wants[place] or none}"
    if one.returns != wanted.returns:
        return f"{shown} returns {one.returns or 'nothing that is annotated'}; in {others} it is {wanted.returns}"
    if one.tensors != wanted.tensors:
        return f'shapes and dtypes are "{one.tensors}"; in {others} they are "{wanted.tensors}"'
    return f"DTYPES are {one.dtypes}; in {others} they are {wanted.tensors.rpartition('; ')[2]}"


def _unparsed(node: ast.expr | None) -> str:
    return ast.unparse(node) if node is not None else ""
