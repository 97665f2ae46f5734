"""How an exported test makes its inputs: the same words in every format."""

from __future__ import annotations

from dataclasses import dataclass

from tilesmith.operators.records import LEADING, Operator, OperatorParameter, Sizes
from tilesmith.operators.sizes import usual_value

LEADING_NAME = "leading"


@dataclass(frozen=True)
class SampleInputs:
    """Texts of Python for the templates."""

    names: str
    """Of the sizes, as `parametrize` takes them: `M, N`."""
    accuracy: tuple[str, ...]
    performance: tuple[str, ...]
    """One text for each shape class: `(37, 53)`."""
    statements: tuple[str, ...]
    """One for each tensor: `x = torch.randn(...)`."""
    arguments: str
    """Of a call of the operator."""
    arguments_tuple: str
    dtypes: str
    """`[torch.float32, torch.float16]`."""


def inputs_of(operator: Operator, device: str) -> SampleInputs:
    names = tuple(LEADING_NAME if name == LEADING else name for name in operator.size_names)
    arguments = ", ".join(argument(operator, one) for one in operator.parameters)
    return SampleInputs(
        names=", ".join(names),
        accuracy=tuple(_case(operator, sizes) for sizes in operator.accuracy),
        performance=tuple(_case(operator, sizes) for sizes in operator.performance),
        statements=tuple(f"{one.name} = {_tensor(operator, one, device)}" for one in operator.tensors),
        arguments=arguments,
        arguments_tuple=f"({arguments}{',' if len(operator.parameters) == 1 else ''})",
        dtypes=f"[{', '.join(f'torch.{name}' for name in operator.dtypes)}]",
    )


def argument(operator: Operator, parameter: OperatorParameter) -> str:
    return parameter.name if parameter.is_tensor else repr(usual_value(operator, parameter.name))


def is_upcast(operator: Operator, parameter: OperatorParameter) -> str:
    """Whether a tensor goes to the reference in float64: a text of Python, for it may depend on the dtype."""
    floating = ["float" in name for name in ((parameter.dtype,) if parameter.dtype else operator.dtypes)]
    return str(all(floating)) if len(set(floating)) == 1 else "dtype.is_floating_point"


def _case(operator: Operator, sizes: Sizes) -> str:
    values = [repr(sizes[name]) for name in operator.size_names]
    return values[0] if len(values) == 1 else f"({', '.join(values)})"


def _tensor(operator: Operator, parameter: OperatorParameter, device: str) -> str:
    sizes = [f"*{LEADING_NAME}" if size == LEADING else str(size) for size in parameter.shape]
    shape = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
    dtype = f"torch.{parameter.dtype}" if parameter.dtype else "dtype"
    if parameter.below is not None:
        return f"torch.randint(0, {parameter.below}, {shape}, dtype={dtype}, device={device})"
    upcast = is_upcast(operator, parameter)
    if upcast == "True":
        return f"torch.randn({shape}, dtype={dtype}, device={device})"
    if parameter.dtype:
        return f"torch.randint(0, {2 if parameter.dtype == 'bool' else 100}, {shape}, device={device}).to({dtype})"
    return f"(torch.randn({shape}, device={device}) * 10).to({dtype})"
