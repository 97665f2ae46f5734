"""The command as people and scripts use it: exit codes, one JSON document, one line when something is wrong."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from warm_commands import run_warm

import tilesmith
from tilesmith.cli.main import COMMANDS
from tilesmith.judge.machine.devices import gpu_present

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SOFTMAX, LAYERNORM = EXAMPLES / "softmax.py", EXAMPLES / "layernorm.py"
KERNELS = EXAMPLES / "kernels"
CANARY = "sk-canary-5eed"
TASK = "import torch\nimport torch.nn as nn\n"


def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tilesmith", *map(str, arguments)]
    environment = os.environ | {"NO_COLOR": "1", "COLUMNS": "200"} | variables
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, cwd=ROOT)


def warm(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run_warm(*arguments, cwd=ROOT, env=os.environ | {"NO_COLOR": "1", "COLUMNS": "200"})


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


# Help


@pytest.mark.parametrize("command", [*COMMANDS, "runs show", "op new", "op check", "op tune"])
def test_every_command_has_help_with_an_example_and_json(command: str) -> None:
    done = run(*command.split(), "-h")
    assert done.returncode == 0
    assert re.search(rf"^     (claude mcp add )?tilesmith .*{command}", done.stdout, re.MULTILINE), "indented"
    assert "--json" in done.stdout or command == "mcp"
    assert re.search("Exit code 0", done.stdout)


def test_help_is_instant_and_lists_the_commands() -> None:
    began = time.monotonic()
    done = run("--help")
    assert done.returncode == 0
    assert time.monotonic() - began < 10
    assert all(f"     tilesmith {command} " in done.stdout for command in COMMANDS), "an example each"
    assert run("-h").stdout == done.stdout


def test_a_shell_completes_commands_and_options() -> None:
    words = {"COMP_WORDS": "tilesmith ce", "COMP_CWORD": "1", "_TILESMITH_COMPLETE": "complete_bash"}
    assert run(**words).stdout.split() == ["certify"]
    options = run(**words | {"COMP_WORDS": "tilesmith check --prec", "COMP_CWORD": "2"}).stdout
    assert options.split() == ["--precision"]
    assert "--install-completion" in run("--help").stdout  # it asks which shell started it, so it is not run here


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"tilesmith {tilesmith.__version__}\n")


@pytest.mark.parametrize(
    "arguments", [("check",), ("nothing",), ("check", "--nothing"), ("check", SOFTMAX, "k.py", "--k", "x")]
)
def test_wrong_use_is_exit_code_two(arguments: tuple[object, ...]) -> None:
    assert warm(*arguments).returncode == 2


# Checks of the examples


@pytest.fixture(scope="module")
def checks() -> dict[str, subprocess.CompletedProcess[str]]:
    good = run("check", SOFTMAX, KERNELS / "softmax.py", "--json", "--device", "cpu", OPENAI_API_KEY=CANARY)
    return {"good": good, "bad": warm("check", SOFTMAX, KERNELS / "softmax_no_mask.py", "--device", "cpu")}


def test_a_good_kernel_is_exit_code_zero_and_one_json_document(checks: dict[str, Any]) -> None:
    done = checks["good"]
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"] == "passed"
    wanted = {"verdict", "reason", "kernel_type", "findings", "errors", "timing", "launches", "triton_time_share"}
    assert wanted | {"resources", "environment"} <= set(document)
    assert {"max_abs", "mean_abs", "relative", "eager_relative", "ratio"} <= set(document["errors"])
    assert all({"registers", "spills", "shared_bytes"} <= set(one) for one in document["resources"])
    assert document["resources"]
    assert all({"id", "severity", "line", "message"} <= set(one) for one in document["findings"])
    assert document["launches"] >= 1
    assert {"torch", "triton", "python", "precision"} <= set(document["environment"])


def test_what_could_not_be_measured_is_null_and_the_reason_says_why(checks: dict[str, Any]) -> None:
    document = json.loads(checks["good"].stdout)
    assert document["timing"] is None
    assert document["triton_time_share"] is None
    assert "no GPU" in document["reason"]


def test_a_bad_kernel_is_exit_code_one_with_its_verdict_first(checks: dict[str, Any]) -> None:
    done = checks["bad"]
    assert done.returncode == 1, done.stderr
    assert "unsafe_memory" in done.stdout.splitlines()[0]
    assert "Traceback" not in done.stdout + done.stderr


def test_keys_are_never_printed(checks: dict[str, Any]) -> None:
    done = checks["good"]
    assert CANARY not in done.stdout + done.stderr


def test_nothing_is_left_in_the_temporary_folder(tmp_path: Path) -> None:
    run("check", SOFTMAX, tmp_path / "missing.py", "--device", "cpu", TMPDIR=str(tmp_path))
    assert list(tmp_path.glob("tilesmith-*")) == []


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL], ids=["terminated", "killed"])
def test_nothing_is_left_by_a_check_that_is_ended_while_it_starts(tmp_path: Path, sent: signal.Signals) -> None:
    words = ("check", str(SOFTMAX), str(KERNELS / "softmax.py"), "--device", "cpu")
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "tilesmith", *words], env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    deadline, folders = time.monotonic() + 60, set[Path]()
    while not folders:
        assert time.monotonic() < deadline
        folders = _folders_of_servers(process.pid)
    assert len(folders) == 2
    assert all(folder.is_dir() for folder in folders)
    process.send_signal(sent)
    _, told = process.communicate(timeout=60)
    if sent is signal.SIGTERM:
        assert (process.returncode, told.splitlines()[-1]) == (2, "tilesmith: interrupted")
    else:  # the fork server sees that the judge is gone once it has imported torch
        while any(folder.exists() for folder in folders) and time.monotonic() < deadline:
            time.sleep(0.1)
    assert not any(folder.exists() for folder in folders)
    assert list(tmp_path.glob("tilesmith-*")) == []


def _folders_of_servers(pid: int) -> set[Path]:
    """The folders that the first fork server of a process was told to remove, once it has begun."""
    try:
        (child, *_) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split() or [None]
        words = Path(f"/proc/{child}/cmdline").read_text().split("\0")
    except OSError:
        return set()
    return (
        {Path(word) for word in words if "/tilesmith-" in word}
        if "tilesmith.process.fork_server" in words
        else set()
    )


# Bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing.py", KERNELS / "softmax.py"), "missing.py: no such file"),
        ((EXAMPLES, KERNELS / "softmax.py"), "is a directory"),
        ((SOFTMAX, "missing_kernel.py"), "missing_kernel.py: cannot read the kernel"),
        ((SOFTMAX, KERNELS / "softmax.py", "--device", "gpu"), "auto, cpu or cuda"),
        ((SOFTMAX, KERNELS / "softmax.py", "--precision", "fp16"), "default, ieee or tf32"),
        ((SOFTMAX, KERNELS / "softmax.py", "--target", "sm_1"), "sm_90"),
        ((SOFTMAX, KERNELS / "softmax.py", "--timeout", "0"), "timeout"),
        ((SOFTMAX, KERNELS / "softmax.py", "--k", "-1"), "k"),
    ],
    ids=["no task", "a folder", "no kernel", "device", "precision", "target", "timeout", "k"],
)
def test_bad_input_is_one_line_at_once(arguments: tuple[object, ...], message: str) -> None:
    """None of this needs torch, so none of it may take the time of importing it."""
    began = _children_s()
    done = run("check", "--device", "cpu", *arguments)
    took = _children_s() - began
    assert message in one_line(done)
    assert took < 4


def _children_s() -> float:
    """The time on a CPU of all processes that this one has waited for: it does not grow on a busy machine."""
    spent = os.times()
    return spent.children_user + spent.children_system


@pytest.mark.skipif(gpu_present(), reason="there is a GPU here")
def test_cuda_without_a_gpu() -> None:
    assert "--device cpu" in one_line(warm("check", SOFTMAX, KERNELS / "softmax.py", "--device", "cuda"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class Model(:\n", "task.py:1: syntax error"),
        (TASK + "def get_inputs(): return []\n", "no class Model"),
        ("", "is empty"),
    ],
    ids=["syntax", "no model", "empty"],
)
def test_a_task_that_cannot_be_read_is_one_line_at_once(tmp_path: Path, text: str, message: str) -> None:
    task = tmp_path / "task.py"
    task.write_text(text)
    began = time.monotonic()
    assert message in one_line(run("check", task, KERNELS / "softmax.py", "--device", "cpu"))
    assert time.monotonic() - began < 10


def test_a_task_whose_import_fails_is_one_line(tmp_path: Path) -> None:
    task = tmp_path / "task.py"
    task.write_text("import nothing_like_this\n" + SOFTMAX.read_text())
    line = one_line(warm("check", task, KERNELS / "softmax.py", "--device", "cpu"))
    assert "task.py:1" in line
    assert "nothing_like_this" in line


# Doctor


@pytest.fixture(scope="module")
def doctors_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("doctor")


@pytest.fixture(scope="module")
def doctor(doctors_folder: Path) -> list[subprocess.CompletedProcess[str]]:
    variables = {"OPENAI_API_KEY": CANARY, "ANTHROPIC_API_KEY": CANARY, "TMPDIR": str(doctors_folder)}
    with ThreadPoolExecutor(2) as pool:
        started = [pool.submit(run, "doctor", *more, **variables) for more in ((), ("--json",))]
        return [one.result() for one in started]


def test_doctor_speaks_in_plain_lines(doctor: list[Any]) -> None:
    plain = doctor[0]
    assert plain.returncode == 0, plain.stderr
    for word in ("python", "torch", "triton", "gpu", "sandbox", "llm keys"):
        assert word in plain.stdout
    assert re.search(r"internals .* triton 3\.\d+: all \d+ internal names found", plain.stdout)
    assert "tilesmith check works here" in plain.stdout.strip().splitlines()[-1]


def test_doctor_as_one_json_document(doctor: list[Any]) -> None:
    document = json.loads(doctor[1].stdout)
    assert {"python", "packages", "gpu", "targets", "sandbox", "llm_keys"} <= set(document)
    assert document["packages"]["torch"]
    assert "sm_90" in document["targets"]


def test_doctor_names_keys_but_never_their_values(doctor: list[Any]) -> None:
    assert set(json.loads(doctor[1].stdout)["llm_keys"]) == {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}
    assert "llm keys     OPENAI_API_KEY, ANTHROPIC_API_KEY; " in doctor[0].stdout
    assert "without one through --base-url or OPENAI_BASE_URL" in doctor[0].stdout
    assert all(CANARY not in done.stdout + done.stderr for done in doctor)


def test_doctor_leaves_nothing_behind(doctor: list[Any], doctors_folder: Path) -> None:
    assert list(doctors_folder.iterdir()) == []


def test_doctor_shows_a_terminal_that_it_is_at_work() -> None:
    mine, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color"}
    command = [sys.executable, "-m", "tilesmith", "doctor", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment, cwd=ROOT)
    os.close(theirs)
    shown = os.read(mine, 65536)
    while b"looking at this machine" not in shown:
        shown += os.read(mine, 65536)
    process.kill()
    process.communicate()
    os.close(mine)
