"""What this machine can do, found by trying it: the facts behind `tilesmith doctor`."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from tilesmith.config import CheckConfig
from tilesmith.errors import MachineError
from tilesmith.judge.machine.child_limits import candidate_limits, reference_limits
from tilesmith.judge.machine.devices import gpu_present
from tilesmith.process.fork_server_client import Child, ChildGone, ForkServerClient, start_fork_servers
from tilesmith.process.fork_server_process import scrubbed_environment
from tilesmith.process.protocol.codec import Malformed, RequestFailed, decode
from tilesmith.process.protocol.machine import (
    CheckInternals,
    DescribeMachine,
    InternalNames,
    LibraryInternals,
    ListTargets,
)
from tilesmith.process.protocol.reference import Environment
from tilesmith.process.sandbox import sandbox_level
from tilesmith.process.sandbox.remedies import cures_for

_PACKAGES = ("torch", "triton", "numpy", "greenlet", "ml_dtypes")
_PROBE_S = 60.0


@dataclass(frozen=True)
class Diagnosis:
    """Plain facts; null where the question makes no sense here."""

    python: str
    platform: str
    packages: dict[str, str | None]
    internals: tuple[LibraryInternals, ...]
    """Whether torch and triton have the private names that the worker relies on; empty where nobody could look."""
    gpu: Environment | None
    gpu_problem: str | None
    counters_allowed: bool | None
    compilers: dict[str, str | None]
    targets: tuple[str, ...]
    sandbox: tuple[str, ...]
    sandbox_level: str
    sandbox_missing: dict[str, str]
    """Walls that candidates do not have here, and what would give them one."""
    llm_keys: tuple[str, ...]

    @property
    def can_check(self) -> bool:
        return all(self.packages[name] for name in ("torch", "triton"))


def diagnose(llm_keys: tuple[str, ...] = ()) -> Diagnosis:
    """`llm_keys` are the variables that hold a key, which the judge has no business with."""
    packages = {name: _version(name) for name in _PACKAGES}
    probed = (
        _probe()
        if packages["torch"] and packages["triton"]
        else _Probed(None, "torch or triton is missing", (), (), ())
    )
    return Diagnosis(
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        packages=packages,
        internals=probed.internals,
        gpu=probed.gpu,
        gpu_problem=probed.problem,
        counters_allowed=_counters_allowed() if probed.gpu else None,
        compilers={name: shutil.which(name) for name in ("cc", "gcc", "nvcc", "compute-sanitizer", "ncu")},
        targets=probed.targets,
        sandbox=probed.walls,
        sandbox_level=sandbox_level(probed.walls),
        sandbox_missing=cures_for(probed.walls),
        llm_keys=llm_keys,
    )


@dataclass(frozen=True)
class _Probed:
    gpu: Environment | None
    problem: str | None
    targets: tuple[str, ...]
    walls: tuple[str, ...]
    internals: tuple[LibraryInternals, ...]


def _probe() -> _Probed:
    """Ask a real child, made the same way as the children of a check."""
    with tempfile.TemporaryDirectory(prefix="tilesmith-") as folder:
        fork_server = start_fork_servers(["native"], Path(folder))["native"]
        try:
            walls = _walls_of_a_candidate(fork_server)
            child = fork_server.spawn("probe", reference_limits())
            targets = child.ask(ListTargets(), _PROBE_S).targets
            internals = child.ask(CheckInternals(), _PROBE_S).libraries
            gpu, problem = _asked_gpu(child)
            child.close()
            return _Probed(gpu, problem, targets, walls, internals)
        except (ChildGone, MachineError, Malformed, RequestFailed) as error:
            return _Probed(None, f"the worker process failed: {error}", (), (), _internals_alone(Path(folder)))
        finally:
            fork_server.close()


def _internals_alone(folder: Path) -> tuple[LibraryInternals, ...]:
    """Where no worker can start, perhaps for want of a name: a process that does nothing but look for names."""
    command = [sys.executable, "-P", "-m", "tilesmith.worker.compat.self_check"]
    environment = scrubbed_environment(folder)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=_PROBE_S, check=True)
        return decode(InternalNames, {"libraries": json.loads(done.stdout)}).libraries
    except (OSError, subprocess.SubprocessError, ValueError, Malformed):
        return ()


def _walls_of_a_candidate(fork_server: ForkServerClient) -> tuple[str, ...]:
    child = fork_server.spawn("candidate", candidate_limits(CheckConfig(), "cpu"))
    child.close()
    return child.walls


def _asked_gpu(child: Child) -> tuple[Environment | None, str | None]:
    try:
        known = child.ask(DescribeMachine(), _PROBE_S)
    except RequestFailed as failed:
        return None, (str(failed).strip().splitlines() or ["no message"])[-1]
    if known.gpu:
        return known.environment, None if known.works else "a first sum on the GPU came out wrong"
    if gpu_present():
        return None, "there is a GPU device but torch cannot use it: install a CUDA build of torch"
    return None, None


def _counters_allowed() -> bool | None:
    """Whether ncu may read hardware counters as this user."""
    if os.geteuid() == 0:
        return True
    try:
        text = Path("/proc/driver/nvidia/params").read_text()
    except OSError:
        return None
    return "RmProfilingAdminOnly: 0" in text


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
