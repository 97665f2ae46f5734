"""Requests to the probe and sanitizer children, and what the fork server and supervisors are told and tell."""

from __future__ import annotations

from dataclasses import dataclass

from tilesmith.process.protocol.candidate import LoadKernel
from tilesmith.process.protocol.codec import Request
from tilesmith.process.protocol.reference import Environment
from tilesmith.process.protocol.tensors import TensorFile
from tilesmith.process.sandbox.limits import Limits


@dataclass(frozen=True)
class MachineDescription:
    environment: Environment
    gpu: bool
    works: bool
    """A first sum on the GPU came out right."""


@dataclass(frozen=True)
class DescribeMachine(Request[MachineDescription]):
    """What torch, triton and the GPU can do here."""


@dataclass(frozen=True)
class MissingInternal:
    name: str
    use: str
    """What does not work without it."""


@dataclass(frozen=True)
class LibraryInternals:
    """The private names of torch or triton that we rely on, as far as they were looked for and found."""

    library: str
    version: str
    found: int
    missing: tuple[MissingInternal, ...]


@dataclass(frozen=True)
class InternalNames:
    libraries: tuple[LibraryInternals, ...]


@dataclass(frozen=True)
class CheckInternals(Request[InternalNames]):
    """Whether this torch and this triton have every private name that we rely on."""


@dataclass(frozen=True)
class CompileTargets:
    targets: tuple[str, ...]


@dataclass(frozen=True)
class ListTargets(Request[CompileTargets]):
    """The GPUs that kernels can be compiled for."""


@dataclass(frozen=True)
class CacheWarmed:
    built: bool


@dataclass(frozen=True)
class WarmCache(Request[CacheWarmed]):
    """Make Triton build its driver stub into the child's cache."""


@dataclass(frozen=True)
class SanitizerReport:
    errors: int | None
    """How many faults the tool saw; null if it could not run."""
    report: str


@dataclass(frozen=True)
class SanitizeKernel(Request[SanitizerReport]):
    """Run a kernel once under one of compute-sanitizer's tools."""

    tool: str
    load: LoadKernel
    construction: str
    inputs: TensorFile
    limit_s: float


@dataclass(frozen=True)
class SpawnChild:
    """What the fork server is asked for, beside the child's two sockets."""

    role: str
    limits: Limits
    folder: str
    environment: dict[str, str]
    readable: tuple[str, ...]
    listable: tuple[str, ...]
    writable: tuple[str, ...]


@dataclass(frozen=True)
class ChildStarted:
    """A supervisor's first word: which walls of the sandbox stand around its child."""

    walls: tuple[str, ...]


@dataclass(frozen=True)
class ChildEnded:
    """A supervisor's last word."""

    ending: str
    """exit:N, signal:N, killed, memory, processes or disk."""
    log: str
    """The tail of what the child printed."""
