"""`--require-sandbox`: judged behind every wall, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = "import sys; from tilesmith.cli.main import main; sys.argv[0] = 'tilesmith'; main()"
BARE = f"""\
import os
from pathlib import Path
from tilesmith.process.sandbox import libc, namespaces
uid, gid = os.getuid(), os.getgid()
if not (libc.unshare(namespaces.CLONE_NEWUSER) and namespaces.map_user(uid, gid)):
    os._exit(77)
try:
    for kind in ("user", "pid", "net", "ipc", "mnt"):
        Path(f"/proc/sys/user/max_{{kind}}_namespaces").write_text("0")
except OSError:
    os._exit(77)
{COMMAND}
"""
KERNEL = "import torch.nn as nn\nraise SystemExit('candidate code ran')\nclass ModelNew(nn.Module):\n    pass\n"


def check(program: str, fixtures: Path, place: Path, *more: str) -> subprocess.CompletedProcess[str]:
    kernel = place / "kernel.py"
    kernel.write_text(KERNEL)
    command = [sys.executable, "-c", program, "check", str(fixtures / "tasks/relu.py"), str(kernel)]
    done = subprocess.run(
        [*command, "--device", "cpu", *more],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TMPDIR": str(place)},
    )
    if done.returncode == 77:
        pytest.skip("cannot take namespaces away from a process here")
    return done


def test_without_every_wall_nothing_is_judged(fixtures: Path, tmp_path: Path) -> None:
    done = check(BARE, fixtures, tmp_path, "--require-sandbox")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "--require-sandbox" in done.stderr
    assert "processes" in done.stderr
    assert "tilesmith doctor" in done.stderr
    assert "candidate code ran" not in done.stdout + done.stderr


@pytest.mark.slow_suite
def test_unless_asked_it_is_judged_all_the_same(fixtures: Path, tmp_path: Path) -> None:
    done = check(BARE, fixtures, tmp_path, "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    assert '"sandbox_level": "partial"' in done.stdout or '"sandbox_level": "limits only"' in done.stdout
