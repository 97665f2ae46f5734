"""What the files of a download say of an operator, and a user where they do not."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tilesmith.errors import ProjectError, UsageError
from tilesmith.operators.exchange.parametrized_test import (
    ParametrizedTest,
    SizeOrigin,
    TensorUse,
    Underivable,
    find_test,
    size_names,
)
from tilesmith.operators.records import FLOATS, Number, Operator, OperatorParameter, Sizes
from tilesmith.operators.source_edits import PlainArgument, plain_arguments


@dataclass(frozen=True)
class Hints:
    """What the user says because the files do not."""

    name: str | None = None
    shapes: Mapping[str, tuple[str | int, ...]] = field(default_factory=dict)
    sizes: tuple[Sizes, ...] = ()
    values: Mapping[str, float | int | bool | str] = field(default_factory=dict)


class DownloadReader:
    """Goes through a download and remembers what it had to assume."""

    def __init__(self, paths: Mapping[str, Path], texts: Mapping[str, str], hints: Hints, notes: list[str]) -> None:
        self._paths, self._texts, self._hints, self._notes = paths, texts, hints, notes

    def operator(self, name: str, entry: ast.FunctionDef) -> Operator:
        accuracy, performance = (find_test(self._texts[kind], name) for kind in ("accuracy", "performance"))
        plain = [*map(self._parameter, plain_arguments(entry, f"{self._paths['triton'].name}, "))]
        self._require_known(plain)
        uses = {one.name: self._use(one.name, place, accuracy) for place, one in enumerate(plain) if one.is_tensor}
        used = (size for use in uses.values() for size in (*use.shape, use.below))
        origins = tuple(dict.fromkeys(one for one in used if isinstance(one, SizeOrigin)))
        names = size_names(origins, frozenset(one.name for one in plain))
        parameters = tuple(
            _with_use(one, uses[one.name], names, self._hints.shapes.get(one.name))
            if one.is_tensor
            else self._with_value(one, place, accuracy)
            for place, one in enumerate(plain)
        )
        dtypes = accuracy.dtypes() if accuracy else ()
        if not dtypes:
            self._notes.append(f"dtypes: none in {self._paths['accuracy'].name}; taken as {', '.join(FLOATS)}")
        tested = self._cases(accuracy, names, "accuracy")
        return Operator(
            name=name,
            parameters=parameters,
            summary=(ast.get_docstring(entry) or "").split("\n")[0].strip().rstrip("."),
            returns=ast.unparse(entry.returns) if entry.returns else "torch.Tensor",
            dtypes=dtypes or FLOATS,
            arithmetic=self._arithmetic(accuracy),
            accuracy=tested,
            performance=self._cases(performance, names, "performance") or tested,
        )

    def _require_known(self, parameters: list[OperatorParameter]) -> None:
        """What the user says is of a tensor, or of a scalar, that the operator has."""
        tensors, scalars = ([one for one in parameters if one.is_tensor is tensor] for tensor in (True, False))
        for option, said, known in (("shape", self._hints.shapes, tensors), ("value", self._hints.values, scalars)):
            names = [one.name for one in known]
            for name in (name for name in said if name not in names):
                raise UsageError(f"--{option} {name}: there is no such parameter, but {', '.join(names) or 'none'}")
        for one in scalars:
            if one.annotation in ("float", "int", "bool") and isinstance(self._hints.values.get(one.name), str):
                raise UsageError(
                    f"--value {one.name}={self._hints.values[one.name]}: {one.name} is {one.annotation}"
                )

    def _arithmetic(self, test: ParametrizedTest | None) -> str:
        """By what the test allows: nothing, a rounding, or 1e-4 for each element of a sum."""
        calls = [node for node in ast.walk(test.function) if isinstance(node, ast.Call)] if test else []
        given = {word.arg: ast.unparse(word.value) for call in calls for word in call.keywords}
        if given.get("atol") == "0" or any(ast.unparse(call.func).endswith("assert_equal") for call in calls):
            return "exact"
        if given.get("reduce_dim", "1") == "1":
            return "rounding"
        self._notes.append("arithmetic is reduction, as reduce_dim says; make it product for a matrix product")
        return "reduction"

    def _parameter(self, one: PlainArgument) -> OperatorParameter:
        annotation, file = ast.unparse(one.annotation) if one.annotation else "", self._paths["triton"].name
        if "Tensor" in annotation or (not annotation and one.default is None):
            if one.default is not None:
                raise ProjectError(
                    f"{file}: the tensor {one.name} has a default, which a project cannot say; make it a parameter "
                    "without one"
                )
            return OperatorParameter(one.name, annotation or "torch.Tensor")
        if one.default is None:
            return OperatorParameter(one.name, annotation, "scalar")
        try:
            value = ast.literal_eval(one.default)
        except ValueError:
            value = None
        if not isinstance(value, float | int | bool | str):
            raise ProjectError(
                f"{file}: {one.name} has the default {ast.unparse(one.default)}, which is no number or word; "
                "write one"
            )
        return OperatorParameter(one.name, annotation or type(value).__name__, "scalar", default=value)

    def _use(self, name: str, place: int, test: ParametrizedTest | None) -> TensorUse:
        try:
            found = None if test is None else test.tensor(_argument(test, name, place))
        except (Underivable, RecursionError):
            found = None
        if name in self._hints.shapes:
            return replace(found, shape=()) if found else TensorUse((), None, None)
        if found is None:
            raise ProjectError(
                f"{self._paths['accuracy'].name} does not say the shape of {name}: add  --shape {name}=M,N  "
                "(names are sizes, ... any leading ones)"
            )
        return found

    def _with_value(
        self, parameter: OperatorParameter, place: int, test: ParametrizedTest | None
    ) -> OperatorParameter:
        value: Number | tuple[Number, ...] | None = self._hints.values.get(parameter.name)
        if value is None and test is not None:
            try:
                value = test.scalar(_argument(test, parameter.name, place))
            except (Underivable, RecursionError):
                value = None
        if value is None and parameter.default is None:
            raise ProjectError(
                f"{self._paths['accuracy'].name} does not say which {parameter.name} to test with: add  "
                f"--value {parameter.name}=0.5"
            )
        return replace(parameter, value=None if value == parameter.default else value)

    def _cases(
        self, test: ParametrizedTest | None, names: Mapping[SizeOrigin, str], kind: str
    ) -> tuple[Sizes, ...]:
        """The sizes that a test of the download runs with."""
        if self._hints.sizes:
            return self._hints.sizes
        said = [size for shape in self._hints.shapes.values() for size in shape if isinstance(size, str)]
        known = set(said) <= set(names.values())
        cases = test.cases(tuple(names)) if test is not None and known else ()
        if not cases and kind == "accuracy":
            example = ",".join(f"{name}=64" for name in dict.fromkeys([*names.values(), *said]))
            raise ProjectError(f"{self._paths[kind].name} does not say its sizes: add  --sizes {example}")
        if not cases:
            self._notes.append(f"{self._paths[kind].name} does not say its sizes: those of accuracy are taken")
        return tuple({names[one]: value for one, value in case.items()} for case in cases)


def _argument(test: ParametrizedTest, name: str, place: int) -> ast.expr:
    """What a test's call passes for a parameter."""
    for keyword in test.call.keywords:
        if keyword.arg == name:
            return keyword.value
    if place < len(test.call.args):
        return test.call.args[place]
    raise Underivable


def _with_use(
    one: OperatorParameter, use: TensorUse, names: Mapping[SizeOrigin, str], hint: tuple[str | int, ...] | None
) -> OperatorParameter:
    *shape, below = (names[size] if isinstance(size, SizeOrigin) else size for size in (*use.shape, use.below))
    return replace(one, shape=hint or tuple(one for one in shape if one is not None), dtype=use.dtype, below=below)
