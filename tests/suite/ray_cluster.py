"""A Ray cluster of this machine: each node with processes of its own, on loopback, and GPUs that only Ray sees."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # so loopback stays loopback
}
_TESTS = Path(__file__).parents[1]
_MODULES = os.pathsep.join(str(_TESTS / one) for one in ("../src", "suite", "forge", "llm", "runs"))
"""What nodes import: the tilesmith of this checkout, whichever is installed, and modules of tests."""
_HEALTH = {"initial_delay_ms": 500, "period_ms": 500, "failure_threshold": 4}
"""A node counts as lost after two seconds, not after some twenty as Ray has it."""


class FakeCluster:
    """Its first node has neither CPU nor GPU, so that every other one can be killed."""

    def __init__(self) -> None:
        cluster_utils = pytest.importorskip("ray.cluster_utils", reason="the extra tilesmith[ray] is not here")
        quick = {f"health_check_{name}": value for name, value in _HEALTH.items()}
        first = _node(cpus=0, gpus=0, kind=None) | {"_system_config": quick}
        with _import_path(_MODULES):
            self._cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=first)
        self.nodes: list[Any] = []
        self.address = str(self._cluster.address)

    def add(self, gpus: int = 1, kind: str | None = None, import_path: str = _MODULES) -> Any:
        """A node whose Python finds the modules on the import path."""
        with _import_path(import_path):
            self.nodes.append(self._cluster.add_node(wait=True, **_node(1, gpus, kind)))
        return self.nodes[-1]

    @contextlib.contextmanager
    def node(self, gpus: int = 1, kind: str | None = None, import_path: str = _MODULES) -> Iterator[None]:
        added = self.add(gpus, kind, import_path)
        try:
            yield
        finally:
            self.kill(added)

    def kill(self, node: Any) -> None:
        """As if its power had gone: with the judges on it."""
        self.nodes.remove(node)
        for process in node.all_processes["raylet"]:
            _kill_descendants(process.process.pid)
        self._cluster.remove_node(node, allow_graceful=False)

    def close(self) -> None:
        self._cluster.shutdown()


def _kill_descendants(process: int) -> None:
    """Those of its threads that end meanwhile leave their children to the others."""
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for child in thread.read_text().split():
                _kill_descendants(int(child))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(child), signal.SIGKILL)


@contextlib.contextmanager
def _import_path(path: str) -> Iterator[None]:
    """For processes that are started meanwhile."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = path
    try:
        yield
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


def _node(cpus: int, gpus: int, kind: str | None) -> dict[str, Any]:
    return {
        "num_cpus": cpus,
        "num_gpus": gpus,
        "resources": {f"accelerator_type:{kind}": 1} if kind else {},
        "object_store_memory": 80 * 2**20,
        "node_ip_address": "127.0.0.1",
        "include_dashboard": False,
    }
