"""What one kernel launch is made of, as far as a compiler cares."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tilesmith.worker.compile.jit_functions import source_key


@dataclass(frozen=True)
class RecordedLaunch:
    """One `kernel[grid](...)`: everything needed to compile exactly what it would have run."""

    kernel: str
    fn: Any
    """The JITFunction."""
    grid: tuple[int, int, int]
    signature: dict[str, Any]
    """Parameter name → triton type ("*fp32", "i32", "constexpr"; a tuple for a tuple)."""
    constexprs: dict[tuple[int, ...], Any]
    """Path of the parameter → value; holds integers equal to 1 and None too, as triton does."""
    attrs: dict[tuple[int, ...], Any]
    """Path of the parameter → what triton may assume of it, such as divisibility by 16."""
    options: dict[str, Any]
    """num_warps, num_stages, num_ctas, maxnreg, ... as far as the launch said them."""
    line: int
    """Of the kernel's `def`, in its file."""
    arguments: dict[str, str] | None = field(default=None, compare=False)
    """In words; null for a kernel that was compiled before its launch."""
    autotuned_call: int | None = field(default=None, compare=False)
    """Launches sharing this number are the configs of one autotuned call: triton drops those that do not
    fit the GPU, so only one of them has to compile."""

    def specialization(self) -> Hashable:
        """Equal for launches that share one binary: all but the grid."""
        described = (self.signature, self.constexprs, self.attrs, self.options)
        return (source_key(self.fn), *(repr(_with_source_keys(part)) for part in described))


def _with_source_keys(values: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """Jit functions passed as constexpr are known by source, not by their shared qualified name."""
    pairs = sorted(values.items(), key=lambda pair: str(pair[0]))
    return [(key, source_key(value) if hasattr(value, "cache_key") else value) for key, value in pairs]


def distinct(launches: Iterable[RecordedLaunch]) -> list[RecordedLaunch]:
    """The first launch of each specialization, in order."""
    first: dict[Hashable, RecordedLaunch] = {}
    for launch in launches:
        first.setdefault(launch.specialization(), launch)
    return list(first.values())
