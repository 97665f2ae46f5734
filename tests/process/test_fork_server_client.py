"""Children, real ones: what they cannot see, what they cannot break, and that nothing of them is left."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import textwrap
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilesmith.errors import MachineError
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.sessions import CandidateSession
from tilesmith.process.fork_server_client import Child, ChildGone, ForkServerClient, start_fork_servers
from tilesmith.process.protocol.candidate import LoadKernel
from tilesmith.process.protocol.codec import Done, RequestFailed
from tilesmith.process.protocol.machine import DescribeMachine, ListTargets
from tilesmith.process.sandbox import Limits
from tilesmith.records import Verdict

LIMITS = Limits(None, resident_bytes=2 * 2**30, cpu_s=60, file_bytes=64 * 2**20, processes=64)
PRELUDE = """\
import ctypes, json, mmap, os, signal, socket, sys, time
import torch.nn as nn
class ModelNew(nn.Module):
    pass
def take_name(name):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
def say(value):
    with open("said.json", "w") as file:
        json.dump(value, file)
"""
FRAME = """
def frame(payload):
    return len(payload).to_bytes(4, "big") + payload
def every_socket():
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink("/proc/self/fd/" + name).startswith("socket:"):
                yield int(name)
        except OSError:
            pass
"""


@pytest.fixture
def child(fork_server: ForkServerClient) -> Iterator[Child]:
    with candidate(fork_server) as one:
        yield one


@pytest.fixture
def name() -> str:
    """A process name of this test's own, at most 15 characters, inherited over fork."""
    return f"ts-{uuid.uuid4().hex[:10]}"


@contextlib.contextmanager
def candidate(fork_server: ForkServerClient, **changed: Any) -> Iterator[Child]:
    one = fork_server.spawn("bare_child", replace(LIMITS, **changed))
    try:
        yield one
    finally:
        one.close()


def load(child: Child, text: str, timeout_s: float = 20) -> Done:
    return child.ask(request(text), timeout_s)


def request(text: str) -> LoadKernel:
    return LoadKernel("kernel.py", PRELUDE + textwrap.dedent(text), "cpu", "sm_90", "default")


def ending(child: Child, text: str, timeout_s: float = 20) -> ChildGone:
    with pytest.raises(ChildGone) as caught:
        load(child, text, timeout_s)
    return caught.value


def said(child: Child) -> Any:
    return json.loads((child.folder / "said.json").read_text())


def named(name: str) -> list[int]:
    """Live processes with this name, or with this word among their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if state != "Z" and (name.encode() in words or (entry / "comm").read_text().strip() == name):
                found.append(int(entry.name))
    return found


def assert_gone(name: str, within_s: float = 3.0) -> None:
    deadline = time.monotonic() + within_s
    while named(name) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert named(name) == []


def assert_healthy(fork_server: ForkServerClient) -> None:
    began = time.monotonic()
    assert_answers(fork_server)
    assert time.monotonic() - began < 3


def assert_answers(fork_server: ForkServerClient) -> None:
    fresh = fork_server.spawn("probe", LIMITS)
    assert "sm_90" in fresh.ask(ListTargets(), 10).targets
    fresh.close()


def wall(child: Child, which: str) -> None:
    if which not in child.walls:
        pytest.skip(f"this system gives children no {which} of their own")


def test_a_probe_answers_and_its_folder_goes_with_it(fork_server: ForkServerClient, scratch: Path) -> None:
    probe = fork_server.spawn("probe", LIMITS)
    assert probe.folder.is_dir()
    assert probe.folder.parent == scratch
    assert probe.ask(ListTargets(), 10).targets
    assert probe.ask(DescribeMachine(), 30).gpu in (True, False)
    probe.close()
    assert not probe.folder.exists()


def test_children_have_folders_of_their_own(fork_server: ForkServerClient) -> None:
    with candidate(fork_server) as first, candidate(fork_server) as second:
        for one in (first, second):
            load(
                one,
                """
                import tempfile
                home, cache = os.path.expanduser("~"), os.environ["TRITON_CACHE_DIR"]
                say([os.getcwd(), tempfile.gettempdir(), home, os.path.dirname(cache)])
                """,
            )
            assert said(one) == [str(one.folder)] * 4
        assert first.folder != second.folder


def test_a_child_that_is_gone_stays_gone(child: Child) -> None:
    first = ending(child, "os._exit(3)")
    with pytest.raises(ChildGone) as again:
        child.ask(request(""), 5)
    assert again.value is first
    child.close()
    child.close()
    assert not child.folder.exists()


def test_an_unknown_request_ends_only_that_child(fork_server: ForkServerClient, child: Child) -> None:
    with pytest.raises(ChildGone):
        child.ask(ListTargets(), 10)
    assert_healthy(fork_server)


# What a child may not see


def test_keys_are_in_no_environment_a_candidate_can_read(child: Child, canary: str) -> None:
    load(
        child,
        """
        found = {"variables": sorted(os.environ), "own": open("/proc/self/environ", "rb").read().decode("latin-1")}
        found["values"], found["read"] = list(os.environ.values()), []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    found["read"].append(open(f"/proc/{entry}/environ", "rb").read().decode("latin-1"))
                except OSError:
                    pass
        say(found)
        """,
    )
    found = said(child)
    assert "OPENAI_API_KEY" not in found["variables"]
    assert canary not in " ".join(found["values"])
    assert canary not in found["own"]
    wall(child, "processes")
    assert found["read"]
    assert not [text for text in found["read"] if canary in text]


def test_keys_cannot_be_had_by_taking_the_wall_down(child: Child, canary: str) -> None:
    """The other /proc still lies under the private one: a candidate must not get at it."""
    wall(child, "processes")
    load(
        child,
        """
        libc, found = ctypes.CDLL(None, use_errno=True), []
        for _ in range(3):
            libc.umount2(b"/proc", 2)
            for entry in os.listdir("/proc"):
                try:
                    found.append(open(f"/proc/{entry}/environ", "rb").read().decode("latin-1"))
                except OSError:
                    pass
        say(found)
        """,
    )
    assert not [text for text in said(child) if canary in text]


def test_only_its_own_processes_are_visible(child: Child) -> None:
    wall(child, "processes")
    load(child, "say([int(e) for e in os.listdir('/proc') if e.isdigit()])")
    assert said(child) == [1]


@pytest.mark.parametrize("family", ["tcp", "abstract"])
def test_no_network_not_even_loopback(fork_server: ForkServerClient, child: Child, family: str) -> None:
    wall(child, "network")
    if family == "tcp":
        server = socket.create_server(("127.0.0.1", 0))
        connect = f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2)"
        socket.create_connection(server.getsockname(), 2).close()
    else:
        server = socket.socket(socket.AF_UNIX)
        server.bind(f"\0{uuid.uuid4().hex}")
        server.listen()
        connect = f"socket.socket(socket.AF_UNIX).connect({server.getsockname()!r})"
    with server:
        load(
            child,
            f"""
            try:
                {connect}
                say("connected")
            except OSError as error:
                say(str(error))
            """,
        )
    assert said(child) != "connected"


# What a child may not break


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("os._exit(3)", "exit:3"),
        ("os._exit(0)", "exit:0"),
        ("ctypes.string_at(0)", "signal:11"),
        ("os.abort()", "signal:"),
        ("os.closerange(0, 4096)", "exit:"),
    ],
)
def test_a_child_that_ends_early(fork_server: ForkServerClient, child: Child, text: str, how: str) -> None:
    assert ending(child, text, timeout_s=3).how.startswith(how)
    assert_healthy(fork_server)


def test_a_child_that_hangs_up_and_lives_on(fork_server: ForkServerClient, name: str, child: Child) -> None:
    began = time.monotonic()
    ending(child, f"take_name({name!r})\nos.closerange(3, 4096)\ntime.sleep(60)")
    assert_gone(name)
    assert time.monotonic() - began < 5
    assert_healthy(fork_server)


def test_what_it_printed_last_is_kept(child: Child) -> None:
    gone = ending(
        child, "os.write(1, b'to stdout\\n')\nprint('to stderr', file=sys.stderr, flush=True)\nos._exit(3)"
    )
    assert gone.log.split("\n")[-3:] == ["to stdout", "to stderr", ""]


def test_an_endless_loop_is_stopped_with_everything_it_started(
    fork_server: ForkServerClient, name: str, child: Child
) -> None:
    began = time.monotonic()
    gone = ending(
        child,
        f"""
        for _ in range(3):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.setsid()
                    for number in (1, 2, 3, 15):
                        signal.signal(number, signal.SIG_IGN)
                    os.execvp("sleep", [{name!r}, "600"])
                take_name({name!r})
                while True:
                    time.sleep(600)
        take_name({name!r})
        say("started")
        while True:
            pass
        """,
        timeout_s=1.5,
    )
    assert time.monotonic() - began < 1.5 + 2
    assert gone.how == "timeout"
    assert said(child) == "started"
    assert_gone(name)
    assert_healthy(fork_server)


def test_a_fork_bomb(fork_server: ForkServerClient, name: str, child: Child) -> None:
    gone = ending(
        child,
        f"""
        take_name({name!r})
        for _ in range(9):
            os.fork()
        time.sleep(600)
        """,
        timeout_s=30,
    )
    assert gone.how == "processes"
    assert_gone(name)
    assert_healthy(fork_server)


@pytest.mark.parametrize(
    "take",
    [
        "kept.append(bytearray(b'x') * (32 << 20))",
        "kept.append(mmap.mmap(-1, 32 << 20)); kept[-1].write(b'x' * (32 << 20))",
    ],
    ids=["private", "shared"],
)
def test_a_memory_hog(fork_server: ForkServerClient, name: str, take: str) -> None:
    """Whichever kind of memory it takes; it stops by itself far beyond its limit, to spare this machine."""
    with candidate(fork_server, resident_bytes=700 * 2**20) as child:
        gone = ending(
            child,
            f"""
            take_name({name!r})
            kept = []
            for _ in range(40):
                {take}
                time.sleep(0.01)
            time.sleep(600)
            """,
            timeout_s=60,
        )
    assert gone.how == "memory"
    assert_gone(name)
    assert_healthy(fork_server)


def test_memory_shared_with_the_server_does_not_count(fork_server: ForkServerClient) -> None:
    """A child starts with all of torch mapped, which is not its own doing."""
    with candidate(fork_server, resident_bytes=128 * 2**20) as child:
        load(child, "time.sleep(0.4)")


def test_address_space_has_its_own_limit(fork_server: ForkServerClient) -> None:
    with candidate(fork_server, address_bytes=24 * 2**30) as child:
        with pytest.raises(RequestFailed, match=r"(?i)memory"):
            load(child, "mmap.mmap(-1, 32 << 30)")
        assert load(child, "mmap.mmap(-1, 1 << 30)") == Done()


def test_files_have_a_size_limit(fork_server: ForkServerClient) -> None:
    with candidate(fork_server, file_bytes=2**20) as child:
        with pytest.raises(RequestFailed):
            load(child, "open('big', 'wb').write(bytes(8 << 20))")
        assert (child.folder / "big").stat().st_size <= 2**20


def test_the_end_of_cpu_time_is_a_timeout(fork_server: ForkServerClient) -> None:
    with candidate(fork_server, cpu_s=2) as child, pytest.raises(GateFailed) as caught:
        CandidateSession(lambda: child, 20).ask(request("while True: pass"))
    assert caught.value.verdict is Verdict.TIMEOUT


def test_endless_noise_on_stdout(fork_server: ForkServerClient, child: Child) -> None:
    gone = ending(child, "while True: os.write(1, b'noise ' * 10_000)", timeout_s=1.5)
    assert gone.how == "timeout"
    assert "noise noise" in gone.log
    assert len(gone.log) <= 1 << 16
    assert_healthy(fork_server)


def test_garbage_on_every_descriptor(fork_server: ForkServerClient, child: Child) -> None:
    gone = ending(
        child,
        """
        for fd in range(256):
            try:
                os.write(fd, b"garbage " * 100)
            except OSError:
                pass
        """,
    )
    assert gone.how == "garbled"
    assert_healthy(fork_server)


@pytest.mark.parametrize(
    "payload",
    [
        'b"[]"',
        'b"null"',
        'b"not json"',
        'b"\\xff\\xfe"',
        'b"[" * 500_000',
        "b'{\"ok\":' * 100_000",
        "b'{\"ok\":' + b'9' * 100_000 + b'}'",
    ],
)
def test_a_frame_that_is_no_message(fork_server: ForkServerClient, child: Child, payload: str) -> None:
    gone = ending(child, FRAME + f"for fd in every_socket(): os.write(fd, frame({payload}))", timeout_s=5)
    assert gone.how == "garbled"
    assert_healthy(fork_server)


@pytest.mark.parametrize(
    "forged", [{}, {"reply": 1}, {"reply": None}, {"failure": {"verdict": "passed"}}, {"failure": []}]
)
def test_a_forged_reply_is_cheating(child: Child, forged: dict[str, Any]) -> None:
    text = FRAME + f"for fd in every_socket(): os.write(fd, frame({json.dumps(forged).encode()!r}))"
    with pytest.raises(GateFailed) as caught:
        CandidateSession(lambda: child, 10).ask(request(text))
    assert caught.value.verdict is Verdict.CHEATING


def test_a_background_process_ends_with_its_child(fork_server: ForkServerClient, name: str, child: Child) -> None:
    reply = load(
        child,
        f"""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                take_name({name!r})
                time.sleep(600)
            os._exit(0)
        time.sleep(0.2)
        """,
    )
    assert reply == Done()
    assert named(name)
    child.close()
    assert_gone(name)


def test_a_background_process_does_not_hold_up_the_news(
    fork_server: ForkServerClient, name: str, child: Child
) -> None:
    """It inherits the channel and the log, so neither closes when the child itself ends."""
    began = time.monotonic()
    gone = ending(
        child,
        f"""
        if os.fork() == 0:
            os.setsid()
            take_name({name!r})
            time.sleep(600)
        os._exit(7)
        """,
    )
    assert gone.how == "exit:7"
    assert time.monotonic() - began < 3
    assert_gone(name)


@pytest.mark.parametrize("target", ["os.getppid()", "0", "-1 if os.getpid() == 1 else 0"])
def test_killing_whoever_is_around(fork_server: ForkServerClient, child: Child, target: str) -> None:
    with contextlib.suppress(ChildGone, RequestFailed):
        load(child, f"os.kill({target}, signal.SIGKILL)", timeout_s=5)
    began = time.monotonic()
    child.close()
    assert time.monotonic() - began < 3
    assert_healthy(fork_server)


def test_children_do_not_share_a_fate(fork_server: ForkServerClient) -> None:
    with candidate(fork_server) as steady, candidate(fork_server) as doomed:
        assert load(steady, "kept = 1") == Done()
        ending(doomed, "os._exit(3)")
        assert load(steady, "kept = 2") == Done()


def test_many_threads_may_spawn_at_once(fork_server: ForkServerClient) -> None:
    answers = []

    def ask() -> None:
        with candidate(fork_server) as one:
            load(one, "say(os.getcwd())")
            answers.append(said(one) == str(one.folder))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 8


# The server itself


def test_a_server_outlives_the_thread_that_started_it_and_imports_nothing_of_the_users_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "profile.py").write_text(
        "raise SystemExit('a module of the same name as one of the standard library')"
    )
    monkeypatch.chdir(tmp_path)
    made: list[ForkServerClient] = []

    def start() -> None:
        made.append(start_fork_servers(["native"], tmp_path)["native"])
        assert_answers(made[0])

    starter = threading.Thread(target=start)
    starter.start()
    starter.join()
    try:
        assert_answers(made[0])
    finally:
        made[0].close()


def test_a_server_that_cannot_start_says_why_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "numpy.py"
    broken.write_text("raise ImportError('numpy is broken here')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    fork_server = start_fork_servers(["native"], tmp_path)["native"]
    with pytest.raises(MachineError, match="numpy is broken here; run `tilesmith doctor`") as caught:
        fork_server.spawn("probe", LIMITS)
    assert "\n" not in str(caught.value)
    fork_server.close()
