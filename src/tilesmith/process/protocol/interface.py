"""Requests about the calls of `forward` that a kernel takes beside the task's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilesmith.process.protocol.codec import Request
from tilesmith.records import Interface

ProbeKind = Literal["gradients", "mode", "argument", "dtype", "batch", "broadcast"]


@dataclass(frozen=True)
class ProbeDescription:
    """A changed call by the name of its draw, and what is said of a kernel that does not take it."""

    draw: str
    kind: ProbeKind
    limit: str
    training: bool
    is_random: bool
    """Model's answer is random: a kernel must not answer as if nothing had changed."""


@dataclass(frozen=True)
class Probes:
    probes: tuple[ProbeDescription, ...]


@dataclass(frozen=True)
class ListProbes(Request[Probes]):
    """The calls beside the task's own that Model takes at this shape."""

    variant: str


@dataclass(frozen=True)
class VerifiedInterface:
    interface: Interface | None


@dataclass(frozen=True)
class DescribeInterface(Request[VerifiedInterface]):
    """The call that was verified: free sizes are those that differ at the shape `other`, where one is given."""

    other: str | None
