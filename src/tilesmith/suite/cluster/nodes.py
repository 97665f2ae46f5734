"""The nodes of a cluster, by what Ray knows of them and by what is installed there."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import tilesmith

_KIND = "accelerator_type:"
"""How Ray names a node's kind of GPU among its resources."""


@dataclass(frozen=True)
class ClusterNode:
    """A machine of the cluster, by what Ray knows of it."""

    id: str
    name: str
    gpus: int
    cores: int
    kind: str
    """Of its GPUs, as Ray has it; empty where it does not know."""

    @property
    def title(self) -> str:
        return f"node {self.name}" + (f" ({self.kind})" if self.kind else "")


def installed_software() -> str:
    """The version of tilesmith and a digest of its sources: equal where it behaves alike."""
    root = Path(tilesmith.__file__).parent
    files = sorted(root.rglob("*.py"))
    digest = hashlib.sha256(b"\0".join(str(one.relative_to(root)).encode() + one.read_bytes() for one in files))
    return f"{tilesmith.__version__} ({digest.hexdigest()[:8]})"


def alive_nodes() -> list[ClusterNode]:
    return [_node(one) for one in ray.nodes() if one["Alive"]]


def _node(told: dict[str, Any]) -> ClusterNode:
    has = told["Resources"]
    kind = next((name.removeprefix(_KIND) for name in has if name.startswith(_KIND)), "")
    return ClusterNode(
        told["NodeID"], told["NodeManagerHostname"], int(has.get("GPU", 0)), int(has.get("CPU", 0)), kind
    )


def ask_software(node: ClusterNode) -> Any:
    """An ObjectRef of what is installed on a node; empty where tilesmith is not."""

    def software() -> str:
        try:
            import tilesmith
        except ImportError:
            return ""
        try:
            from tilesmith.suite.cluster.nodes import installed_software
        except ImportError:
            return str(tilesmith.__version__)
        return installed_software()

    there = NodeAffinitySchedulingStrategy(node.id, soft=False)
    return ray.remote(software).options(num_cpus=0, scheduling_strategy=there).remote()


def last_line(error: Exception) -> str:
    """Of what Ray says, where the name of an exception stands before the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return re.sub(r"^[\w.]+(Error|Exception): ", "", lines[-1]).rstrip(".") if lines else type(error).__name__
