"""kill -9 of the judge itself: every process it ever started disappears with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tilesmith.process.supervisor import descendants

JUDGE = """\
import sys
from pathlib import Path
from tilesmith.config import CheckConfig
from tilesmith.judge import Judge
with Judge(CheckConfig(device="cpu")) as judge:
    judge.check(Path(sys.argv[1]), Path(sys.argv[2]))
"""
FORK_SERVER = """\
import os, sys
from pathlib import Path
from tilesmith.process.fork_server_client import ChildGone, start_fork_servers
from tilesmith.process import sandbox
from tilesmith.process.sandbox import libc, namespaces
from tilesmith.process.protocol.candidate import LoadKernel
assert libc.unshare(namespaces.CLONE_NEWUSER)
namespaces.map_user(0, 0)
for kind in ("user", "pid", "net", "ipc", "mnt"):
    Path(f"/proc/sys/user/max_{kind}_namespaces").write_text("0")
limits = sandbox.Limits(None, 2**31, 60, 2**26, 64)
scratch = Path(sys.argv[3]) / "scratch"
scratch.mkdir()
fork_server = start_fork_servers(["native"], scratch)["native"]
child = fork_server.spawn("candidate", limits)
assert not {"processes", "ipc"} & set(child.walls)
text = Path(sys.argv[2]).read_text()
try:
    child.ask(LoadKernel("k.py", text, "cpu", "sm_90", "ieee"), 60)
except ChildGone as gone:
    sys.exit(f"{gone.how}: {gone.log}")
"""
NICE = 3
HANG = f"""\
import os
import torch.nn as nn
class ModelNew(nn.Module):
    pass
os.nice({NICE})
while True:
    pass
"""
"""It may write nothing, so that it has started shows in how nice it is."""


def identity(pid: int) -> tuple[int, str] | None:
    """A process number and when it started, which together never come again."""
    with contextlib.suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        if fields[0] != "Z":
            return pid, fields[19]
    return None


def niceness(pid: int) -> int:
    with contextlib.suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[16])
    return 0


def has_started(judge: int) -> bool:
    return niceness(judge) + NICE in map(niceness, descendants(judge))


def wait_for(condition, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(condition())


@pytest.mark.parametrize("script", [JUDGE, FORK_SERVER], ids=["judge", "fork_server without walls"])
def test_nothing_survives(tmp_path: Path, fixtures: Path, script: str) -> None:
    kernel = tmp_path / "hangs.py"
    kernel.write_text(HANG)
    command = [sys.executable, "-c", script, str(fixtures / "tasks/relu.py"), str(kernel), str(tmp_path)]
    judge = subprocess.Popen(command, env=os.environ | {"TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: has_started(judge.pid) or judge.poll() is not None, 60)
        if not has_started(judge.pid):
            judge.kill()
            said = judge.stderr.read() if judge.stderr else ""
            assert "_namespaces" in said or "unshare" in said, said
            pytest.skip("cannot take namespaces away from a process here")
        family = [found for pid in descendants(judge.pid) if (found := identity(pid))]
        assert len(family) >= 3
    finally:
        judge.send_signal(signal.SIGKILL)
        judge.communicate()
    survivors = lambda: [one for one in family if identity(one[0]) == one]  # noqa: E731
    gone = wait_for(lambda: not survivors(), 5)
    left = survivors()
    for pid, _ in left:
        os.kill(pid, signal.SIGKILL)
    assert gone, f"{len(left)} of {len(family)} processes survived"
    assert wait_for(lambda: not list(tmp_path.glob("tilesmith-*")), 3), "its temporary folder is still there"
