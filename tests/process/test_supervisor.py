"""A supervisor and its child, in real processes: with the walls this system gives, and with none at all."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import textwrap
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from tilesmith.process.supervisor import descendants

STAGE = """\
import ctypes, json, os, signal, socket, sys, time
from tilesmith.process import sandbox
from tilesmith.process.sandbox import libc, namespaces
from tilesmith.process.channel import Channel, ChannelClosed, ChannelTimeout
from tilesmith.process.supervisor import supervise

bare, listen_s, limits, text = json.loads(sys.argv[1])
if bare:
    assert libc.unshare(namespaces.CLONE_NEWUSER)
    namespaces.map_user(0, 0)
    for kind in ("user", "pid", "net", "ipc", "mnt"):
        with open(f"/proc/sys/user/max_{kind}_namespaces", "w") as file:
            file.write("0")
control, far_control = socket.socketpair()
private, far_private = socket.socketpair()
if os.fork() == 0:
    control.close()
    private.close()
    supervise(far_control, far_private, sandbox.Limits(**limits), lambda: exec(text, globals()))
    os._exit(0)
far_control.close()
far_private.close()
parent = Channel(control)
heard = parent.receive(10)
began = time.monotonic()
try:
    heard |= parent.receive(listen_s)
except ChannelTimeout:
    parent.send({"kill": True})
    asked = time.monotonic()
    heard |= parent.receive(10)
    heard["took_s"] = time.monotonic() - asked
heard["private_closed"] = private.recv(1) == b""
print(json.dumps(heard))
"""
LIMITS = {"address_bytes": None, "resident_bytes": 2**30, "cpu_s": 30, "file_bytes": 2**20, "processes": 16}
NAME = "open('/proc/self/comm', 'w').write({name!r})\n"


def bare_is_possible() -> bool:
    text = "import json\nprint(json.dumps('fine'))"
    probe = subprocess.run(stage_command(True, 1, {}, text), capture_output=True, text=True)
    return '"walls": ["limits"]' in probe.stdout


def stage_command(bare: bool, listen_s: float, limits: dict[str, Any], text: str) -> list[str]:
    scene = json.dumps([bare, listen_s, LIMITS | limits, text])
    return [sys.executable, "-c", STAGE, scene]


@pytest.fixture(scope="module", params=["walled", "bare"])
def bare(request: pytest.FixtureRequest) -> bool:
    if request.param == "bare" and not bare_is_possible():
        pytest.skip("cannot take namespaces away from a process here")
    return request.param == "bare"


@pytest.fixture
def name() -> str:
    return f"ts-{uuid.uuid4().hex[:10]}"


def play(bare: bool, text: str, listen_s: float = 15, **limits: int) -> dict[str, Any]:
    command = stage_command(bare, listen_s, limits, textwrap.dedent(text))
    done = subprocess.run(command, capture_output=True, text=True, timeout=40)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def alive(name: str) -> bool:
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError):
            if (entry / "comm").read_text().strip() == name:
                return (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("pass", "exit:0"),
        ("os._exit(5)", "exit:5"),
        ("raise ValueError", "exit:1"),
        ("ctypes.string_at(0)", "signal:11"),
    ],
)
def test_it_says_how_the_child_ended(bare: bool, text: str, ending: str) -> None:
    heard = play(bare, text)
    assert heard["ending"] == ending
    assert heard["private_closed"]
    assert ("processes" not in heard["walls"]) or not bare


def test_the_tail_of_what_it_printed(bare: bool) -> None:
    heard = play(bare, "os.write(1, b'x' * 500_000)\nos.write(2, b'the end \\xff')")
    assert heard["log"].endswith("xxx" + "the end \ufffd")
    assert len(heard["log"]) < 20_000


def test_it_gets_nothing_from_stdin_and_no_terminal(bare: bool) -> None:
    heard = play(bare, "print(repr(sys.stdin.read()), os.getsid(0) == os.getpid(), flush=True)")
    assert heard["log"] == "'' True\n"


def test_hanging_up_ends_the_whole_family(bare: bool, name: str) -> None:
    heard = play(
        bare,
        NAME.format(name=name)
        + textwrap.dedent("""
            for _ in range(3):
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0:
                        os.setsid()
                        signal.signal(signal.SIGTERM, signal.SIG_IGN)
                        time.sleep(600)
                    os._exit(0)
            time.sleep(600)
        """),
        listen_s=0.5,
    )
    assert heard["ending"] == "killed"
    assert heard["took_s"] < 2
    assert not alive(name)


def test_a_child_that_ends_leaves_nobody_behind(bare: bool, name: str) -> None:
    text = NAME.format(name=name) + "if os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\nos._exit(4)"
    assert play(bare, text)["ending"] == "exit:4"
    assert not alive(name)


def test_too_many_processes(bare: bool, name: str) -> None:
    text = (
        NAME.format(name=name)
        + "for _ in range(40):\n    if os.fork() == 0:\n        time.sleep(600)\ntime.sleep(600)"
    )
    assert play(bare, text, listen_s=5)["ending"] == "processes"
    assert not alive(name)


@pytest.mark.parametrize("private", [True, False], ids=["private", "shared"])
def test_too_much_memory(bare: bool, private: bool) -> None:
    take = "bytearray(200 << 20)" if private else "mmap.mmap(-1, 200 << 20)"
    text = f"import mmap\nkept = {take}\nfor i in range(0, len(kept), 4096): kept[i] = 1\ntime.sleep(600)"
    assert play(bare, text, listen_s=4, resident_bytes=100 * 2**20)["ending"] == "memory"


def test_memory_of_the_whole_family_counts(bare: bool) -> None:
    text = """
        for _ in range(4):
            if os.fork() == 0:
                kept = bytearray(b"x") * (60 << 20)
                time.sleep(600)
        time.sleep(600)
    """
    assert play(bare, text, listen_s=4, resident_bytes=150 * 2**20)["ending"] == "memory"


def test_killing_the_supervisor_ends_its_child(name: str) -> None:
    """Where there are no walls a child can do that; it must not survive it."""
    if not bare_is_possible():
        pytest.skip("cannot take namespaces away from a process here")
    text = NAME.format(name=name) + "os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(600)"
    subprocess.run(stage_command(True, 15, {}, text), capture_output=True, timeout=20)
    time.sleep(0.2)
    assert not alive(name)


def test_descendants_are_found_at_any_depth() -> None:
    deep = "if os.fork() == 0 and os.fork() == 0: os.setsid(); print('deep', flush=True)"
    chain = f"import os, time\n{deep}\ntime.sleep(600)"
    started = subprocess.Popen([sys.executable, "-c", chain], stdout=subprocess.PIPE)
    try:
        assert started.stdout is not None
        started.stdout.readline()
        below = descendants(started.pid)
        assert len(below) == 2
        assert set(below) < set(descendants(os.getpid()))
    finally:
        for pid in [started.pid, *descendants(started.pid)]:
            os.kill(pid, 9)
        started.wait()
        started.stdout.close()
