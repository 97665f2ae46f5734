"""What a kernel was judged for, as data: one call of one module. Pure: no torch here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilesmith.records import OutputErrors, Speedup

CARD_VERSION = 1
NESTS = {"tuple": tuple, "list": list, "dict": dict}


@dataclass(frozen=True)
class ArgumentSpec:
    """One value among the arguments of `forward`, or a nest of values, which comes before what is in it."""

    path: tuple[Any, ...]
    """The name of the parameter of `forward`, then keys and positions inside."""
    kind: str
    """tensor, value (None, a boolean, a number or a string), tuple, list or dict."""
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    stride: tuple[int, ...] | None = None
    """Null for a contiguous tensor."""
    free: tuple[int, ...] = ()
    """Dimensions whose size does not matter, because the kernel was judged at others too."""
    value: Any = None
    """Of a value, the value itself; of a nest, its length, or its keys if it is a dict."""

    @property
    def expression(self) -> str:
        """As `forward` finds it: `x`, `pair[0]`."""
        return f"{self.path[0]}" + "".join(f"[{step!r}]" for step in self.path[1:])


@dataclass(frozen=True)
class TensorSpec:
    """A parameter or buffer of the module."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    is_buffer: bool = False


@dataclass(frozen=True)
class CallSpec:
    """A call of a module: what a guard tests, and how calls are grouped."""

    module_class: str
    """`package.module.Class`"""
    arguments: tuple[ArgumentSpec, ...]
    tensors: tuple[TensorSpec, ...]
    settings: dict[str, Any]
    """Plain attributes of the module and of what is inside it, by dotted name: `norm.eps`."""
    inner: dict[str, str]
    """The modules inside it: their classes by dotted name."""
    device: str
    """cuda or cpu: where the tensors lie."""
    training: bool | None = None
    """The mode it was called in; null where that makes no difference."""

    @property
    def inputs(self) -> tuple[ArgumentSpec, ...]:
        return tuple(one for one in self.arguments if one.kind == "tensor")

    def describe(self) -> str:
        shapes = ", ".join(f"{one.expression} {list(one.shape or ())} {one.dtype}" for one in self.inputs)
        return f"{self.module_class.rpartition('.')[2]}({shapes})"


@dataclass(frozen=True)
class KernelCard:
    """All that is kept of a judged kernel beside its file: kernel.json."""

    spec: CallSpec
    names: tuple[str, ...]
    """The modules it was made for, by qualified name."""
    sha256: str
    """Of the kernel's file."""
    verdict: str
    reason: str
    prefix: str = ""
    """Where ModelNew keeps the tensors of the module: empty for itself."""
    flat: bool = False
    """Whether ModelNew takes the tensors among the arguments one by one, rather than the arguments as they are."""
    gpu: str | None = None
    """As the driver calls it; null for a kernel that was judged by the interpreter."""
    versions: dict[str, str] = field(default_factory=dict)
    precision: str = "default"
    speedup: Speedup | None = None
    errors: OutputErrors | None = None
    generality: str | None = None
    format_version: int = CARD_VERSION
