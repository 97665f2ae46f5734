"""The GPU lock between threads and between real processes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

from tilesmith.judge.machine.gpu_lock import GpuLock

HOLDER = """\
import sys, time
from pathlib import Path
from tilesmith.judge.machine.gpu_lock import GpuLock
with getattr(GpuLock(Path(sys.argv[1])), sys.argv[2])():
    print("held", flush=True)
    sys.stdin.readline()
"""


class Holder:
    """Another process that holds the lock until told otherwise."""

    def __init__(self, folder: Path, kind: str) -> None:
        command = [sys.executable, "-c", HOLDER, str(folder), kind]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait_until_held(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "held\n"

    def release(self) -> None:
        self.process.communicate("\n", timeout=10)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=10)


def gets(folder: Path, kind: str, within_s: float = 20.0) -> bool:
    """Whether a new process gets the lock soon; it lets go at once."""
    one = Holder(folder, kind)
    try:
        one.process.communicate("\n", timeout=within_s)
    except subprocess.TimeoutExpired:
        one.kill()
        return False
    return True


def test_many_share_but_one_is_alone_across_processes(tmp_path: Path) -> None:
    lock = GpuLock(tmp_path)
    with lock.shared():
        assert gets(tmp_path, "shared")
        assert not gets(tmp_path, "alone", within_s=1.0)
    with lock.alone():
        assert not gets(tmp_path, "shared", within_s=1.0)
        assert not gets(tmp_path, "alone", within_s=1.0)
    assert gets(tmp_path, "alone")


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    holder = Holder(tmp_path, "alone")
    holder.wait_until_held()
    assert not gets(tmp_path, "shared", within_s=1.0)
    holder.kill()
    assert gets(tmp_path, "shared")


def test_threads_share_and_exclude_alike(tmp_path: Path) -> None:
    lock = GpuLock(tmp_path)
    inside = {"shared": 0, "alone": 0}
    most_shared, broken = 0, []
    guard = threading.Lock()
    start = threading.Barrier(8)

    def work(kind: str) -> None:
        nonlocal most_shared
        start.wait()
        for _ in range(15):
            with getattr(lock, kind)():
                with guard:
                    inside[kind] += 1
                    most_shared = max(most_shared, inside["shared"])
                    if inside["alone"] > 1 or (inside["alone"] and inside["shared"]):
                        broken.append(dict(inside))
                time.sleep(0.002)
                with guard:
                    inside[kind] -= 1

    threads = [threading.Thread(target=work, args=(kind,)) for kind in ("shared",) * 6 + ("alone",) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert broken == []
    assert most_shared > 1


def test_a_waiting_timer_is_not_starved_by_newcomers(tmp_path: Path) -> None:
    lock = GpuLock(tmp_path)
    stop = threading.Event()

    def read(offset_s: float) -> None:
        time.sleep(offset_s)
        while not stop.is_set():
            with lock.shared():
                time.sleep(0.06)

    readers = [threading.Thread(target=read, args=(0.02 * i,)) for i in range(3)]
    for reader in readers:
        reader.start()
    time.sleep(0.1)
    timer = Holder(tmp_path, "alone")
    giving_up = threading.Timer(20, stop.set)
    giving_up.start()
    timer.wait_until_held()
    starved = stop.is_set()
    timer.release()
    giving_up.cancel()
    stop.set()
    for reader in readers:
        reader.join()
    assert not starved


def test_waiting_timers_follow_one_another(tmp_path: Path) -> None:
    lock, order = GpuLock(tmp_path), list[str]()

    def enter(kind: str) -> None:
        with getattr(lock, kind)():
            order.append(kind)

    with lock.alone():
        waiting = []
        for kind in ("shared", "alone", "shared", "alone"):
            waiting.append(threading.Thread(target=enter, args=(kind,)))
            waiting[-1].start()
            time.sleep(0.1)
    for one in waiting:
        one.join(20)
    assert order == ["alone", "alone", "shared", "shared"]


def test_an_exception_inside_lets_go(tmp_path: Path) -> None:
    lock = GpuLock(tmp_path)
    for kind in (lock.shared, lock.alone):
        try:
            with kind():
                raise KeyError
        except KeyError:
            pass
    assert gets(tmp_path, "alone")


def test_the_lock_is_the_same_for_everyone_of_this_user_by_default() -> None:
    ours, theirs = GpuLock(), GpuLock()
    assert vars(ours) == vars(theirs)


def test_threads_hand_over_sooner_while_somebody_holds_the_gpu(tmp_path: Path) -> None:
    usual_s, lock = sys.getswitchinterval(), GpuLock(tmp_path)
    with lock.shared():
        with lock.shared():
            assert sys.getswitchinterval() < usual_s / 5
        assert sys.getswitchinterval() < usual_s / 5
    assert sys.getswitchinterval() == usual_s
    with lock.alone():
        assert sys.getswitchinterval() < usual_s / 5
    assert sys.getswitchinterval() == usual_s
