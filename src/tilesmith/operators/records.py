"""The nouns of an operator project: what operator.toml says."""

from __future__ import annotations

import keyword
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tilesmith.errors import ProjectError
from tilesmith.syntax import parse_expression

LEADING = "..."
"""In a shape, and among sizes: any leading sizes, none included."""
FLOATS = ("float32", "float16", "bfloat16")
DTYPES = (*FLOATS, "float64", "int8", "int16", "int32", "int64", "uint8", "bool")
ARITHMETIC = ("exact", "rounding", "reduction", "product")
"""Where errors come from: nowhere; the rounding of the result; a sum over a row; a matrix product. It decides which
dtypes share a kernel and what exported tests allow; what the judge allows it finds by itself."""
KINDS = ("triton", "baseline", "accuracy", "performance")
"""The four files of a project, in the order in which they are read."""
_IMPORTED = {"torch", "triton", "tl", "pytest", "os", "DTYPES", "CHOICES", "INTERPRETED"}
_NO_PARAMETER = {*_IMPORTED, "dtype", "leading", "kernel", "baseline", "self", "drawn", "DEVICE"}
_CALLED = {"min", "max", "tuple", "isinstance", "slice", "list", "range", "getattr", "int"}
_NO_OPERATOR = {*_IMPORTED, *_CALLED, "math", "F"}
"""Names that some file uses for something else."""

Number = float | int | bool | str
"""A value of a scalar parameter: numbers, and words such as `reduction="mean"`."""
Sizes = Mapping[str, int | tuple[int, ...]]
"""One shape class: a number for each name, and the leading sizes for `...`."""


@dataclass(frozen=True)
class OperatorParameter:
    """One parameter of an operator, as all four files have it."""

    name: str
    annotation: str = "torch.Tensor"
    kind: str = "tensor"
    """tensor or scalar."""
    shape: tuple[str | int, ...] = ()
    """Of a tensor: a name is a size, a number is itself, `...` in front is any leading sizes."""
    dtype: str | None = None
    """Of a tensor that does not follow the operator's dtypes."""
    below: str | int | None = None
    """Of a tensor of integers that are indices: its values are from 0 to this size, excluded."""
    default: Number | None = None
    value: Number | tuple[Number, ...] | None = None
    """What the tests pass for a scalar, where that is not the default; of several, the first is usual."""
    fixed: bool = False
    """Of a float: the kernel is written for its usual value alone."""

    @property
    def is_tensor(self) -> bool:
        return self.kind == "tensor"

    @property
    def values(self) -> tuple[Number, ...]:
        """All that is said of what a scalar is tested with, the usual value first."""
        said = self.default if self.value is None else self.value
        several = said if isinstance(said, tuple) else () if said is None else (said,)
        return tuple(float(one) if self.annotation == "float" and type(one) is int else one for one in several)

    @property
    def size_names(self) -> tuple[str, ...]:
        return tuple(size for size in (*self.shape, self.below) if isinstance(size, str))

    def __str__(self) -> str:
        default = "" if self.default is None else f" = {self.default!r}"
        return f"{self.name}: {self.annotation}{default}"


@dataclass(frozen=True)
class Operator:
    """The interface of an operator and how it is tested."""

    name: str
    parameters: tuple[OperatorParameter, ...]
    summary: str = ""
    returns: str = "torch.Tensor"
    dtypes: tuple[str, ...] = FLOATS
    arithmetic: str = "rounding"
    target: float = 1.0
    """The speedup over PyTorch, as the geometric mean over the shapes for performance, that is wanted."""
    history: str = "history.md"
    accuracy: tuple[Sizes, ...] = ()
    performance: tuple[Sizes, ...] = ()
    baseline: str = ""
    """The digest of the baseline that the other three files were written for."""

    def __post_init__(self) -> None:
        _require(is_name(self.name), f"'{self.name}' is no name for a Python function")
        is_free = self.name not in _NO_OPERATOR
        _require(is_free, f"'{self.name}' cannot be the name of an operator: the files use it; choose another")
        names = [one.name for one in self.parameters]
        _require(self.name not in names, f"'{self.name}' cannot be an operator and its parameter; rename one")
        _require(len(set(names)) == len(names), f"two parameters have one name: {', '.join(names)}")
        both = [
            one
            for one in (*names, *self.size_names)
            if one in _NO_PARAMETER or (names.count(one) and one in self.size_names)
        ]
        _require(not both, f"'{''.join(both[:1])}' cannot be the name of a parameter or a size: the files use it")
        _require(any(one.is_tensor for one in self.parameters), "no parameter is a tensor")
        bare = [one.default is None for one in self.parameters]
        _require(bare == sorted(bare, reverse=True), "parameters with a default stand last")
        known = ", ".join(ARITHMETIC)
        _require(self.arithmetic in ARITHMETIC, f"arithmetic '{self.arithmetic}' is none of {known}")
        _require(bool(self.dtypes), "dtypes is empty")
        _require(self.target > 0, "target must be greater than zero")
        is_own = Path(self.history).name == self.history and self.history.endswith(".md")
        _require(is_own, "history is the name of a file in the project's folder, and ends in .md")
        _require(len(set(self.dtypes)) == len(self.dtypes), "a dtype is named twice")
        for dtype in (*self.dtypes, *(one.dtype for one in self.parameters if one.dtype)):
            _require(dtype in DTYPES, f"dtype '{dtype}' is none of {', '.join(DTYPES)}")
        _require(_is_expression(self.returns), f"returns '{self.returns}' is no annotation")
        for one in self.parameters:
            _check_parameter(one)
        for sizes in (*self.accuracy, *self.performance):
            missing = [name for name in self.size_names if name not in sizes]
            _require(not missing, f"shapes: {dict(sizes)} has no {', '.join(missing)}")
            unknown = [name for name in sizes if name not in self.size_names]
            _require(not unknown, f"shapes: no tensor has the size {', '.join(unknown)} of {dict(sizes)}")
            for name, size in sizes.items():
                several = size if name == LEADING and isinstance(size, tuple) else (size,)
                is_whole = all(type(one) is int and one >= 0 for one in several)
                _require(is_whole, f"shapes: {name} of {dict(sizes)} is no size: write a whole number, 0 or more")

    @property
    def tensors(self) -> tuple[OperatorParameter, ...]:
        return tuple(one for one in self.parameters if one.is_tensor)

    @property
    def scalars(self) -> tuple[OperatorParameter, ...]:
        return tuple(one for one in self.parameters if not one.is_tensor)

    @property
    def size_names(self) -> tuple[str, ...]:
        """In the order in which the parameters have them."""
        return tuple(dict.fromkeys(name for one in self.parameters for name in one.size_names))

    @property
    def signature(self) -> str:
        """`bias_add(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor`, as after `def`."""
        return f"{self.name}({', '.join(map(str, self.parameters))}) -> {self.returns}"

    def require_sizes(self) -> None:
        """Raises ProjectError where there is nothing to test on."""
        for name in ("accuracy", "performance"):
            _require(bool(getattr(self, name)), f"shapes: {name} is empty; name at least one")

    def file_name(self, kind: str) -> str:
        return f"{self.name}_{kind}.py"


@dataclass(frozen=True)
class Project:
    """An operator's folder as it was read."""

    folder: Path
    operator: Operator
    passed: Mapping[str, str] = field(default_factory=dict)
    """The digest of each file when a check last passed, by kind, and the device it ran on, if that is known;
    empty before the first."""

    def path(self, kind: str) -> Path:
        return self.folder / self.operator.file_name(kind)


def _check_parameter(one: OperatorParameter) -> None:
    _require(is_name(one.name), f"'{one.name}' is no name for a parameter")
    _require(one.kind in ("tensor", "scalar"), f"{one.name}: kind '{one.kind}' is neither tensor nor scalar")
    _require(_is_expression(one.annotation), f"{one.name}: '{one.annotation}' is no annotation")
    _require(one.is_tensor or not one.shape, f"{one.name}: a scalar has no shape")
    _require(not (one.is_tensor and one.default is not None), f"{one.name}: a tensor has no default")
    _require(one.value != (), f"{one.name}: VALUES names none for it")
    for value in one.values if one.annotation in ("float", "int", "bool", "str") else ():
        is_number = not isinstance(value, float) or math.isfinite(value)
        fits = type(value).__name__ == one.annotation and is_number
        _require(fits, f"{one.name}: {value!r} is no {'number' if not is_number else one.annotation}")
    _require(LEADING not in one.shape[1:], f"{one.name}: '...' stands first in a shape or not at all")
    for size in (*one.shape, *([] if one.below is None else [one.below])):
        is_size = isinstance(size, str) or (type(size) is int and size > 0)
        _require(is_size, f"{one.name}: {size!r} is no size: write a name, or a whole number above 0")
    for size in one.size_names:
        _require(size == LEADING or is_name(size), f"{one.name}: '{size}' is no name for a size")


def is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _is_expression(text: str) -> bool:
    try:
        parse_expression(text)
    except SyntaxError:
        return False
    return True


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ProjectError(otherwise)
