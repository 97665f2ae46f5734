"""The process of the fork servers, as its judge sees it: how it is started, what it knows, how it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

_LEAVING_S = 5.0
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CC", "SYSTEMROOT", "TILESMITH_SHARE_GPU_MEMORY")
_KEPT_PREFIXES = ("CUDA_", "NVIDIA_", "HIP_", "ROCM_", "ROCR_")


class ForkServerProcess:
    """One process, which forks another where two flavors are served: both lie in one group."""

    def __init__(
        self, listeners: Mapping[str, socket.socket], scratch: Path, exchange: Path, gpu: str | None
    ) -> None:
        named = ",".join(f"{flavor}={theirs.fileno()}" for flavor, theirs in listeners.items())
        command = [sys.executable, "-P", "-m", "tilesmith.process.fork_server", named]
        command += [str(folder) for folder in {scratch, exchange}]
        self._clients = len(listeners)
        self._lock = threading.Lock()
        self._errors = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno() for theirs in listeners.values()],
            env=scrubbed_environment(scratch) | ({"CUDA_VISIBLE_DEVICES": gpu} if gpu else {}),
            stdin=subprocess.DEVNULL,
            stdout=self._errors,
            stderr=self._errors,
            start_new_session=True,
        )
        for theirs in listeners.values():
            theirs.close()

    def leave(self, was_ready: bool) -> None:
        """One of its clients has closed its socket; the last one waits for its end. Nobody waits for imports."""
        with self._lock:
            self._clients -= 1
            if not was_ready:
                self._kill()
            if self._clients:
                return
        try:
            self._process.wait(_LEAVING_S)
        except subprocess.TimeoutExpired:
            self._kill()
        self._errors.close()

    def obituary(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        last = lines[-1] if lines else "no message"
        return f"the worker process could not start: {last}; run `tilesmith doctor` to see what is missing"

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _import_path() -> list[str]:
    """Where this package lies and what the user added, in full: children change their folder."""
    package_root = str(Path(__file__).resolve().parents[2])
    added = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    return [package_root, *(os.path.abspath(entry) for entry in added)]


def scrubbed_environment(scratch: Path) -> dict[str, str]:
    """Only what torch, triton and the GPU need: no keys, no tokens, no proxies."""
    kept = {k: v for k, v in os.environ.items() if k in _KEPT_VARIABLES or k.startswith(_KEPT_PREFIXES)}
    own = {
        "PYTHONPATH": os.pathsep.join(_import_path()),
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    }
    return kept | own
