"""From inside the walls, in real processes: what must fail does, and what kernels need still works."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from sandboxed_script import Heard, perform

from tilesmith.process.sandbox import landlock, sandbox_level

SECRET = "sk-canary-5a17ed"
ATTEMPTS = """
import ctypes, errno, json, os, resource, signal, socket
libc = ctypes.CDLL(None, use_errno=True)
found = {{}}

def attempt(name, action):
    try:
        found[name] = ["done", str(action())]
    except OSError as error:
        found[name] = [errno.errorcode.get(error.errno, str(error)), ""]
    except ValueError as error:
        found[name] = [str(error), ""]

def call(number, *arguments):
    ctypes.set_errno(0)
    if libc.syscall(number, *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]) < 0:
        raise OSError(ctypes.get_errno(), "")

def write(path, flags=os.O_CREAT):
    fd = os.open(path, os.O_WRONLY | flags, 0o600)
    os.write(fd, b"spoilt")

def udp():
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.sendto(b"news", ("127.0.0.1", {udp_port}))

def through_a_link(path):
    os.symlink(path, "link")
    return open("link").read()

for name, folder in {folders!r}.items():
    attempt("read " + name, lambda: open(folder + "/secret").read())
    attempt("list " + name, lambda: os.listdir(folder))
    attempt("write " + name, lambda: write(folder + "/secret", 0))
    attempt("create " + name, lambda: write(folder + "/new"))
    attempt("truncate " + name, lambda: os.truncate(folder + "/secret", 0))
    attempt("remove " + name, lambda: os.unlink(folder + "/secret"))
home = {folders!r}["home"]
open("own", "w").write("mine")
attempt("rename out", lambda: os.rename("own", home + "/new"))
attempt("link in", lambda: os.link(home + "/secret", "stolen"))
attempt("read through a link", lambda: through_a_link(home + "/secret"))
attempt("make a folder", lambda: os.mkdir(home + "/new"))
attempt("open to others", lambda: os.chmod(home + "/secret", 0o777))
attempt("read the shadow file", lambda: open("/etc/shadow").read())
attempt("write a kernel setting", lambda: os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
attempt("tcp", lambda: socket.create_connection(("127.0.0.1", {tcp_port}), 2))
attempt("tcp by number", lambda: call({SOCKET}, 2, 1, 0))
attempt("udp", udp)
attempt("packet socket", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("unix socket", lambda: socket.socket(socket.AF_UNIX).connect({unix!r}))
attempt("abstract socket", lambda: socket.socket(socket.AF_UNIX).connect({abstract!r}))
attempt("signal", lambda: os.kill({pid}, 0))
attempt("environment", lambda: open("/proc/{pid}/environ").read())
attempt("memory", lambda: os.open("/proc/{pid}/mem", os.O_RDONLY))
attempt("trace", lambda: call({PTRACE}, 16, {pid}, 0, 0))
attempt("trace the parent", lambda: call({PTRACE}, 16, os.getppid(), 0, 0))
attempt("process_vm_readv", lambda: call({VM_READV}, {pid}, 0, 0, 0, 0, 0))
attempt("limits of others", lambda: resource.prlimit({pid}, resource.RLIMIT_CPU))
attempt("mount", lambda: call({MOUNT}, b"none", b"/mnt", b"tmpfs", 0, None))
attempt("unshare", lambda: call({UNSHARE}, 0x10000000))
attempt("clone", lambda: call({CLONE}, 0x10000000 | 17, 0, 0, 0, 0))
attempt("bpf", lambda: call({BPF}, 0, 0, 0))
attempt("io_uring", lambda: call(425, 1, 0))
attempt("keyctl", lambda: call({KEYCTL}, 0, -3, 0))
attempt("perf", lambda: call({PERF}, 0, 0, -1, -1, 0))
attempt("lift a limit", lambda: resource.setrlimit(resource.RLIMIT_CORE, (1, 1)))
json.dump(found, open("said.json", "w"))
"""
_NAMES = ("SOCKET", "PTRACE", "VM_READV", "MOUNT", "UNSHARE", "CLONE", "BPF", "KEYCTL", "PERF")
NUMBERS = {
    "x86_64": dict(zip(_NAMES, (41, 101, 310, 165, 272, 56, 321, 250, 298), strict=True)),
    "aarch64": dict(zip(_NAMES, (198, 117, 270, 40, 97, 220, 280, 219, 241), strict=True)),
}
STOPPED_BY = {
    "files": [
        *("rename out", "link in", "read through a link", "make a folder", "read the shadow file"),
        *("write a kernel setting", "environment", "memory"),
    ],
    "network": ["tcp", "tcp by number", "udp", "abstract socket"],
    "processes": ["signal"],
    "syscalls": [
        *("packet socket", "unix socket", "trace", "trace the parent", "process_vm_readv", "limits of others"),
        *("mount", "unshare", "clone", "bpf", "io_uring", "keyctl", "perf"),
    ],
    "limits": ["lift a limit"],
}
"""Each wall, and what it must stop."""
REFUSED = {what: wall for wall, stopped in STOPPED_BY.items() for what in stopped}
ON_FILES = ("read", "list", "write", "create", "truncate", "remove")


class Outcome(NamedTuple):
    heard: Heard
    bare: bool
    folders: dict[str, Path]
    datagrams: list[bytes]


@contextlib.contextmanager
def secret_folders(place: Path) -> Iterator[dict[str, Path]]:
    """A home, and folders in the two places where everybody may write."""
    with tempfile.TemporaryDirectory(dir="/tmp") as temporary, contextlib.ExitStack() as stack:
        found = {"home": place / "home", "temporary": Path(temporary)}
        found["home"].mkdir()
        if os.access("/dev/shm", os.W_OK):
            found["shared memory"] = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        for folder in found.values():
            (folder / "secret").write_text(SECRET)
            (folder / "secret").chmod(0o600)
        yield found


@pytest.fixture(scope="module", params=[False, True], ids=["walled", "without namespaces"])
def outcome(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    place = tmp_path_factory.mktemp("walls")
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    udp.settimeout(0.1)
    unix, abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        unix.bind(f"{short}/s")
        abstract.bind(f"\0tilesmith-{os.getpid()}-{request.param}")
        with socket.create_server(("127.0.0.1", 0)) as tcp, udp, unix, abstract, secret_folders(place) as folders:
            for server in (unix, abstract):
                server.listen()
            text = ATTEMPTS.format(
                folders={name: str(folder) for name, folder in folders.items()},
                udp_port=udp.getsockname()[1],
                tcp_port=tcp.getsockname()[1],
                unix=unix.getsockname(),
                abstract=abstract.getsockname(),
                pid=os.getpid(),
                **NUMBERS[os.uname().machine],
            )
            try:
                heard = perform(text, place, bare=request.param)
            except AssertionError as error:
                pytest.skip(f"cannot take namespaces away here: {error}") if request.param else None
                raise
            yield Outcome(heard, request.param, folders, received(udp))


def received(server: socket.socket) -> list[bytes]:
    with contextlib.suppress(TimeoutError):
        return [server.recv(100)]
    return []


def needs(outcome: Outcome, wall: str) -> None:
    if wall not in outcome.heard.walls:
        pytest.skip(f"this system gives no wall around {wall}")


def test_the_child_ends_well_and_says_which_walls_stand(outcome: Outcome) -> None:
    assert outcome.heard.ending == "exit:0", outcome.heard.log
    assert "limits" in outcome.heard.walls
    if outcome.bare:
        assert not {"processes", "ipc", "user"} & set(outcome.heard.walls)
        assert sandbox_level(outcome.heard.walls) != "full"


@pytest.mark.parametrize("place", ["home", "temporary", "shared memory"])
@pytest.mark.parametrize("what", ON_FILES)
def test_other_files_are_out_of_reach(outcome: Outcome, place: str, what: str) -> None:
    needs(outcome, "files")
    assert outcome.heard.said.get(f"{what} {place}", ["EACCES"])[0] == "EACCES"


def test_other_files_are_as_they_were(outcome: Outcome) -> None:
    needs(outcome, "files")
    for folder in outcome.folders.values():
        assert sorted(os.listdir(folder)) == ["secret"]
        assert (folder / "secret").read_text() == SECRET
        assert (folder / "secret").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(outcome: Outcome, what: str) -> None:
    needs(outcome, REFUSED[what])
    assert outcome.heard.said[what][0] != "done", outcome.heard.said[what]


def test_no_datagram_arrives(outcome: Outcome) -> None:
    needs(outcome, "network")
    assert outcome.datagrams == []


def test_signals_stay_inside_even_without_namespaces(outcome: Outcome) -> None:
    if landlock.version() < 6:
        pytest.skip("this kernel's Landlock does not scope signals")
    assert outcome.heard.said["signal"][0] in ("EPERM", "ESRCH")


def test_system_calls_are_refused_by_name(outcome: Outcome) -> None:
    needs(outcome, "syscalls")
    for what in ("trace", "process_vm_readv", "mount", "unshare", "clone", "bpf", "io_uring", "tcp by number"):
        assert outcome.heard.said[what][0] == "EPERM", what
