"""`op new`: from a definition to four files, whose kernel the author writes and the judge has seen."""

from __future__ import annotations

import ast
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tilesmith.errors import NotJudgedHere, ProjectError, TaskError, UsageError
from tilesmith.judge import Judge
from tilesmith.operators.checking import AccuracyResult, judge_accuracy
from tilesmith.operators.definition import Definition, read_definition, with_shapes
from tilesmith.operators.forging import ForgedKernel, Tell, Workshop, forge_kernel
from tilesmith.operators.interface import conforms, with_interface
from tilesmith.operators.judged_task import accuracy_calls, accuracy_task, forged_call, single_task, written_for
from tilesmith.operators.kernels.generality import built_in_floats, for_any_float
from tilesmith.operators.kernels.kernel_file import KernelVariant, triton_text
from tilesmith.operators.project import (
    TOML,
    code_digest,
    missing_file,
    passing,
    read_project,
    read_source,
    rewrite_project,
    set_aside,
)
from tilesmith.operators.records import KINDS, Operator, OperatorParameter, Project, Sizes
from tilesmith.operators.recovering import recover_project, shaped
from tilesmith.operators.sizes import different, is_empty, shape_of, size_text, usual_value
from tilesmith.operators.writing import accuracy_text, baseline_text, contract, performance_text
from tilesmith.runs.atomic_files import write_atomically
from tilesmith.syntax import parse_expression


@dataclass(frozen=True)
class MadeProject:
    """What `op new` wrote."""

    folder: str
    operator: str
    files: tuple[str, ...]
    why: str
    """What became of the kernel."""
    keeps_pytorch: bool
    """No kernel was written, because the author has none."""
    accuracy: AccuracyResult | None
    runs: tuple[str, ...]


def make_project(definition: Definition, folder: Path, workshop: Workshop) -> MadeProject:
    if (folder / TOML).exists():
        raise UsageError(f"{folder} has an operator already; --update writes its files anew, --out makes another")
    name = definition.operator.name
    for path in (folder / definition.operator.file_name(kind) for kind in KINDS):
        if path.exists():
            raise UsageError(f"{path} is there already: move it away, or make {name} elsewhere with --out")
    return _make(definition, folder, workshop, None)


def update_project(name: str, folder: Path, definition: Definition | None, workshop: Workshop) -> MadeProject:
    """The files that lag, written anew from a definition, or from the project's own baseline and operator.toml. The
    kernel is kept where neither signature nor maths changed, and where it is right for what they are now;
    one that is replaced is set aside. An operator.toml that is lost is made of the other files."""
    if (folder / TOML).exists():
        project = read_project(folder)
    else:
        project = recover_project(folder, name)
        workshop.tell(f"{TOML}  is made of the other files: {project.operator.signature}")
    if definition is None:
        definition = _own_definition(project, workshop.tell)
    if definition.operator.name != name:
        raise UsageError(f"{folder} is the operator {definition.operator.name}, not {name}")
    return _make(definition, folder, workshop, project)


def _own_definition(project: Project, tell: Tell) -> Definition:
    """The baseline has the body and, where it was edited, the signature; operator.toml has all else."""
    path, known = project.path("baseline"), project.operator
    if not path.exists():
        raise missing_file(project, "baseline")
    found = read_definition(path, known.name)
    own = {one.name: one for one in known.parameters}
    if code_digest(read_source(path)) == known.baseline:
        if list(own) != [one.name for one in found.operator.parameters]:
            raise ProjectError(f"{TOML} and {path.name} have other parameters: change {path.name}, too")
        return replace(found, operator=replace(known, arithmetic=_arithmetic(known, found)))
    for one in found.operator.parameters:
        if one.name in own and one.default != own[one.name].default:
            tell(f"default {one.name} = {one.default!r}, as in {path.name}; {TOML} had {own[one.name].default!r}")
    parameters = tuple(
        replace(own[one.name], annotation=one.annotation, kind=one.kind, default=one.default)
        if one.name in own and one.kind == own[one.name].kind
        else _added(one, found.contract, tell)
        for one in found.operator.parameters
    )
    changed = replace(found.operator, parameters=parameters, accuracy=(), performance=())
    if set(changed.size_names) <= set(known.size_names):
        operator = replace(  # without what no tensor has any more
            changed,
            accuracy=different({name: one[name] for name in changed.size_names} for one in known.accuracy),
            performance=different({name: one[name] for name in changed.size_names} for one in known.performance),
        )
    else:
        operator = with_shapes(replace(found, operator=changed), {}).operator
    settings = {one: getattr(known, one) for one in ("dtypes", "target", "history")}
    settings |= {"summary": _summary(known, found, tell), "arithmetic": _arithmetic(known, found)}
    return replace(found, operator=replace(operator, **settings))


def _arithmetic(known: Operator, found: Definition) -> str:
    """As the baseline shows it; that it is exact, only an import can know."""
    return known.arithmetic if known.arithmetic == "exact" else found.operator.arithmetic


def _summary(known: Operator, found: Definition, tell: Tell) -> str:
    """Of a baseline that was edited: what its docstring says now, or the expression that it returns now."""
    said = found.operator.summary
    if said != (known.summary or known.name).replace('"""', "'''"):
        return said
    if _is_formula(known.summary) and found.body.startswith("return ") and _is_formula(found.body[7:]):
        return ast.unparse(parse_expression(found.body[7:]))
    if known.summary:
        tell(f'summary "{known.summary}" is kept: change it in {TOML} where it is no longer true')
    return known.summary


def _is_formula(text: str) -> bool:
    try:
        return not isinstance(parse_expression(text), ast.Name | ast.Constant)
    except SyntaxError:
        return False


def _added(one: OperatorParameter, contract: str, tell: Tell) -> OperatorParameter:
    """A parameter that operator.toml does not have."""
    said = shaped(one, contract) if one.is_tensor else one
    if said is None:
        tell(f"shapes  {one.name} is new: taken as [{', '.join(map(str, one.shape))}]; else change {TOML}")
    return said or one


def _make(definition: Definition, folder: Path, workshop: Workshop, old: Project | None) -> MadeProject:
    """`old` is the project that is there."""
    path = old.path("triton") if old else None
    own = read_source(path) if path and path.exists() else None
    with Judge(replace(workshop.check, timing=False), host=workshop.host) as judge:
        definition = replace(definition, operator=_that_run(definition, judge, workshop))
        written: WrittenFile | None = None
        triton, why = None, "the kernel is kept as it was"
        if old is not None and own is not None:
            triton = _in_line(definition, own, old.operator, judge, workshop)
            why = why if triton == own else "the kernel is kept; its entry has the others' interface now"
        if triton is None:
            forging = workshop
            if workshop.author.kind == "playbook":  # its text is judged again in every dtype and shape
                check, settings = replace(workshop.check, timing=False), replace(workshop.settings, confirm=False)
                forging = replace(workshop, check=check, settings=settings)
            with Judge(forging.check, host=judge) as forging_judge:
                written = _write_kernel(definition, forging, forging_judge)
            definition, triton, why = written.definition, written.text, written.why
        texts = {"baseline": baseline_text(definition)}
        operator = replace(definition.operator, baseline=code_digest(texts["baseline"]))
        texts |= {"accuracy": accuracy_text(operator), "performance": performance_text(operator)}
        accuracy, unjudged = None, None
        if triton is not None:
            texts["triton"] = triton
            workshop.progress("check: every dtype and shape")
            try:
                accuracy = judge_accuracy(operator, texts, judge)
            except NotJudgedHere as problem:  # whatever was written is kept
                unjudged = problem
    project = Project(folder, operator)
    if accuracy and accuracy.passed and judge.device == "cpu":  # on a GPU a check measures the speed, too
        project = passing(project, texts, judge.device)
    changed = {kind: text for kind, text in texts.items() if kind != "triton" or text != own}
    folder.mkdir(parents=True, exist_ok=True)
    aside = [set_aside(path)] if path and "triton" in changed and path.exists() else []
    for kind, text in changed.items():
        write_atomically(project.path(kind), text)
    for kept in filter(None, [*aside, rewrite_project(project)]):
        workshop.tell(f"kept    {kept}: what was there before")
    if unjudged is not None:
        raise NotJudgedHere(f"{folder}: written, but its kernel is not judged: {unjudged}")
    files = (*(operator.file_name(kind) for kind in sorted(changed)), TOML)
    keeps, runs = (written.keeps_pytorch, written.runs) if written else (False, ())
    return MadeProject(str(folder), operator.name, files, why, keeps, accuracy, runs)


def _in_line(definition: Definition, own: str, old: Operator, judge: Judge, workshop: Workshop) -> str | None:
    """The kernel that is there, its entry with the operator's head and docstring. None where it takes other
    parameters or dtypes, or does not compute what the definition says now."""
    operator, baseline = definition.operator, baseline_text(definition)
    try:
        own = with_interface(own, operator, operator.file_name("triton"), old)
    except ProjectError:
        return None
    if not conforms(operator, own):
        return None
    if code_digest(baseline) == old.baseline:
        return own
    workshop.progress("check: the kernel that is there")
    texts = {"baseline": baseline, "triton": own}
    return own if judge_accuracy(operator, texts, judge).passed else None


@dataclass(frozen=True)
class WrittenFile:
    """What the author made of a definition."""

    definition: Definition
    """With the dtypes that have a kernel."""
    text: str | None
    why: str
    """What is to be said of it."""
    runs: tuple[str, ...]
    keeps_pytorch: bool = False
    """The author has no kernel at all."""


def _write_kernel(definition: Definition, workshop: Workshop, judge: Judge) -> WrittenFile:
    operator, baseline, runs = _with_fixed(definition.operator, ()), baseline_text(definition), []
    waiting = [*written_for(operator)]
    variants: list[KernelVariant] = []
    reasons: dict[str, str] = {}
    keeping: list[bool] = []
    while waiting:
        dtypes = waiting.pop(0)
        try:
            forged = _forged(operator, baseline, dtypes[0], workshop, judge)
        except TaskError as problem:  # a sum that no half holds, say
            if not waiting and not variants and len(dtypes) == 1:
                raise
            reasons[dtypes[0]] = f"in PyTorch, at {size_text(forged_call(operator, dtypes[0]).sizes)}: {problem}"
            waiting += [(one,) for one in dtypes[1:]]
            continue
        runs.append(str(forged.run))
        if forged.source is None:
            reasons[", ".join(dtypes)] = forged.why
            keeping.append(forged.keeps_pytorch)
        elif names := built_in_floats(operator, forged.source):
            operator = _with_fixed(operator, names)
            waiting, variants, reasons, keeping = [*written_for(operator)], [], {}, []
        else:
            general = for_any_float(operator, forged.source, dtypes[0], baseline) if len(dtypes) > 1 else None
            variants.append(KernelVariant(dtypes if general else dtypes[:1], general or forged.source))
            waiting += [] if general else [(one,) for one in dtypes[1:]]
    if not variants:
        return WrittenFile(definition, None, next(iter(reasons.values())), tuple(runs), all(keeping))
    served = {dtype for one in variants for dtype in one.dtypes}
    for dtypes_without, reason in reasons.items():
        workshop.tell(f"dtypes  {dtypes_without} left out: {reason}")
    operator = replace(operator, dtypes=tuple(one for one in operator.dtypes if one in served))
    built_in = [one.name for one in operator.scalars if one.fixed]
    told = f"a kernel for {', '.join(operator.dtypes)}"
    told += "".join(f"; {name} is built in as {usual_value(operator, name)!r}" for name in built_in)
    left = f"; {', '.join(reasons)} left out, because {next(iter(reasons.values()))}" if reasons else ""
    definition = replace(definition, operator=operator)
    return WrittenFile(definition, triton_text(operator, variants), told + left, tuple(runs))


def _forged(operator: Operator, baseline: str, dtype: str, workshop: Workshop, judge: Judge) -> ForgedKernel:
    with tempfile.TemporaryDirectory(prefix="tilesmith-op-") as folder:
        task = Path(folder) / f"{operator.name}.py"
        task.write_text(single_task(operator, baseline, forged_call(operator, dtype)), encoding="utf-8")
        return forge_kernel(task, workshop, judge)


def _with_fixed(operator: Operator, names: Sequence[str]) -> Operator:
    """Further floats of which the kernel takes one value, the default where there is one; without names, none."""
    parameters = [
        replace(one, fixed=True, value=one.value if one.default is None else None)
        if one.name in names
        else replace(one, fixed=one.fixed and bool(names))
        for one in operator.parameters
    ]
    return replace(operator, parameters=tuple(parameters))


def _that_run(definition: Definition, judge: Judge, workshop: Workshop) -> Operator:
    """The operator with those of its sizes on which the definition runs."""
    operator, baseline = definition.operator, baseline_text(definition)
    problem = _problem(operator, baseline, operator.accuracy, judge)
    if problem is None:
        return operator
    if problem.startswith(("AttributeError", "NameError")):
        raise ProjectError(f"{operator.name} does not run in PyTorch: {problem}")
    problems = {size_text(one): _problem(operator, baseline, (one,), judge) for one in operator.accuracy}
    good = tuple(one for one in operator.accuracy if problems[size_text(one)] is None)
    if all(map(is_empty, good)):
        raise ProjectError(f"{operator.name} does not run in PyTorch: {problem}")
    if all(math.prod(shape_of(one, sizes)) <= 1 for sizes in good for one in operator.tensors):
        raise ProjectError(
            f"{operator.name} runs in PyTorch on single elements only, so its shapes cannot be "
            f"{contract(operator).partition(';')[0]} ({problem}): give others in SHAPES or --shapes"
        )
    for sizes, reason in problems.items():
        if reason is not None:
            workshop.tell(f"shapes  {sizes} left out, because in PyTorch: {reason}")
    return replace(operator, accuracy=good)


def _problem(operator: Operator, baseline: str, accuracy: tuple[Sizes, ...], judge: Judge) -> str | None:
    with tempfile.TemporaryDirectory(prefix="tilesmith-op-") as folder:
        path = Path(folder) / f"{operator.name}.py"
        sized = replace(operator, accuracy=accuracy)
        path.write_text(accuracy_task(sized, baseline, accuracy_calls(sized)), encoding="utf-8")
        try:
            judge.survey(path)
        except TaskError as error:
            return str(error).partition(" failed: ")[2] or str(error)
    return None
