"""What the files of every export have in common: where they came from and what was verified of it, words that need
no import but torch, and how a test makes its inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tilesmith import __version__
from tilesmith.operators.project import code_digest, moved_kinds
from tilesmith.operators.records import LEADING, Operator, OperatorParameter, Project, Sizes
from tilesmith.operators.sizes import usual_value
from tilesmith.operators.writing import render_text, tuple_text

MARK = "# Exported by tilesmith"
_WHERE = {"cpu": "in Triton's interpreter, on no GPU", "cuda": "on a GPU"}


class Verification(NamedTuple):
    """Never more than the project can show: by the digests of the last passing check and of what is exported."""

    holds: bool
    told: str


def verification_of(project: Project, texts: Mapping[str, str]) -> Verification:
    if not project.passed:
        return Verification(False, "Not verified: `tilesmith op check` has not passed for this project.")
    if changed := moved_kinds(project, texts):
        told = f"Not verified: {' and '.join(changed)} changed since `tilesmith op check` last passed."
        return Verification(False, told)
    operator = project.operator
    where = _WHERE.get(project.passed.get("device", ""), "on a device that is not recorded")
    return Verification(
        True,
        f"Verified before the export: by operator.toml, `tilesmith op check` passed {where}, accuracy "
        f"against float64 in {len(operator.accuracy)} shapes and {', '.join(operator.dtypes)}. "
        "Not verified by it: speed, and what the export added.",
    )


def without_header(text: str) -> str:
    """A file that came back, as it was before it was exported."""
    lines = text.splitlines(keepends=True)
    return "".join(lines[2:]) if text.startswith(MARK) else text


@dataclass(frozen=True)
class ExportedProject:
    """A project whose files are written for another home."""

    operator: Operator
    """With annotations that need no import but torch, and a summary that may stand in a docstring."""
    texts: Mapping[str, str]
    header: str
    """Comment lines for the top of every file."""

    @property
    def is_summed(self) -> bool:
        """Whether other homes allow an error for each element of a row."""
        return self.operator.arithmetic in ("reduction", "product") and bool(self.operator.tensors[0].shape)

    def render(self, template: str, device: str, facts: Mapping[str, Any]) -> str:
        operator = self.operator
        shared = {"operator": operator, "header": self.header, "inputs": _sample_inputs(operator, device)}
        shared["several"] = operator.returns.startswith("tuple[")
        return render_text(f"exchange/{template}.j2", **shared, **facts)

    def reference_arguments(self, function: str, given: Mapping[str, str]) -> str:
        """Tensors of floats go to the reference in float64; whether they do may depend on the dtype."""
        return ", ".join(
            f"{function}({one.name}, {_is_upcast(self.operator, one)})" if one.is_tensor else given[one.name]
            for one in self.operator.parameters
        )


def exported_project(project: Project, texts: Mapping[str, str]) -> ExportedProject:
    operator = project.operator
    summary = " ".join((operator.summary or operator.name).split()).rstrip(".")
    header = (
        f"{MARK} {__version__} from the operator project {operator.name} "
        f"(code of its kernel: {code_digest(texts['triton'])[:12]}).\n# {verification_of(project, texts).told}\n"
    )
    parameters = tuple(replace(one, annotation=_qualified(one.annotation)) for one in operator.parameters)
    summary = summary.replace("\\", "\\\\").replace('"""', "'''")
    told: dict[str, Any] = {"summary": summary, "returns": _qualified(operator.returns), "parameters": parameters}
    return ExportedProject(replace(operator, **told), texts, header)


def given_arguments(operator: Operator) -> dict[str, str]:
    """What a test passes for each parameter."""
    usual = {one.name: repr(usual_value(operator, one.name)) for one in operator.scalars}
    return {one.name: usual.get(one.name, one.name) for one in operator.parameters}


def _sample_inputs(operator: Operator, device: str) -> dict[str, Any]:
    """Texts of Python: the same words in every format."""
    names = ["leading" if name == LEADING else name for name in operator.size_names]
    arguments = list(given_arguments(operator).values())
    return {
        "names": ", ".join(names),
        "leading_names": "".join(f"{name}, " for name in names),
        "accuracy": [_case(operator, sizes) for sizes in operator.accuracy],
        "performance": [_case(operator, sizes) for sizes in operator.performance],
        "statements": [f"{one.name} = {_tensor(operator, one, device)}" for one in operator.tensors],
        "arguments": ", ".join(arguments),
        "arguments_tuple": tuple_text(arguments),
        "dtypes": f"[{', '.join(f'torch.{name}' for name in operator.dtypes)}]",
    }


def _is_upcast(operator: Operator, parameter: OperatorParameter) -> str:
    floating = {"float" in name for name in ((parameter.dtype,) if parameter.dtype else operator.dtypes)}
    return "dtype.is_floating_point" if len(floating) > 1 else str(floating.pop())


def _case(operator: Operator, sizes: Sizes) -> str:
    values = [repr(sizes[name]) for name in operator.size_names]
    return values[0] if len(values) == 1 else f"({', '.join(values)})"


def _tensor(operator: Operator, parameter: OperatorParameter, device: str) -> str:
    shape = tuple_text([f"{size}".replace(LEADING, "*leading") for size in parameter.shape])
    dtype = f"torch.{parameter.dtype}" if parameter.dtype else "dtype"
    if parameter.below is not None:
        return f"torch.randint(0, {parameter.below}, {shape}, dtype={dtype}, device={device})"
    if _is_upcast(operator, parameter) == "True":
        return f"torch.randn({shape}, dtype={dtype}, device={device})"
    if parameter.dtype:
        return f"torch.randint(0, {2 if parameter.dtype == 'bool' else 100}, {shape}, device={device}).to({dtype})"
    return f"(torch.randn({shape}, device={device}) * 10).to({dtype})"


def _qualified(annotation: str) -> str:
    return re.sub(r"(?<![\w.])Tensor\b", "torch.Tensor", re.sub(r"(?<!\w)(typing\.)?Tuple\b", "tuple", annotation))
