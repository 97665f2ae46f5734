"""What a kernel was judged for, as data: one call of one module. Pure: no torch here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilesmith.records import Interface, OutputErrors, Speedup

CARD_VERSION = 1


@dataclass(frozen=True)
class TensorSpec:
    """A parameter or buffer of the module."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    is_buffer: bool = False
    stride: tuple[int, ...] | None = None
    """Null for a contiguous one."""


@dataclass(frozen=True, kw_only=True)
class CallSpec(Interface):
    """A call of a live module, with all of the module that a kernel may have built in. Equal calls are grouped."""

    module_class: str
    """`package.module.Class`"""
    tensors: tuple[TensorSpec, ...]
    settings: dict[str, Any]
    """Plain attributes of the module and of what is inside it, by dotted name: `norm.eps`."""
    objects: dict[str, str] | None = None
    """Its other attributes, described: functions, lists, configurations. Null where nobody wrote them down."""
    inner: dict[str, str]
    """The modules inside it: their classes by dotted name."""

    def describe(self) -> str:
        shapes = ", ".join(f"{one.expression} {list(one.shape)} {one.dtype}" for one in self.inputs)
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
