"""A stage for the sandbox's tests: a supervisor, a walled-in child that runs a text, and what was heard of it.

python sandboxed_script.py '{"text": ..., "folder": ..., "outbox": ..., "bare": false, ...}'
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

from tilesmith.process import sandbox
from tilesmith.process.channel import Channel, ChannelClosed, ChannelTimeout
from tilesmith.process.sandbox import libc, namespaces
from tilesmith.process.supervisor import supervise

LIMITS = {"address_bytes": None, "resident_bytes": 2**31, "cpu_s": 120, "file_bytes": 2**24, "processes": 32}


class Heard(NamedTuple):
    walls: tuple[str, ...]
    ending: str
    log: str
    said: Any


def take_namespaces_away() -> None:
    """For this process and all below it, as on systems that forbid them."""
    uid, gid = os.getuid(), os.getgid()
    assert libc.unshare(namespaces.CLONE_NEWUSER)
    assert namespaces.map_user(uid, gid)
    for kind in ("user", "pid", "net", "ipc", "mnt"):
        Path(f"/proc/sys/user/max_{kind}_namespaces").write_text("0")


def perform(text: str, place: Path, bare: bool = False, role: str = "", **changed: Any) -> Heard:
    """Run the text inside the walls, in a folder of its own; `said.json` there is what it has to say."""
    folder, outbox = place / "own", place / "outbox"
    for one in (folder, outbox):
        one.mkdir(exist_ok=True)
    scene = {"text": textwrap.dedent(text), "folder": str(folder), "outbox": str(outbox), "bare": bare}
    scene |= {"limits": LIMITS | changed, "tracing": role == "sanitizer"}
    command = [sys.executable, str(Path(__file__)), json.dumps(scene)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=place)
    assert done.returncode == 0, done.stderr
    heard = json.loads(done.stdout)
    said = folder / "said.json"
    told = json.loads(said.read_text()) if said.exists() else None
    return Heard(tuple(heard["walls"]), heard["ending"], heard["log"], told)


def _main() -> None:
    scene = json.loads(sys.argv[1])
    if scene["bare"]:
        take_namespaces_away()
    control, far_control = socket.socketpair()
    private, far_private = socket.socketpair()
    if os.fork() == 0:
        control.close()
        private.close()
        grants = sandbox.Grants(writable=(scene["folder"], scene["outbox"]), tracing=scene["tracing"])
        supervise(far_control, far_private, sandbox.Limits(**scene["limits"]), _work(scene), grants)
        os._exit(0)
    far_control.close()
    far_private.close()
    parent = Channel(control)
    heard = parent.receive(20)
    try:
        heard |= parent.receive(100)
    except (ChannelTimeout, ChannelClosed):
        heard |= {"ending": "none", "log": ""}
    print(json.dumps(heard))


def _work(scene: dict[str, Any]) -> Any:
    def work() -> None:
        os.chdir(scene["folder"])
        os.environ |= {"HOME": scene["folder"], "TMPDIR": scene["folder"], "TRITON_CACHE_DIR": scene["folder"]}
        exec(compile(scene["text"], "inside.py", "exec"), {"__name__": "inside", "OUTBOX": scene["outbox"]})

    return work


if __name__ == "__main__":
    _main()
