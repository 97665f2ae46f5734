"""`tilesmith forge` as a user meets it: one line for every mistake; runs that can be watched, stopped, taken up."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from warm_commands import run_warm

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "llm"))

from script import Fault, Script  # noqa: E402
from scripted_server import ScriptedServer  # noqa: E402

from tilesmith.llm.providers import KEY_VARIABLES, OPENAI_BASE_URL  # noqa: E402

RELU = TESTS / "fixtures" / "tasks" / "relu.py"
QUICK = ("--device", "cpu", "--effort", "quick", "--no-confirm")


def clean(**more: str) -> dict[str, str]:
    """The environment of somebody who has configured nothing."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if k not in (*KEY_VARIABLES, OPENAI_BASE_URL) and not k.startswith("TILESMITH_")
    }
    return kept | more


def tilesmith(*words: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_warm(*words, cwd=cwd, env=clean(**environment))


MISTAKES = {
    (): "name a task to forge",
    ("nowhere.py",): "no such file",
    (str(RELU), "--effort", "heroic"): "unknown effort 'heroic'",
    (str(RELU), "--seeds", "0"): "--seeds 0: must be at least 1",
    (str(RELU), "--max-cost", "nan"): "--max-cost nan",
    (str(RELU), "--stages", "grid,paint"): "--stages grid,paint",
    (str(RELU), "--author", "shakespeare"): "unknown author 'shakespeare'",
    (str(RELU), "--author", "replay"): "--replay RUN",
    (str(RELU), "--author", "llm"): "no LLM is configured",
    (str(RELU), "--model", "gpt-x"): "openai needs a key: set OPENAI_API_KEY",
    (str(RELU), "--model", "nobodys"): "where is model nobodys served?",
    (str(RELU), "--base-url", "http://127.0.0.1:9/v1"): "name one with --model",
    (str(RELU), "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--max-cost", "1"): "price of m is unknown",
    (str(RELU), "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--idle-timeout", "-1"): "--idle-timeout -1",
    (str(RELU), "--price", "cheap"): "--price cheap",
    (str(RELU), "--author", "playbook", "--model", "gpt-x"): "leave out --model",
    (str(RELU), "--no-playbook"): "--no-playbook: the playbook is the author here; name another with --model",
    (str(RELU), "--tuning-s", "-1"): "--tuning-s -1: must be at least 0",
    (str(RELU), "--device", "cpu", "--target-speedup", "2"): "nothing is timed without a GPU",
    (str(RELU), "--precision", "half"): "unknown precision 'half'",
    ("--resume", "yesterday"): "no run 'yesterday'",
    ("--replay", "yesterday"): "no run 'yesterday'",
    ("--resume", "last", "--seeds", "2"): "leave out --seeds",
}


@pytest.mark.parametrize("words", MISTAKES, ids=lambda words: " ".join(words[-2:]) or "nothing")
def test_a_mistake_costs_one_line_and_leaves_nothing_behind(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = tilesmith("forge", *words, "--json", cwd=tmp_path)
    assert done.returncode == 2
    assert MISTAKES[words] in json.loads(done.stdout)["error"]
    assert done.stderr.strip().count("\n") == 0
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def forged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the playbook has forged a kernel, with a model named that must not be asked."""
    folder = tmp_path_factory.mktemp("forged")
    done = tilesmith("forge", RELU, *QUICK, "--author", "playbook", "--json", cwd=folder, TILESMITH_MODEL="gpt-x")
    assert done.returncode == 0, done.stderr
    (folder / "document.json").write_text(done.stdout)
    (folder / "told.txt").write_text(done.stderr)
    return folder


def test_the_playbook_needs_no_key(forged: Path) -> None:
    document = json.loads((forged / "document.json").read_text())
    assert document["best"] == 1
    assert "not confirmed, as asked" in document["why"]
    assert document["faster"] is None, "nothing is timed without a GPU"
    assert (forged / document["best_path"]).read_text().startswith("# tilesmith, run ")
    assert document["usage"]["input_tokens"] == 0
    told = (forged / "told.txt").read_text()
    assert "author  playbook: as asked" in told
    assert "\x1b" not in told


def test_best_passes_the_check_a_user_would_make(forged: Path) -> None:
    best = next(forged.glob("runs/*/best.py"))
    assert tilesmith("check", RELU, best, "--device", "cpu", cwd=forged).returncode == 0


def test_a_finished_run_resumes_to_the_same_end(forged: Path) -> None:
    before = next(forged.glob("runs/*/events.jsonl")).read_bytes()
    done = tilesmith("forge", "--resume", "last", "--json", cwd=forged)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads((forged / "document.json").read_text())
    assert "is finished" in done.stderr
    assert "kernel 1 " not in done.stderr.replace("kernel 1 is right", ""), "nothing is told as if it happened now"
    assert next(forged.glob("runs/*/events.jsonl")).read_bytes() == before


def test_a_replay_is_the_same_run_in_a_new_folder(forged: Path) -> None:
    first = next(forged.glob("runs/*-1"))
    done = tilesmith("forge", "--replay", first.name, "--json", cwd=forged)
    assert done.returncode == 0, done.stderr
    again = forged / json.loads(done.stdout)["run"]
    assert again != first
    for file in (*first.glob("kernels/*"), *first.glob("llm/*")):
        assert (again / file.relative_to(first)).read_bytes() == file.read_bytes()
    assert "worded differently" not in done.stderr


def test_a_task_that_changed_is_not_resumed(tmp_path: Path) -> None:
    task = tmp_path / "mine.py"
    task.write_text(RELU.read_text())
    nobody = ("--no-playbook", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--retries", "0")
    assert tilesmith("forge", task, *QUICK, *nobody, cwd=tmp_path).returncode == 2
    task.write_text(RELU.read_text() + "\n# another day\n")
    done = tilesmith("forge", "--resume", "last", cwd=tmp_path)
    assert done.returncode == 2
    assert "changed since the run began" in done.stderr


def test_a_task_no_recipe_fits(tmp_path: Path) -> None:
    text = (TESTS / "fixtures" / "tasks" / "avg_pool.py").read_text()
    task = tmp_path / "task.py"
    task.write_text(text.replace("kernel_size=2", "6, stride=1"))
    done = tilesmith("forge", task, *QUICK, "--json", cwd=tmp_path)
    assert done.returncode == 3
    document = json.loads(done.stdout)
    assert (document["best"], document["keeps_pytorch"]) == (None, True)
    assert document["why"].startswith("PyTorch is kept: 100% of PyTorch's")
    assert "no recipe for avg_pool2d; tilesmith forge --model MODEL" in document["why"]
    assert document["plan"]["operators"][0]["operator"] == "avg_pool2d"
    assert done.stderr.count("no recipe for") == 1, "told once"
    assert "roofline: at least" in done.stderr
    again = tilesmith("forge", "--resume", "last", cwd=tmp_path)
    assert again.returncode == 3
    assert "roofline: at least" in again.stdout


def test_whoever_reads_may_leave_early(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tilesmith", "forge", str(RELU), *QUICK]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=clean())
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"run ")
    process.stdout.close()
    assert process.wait() == 0
    assert next(tmp_path.glob("runs/*/best.py")).exists()


def test_ctrl_c_stops_at_once_and_the_run_can_go_on(tmp_path: Path) -> None:
    with ScriptedServer(Script(reply="never whole", faults=(Fault("stall", times=99),))) as server:
        llm = ("--no-playbook", "--base-url", server.base_url, "--model", "m", "--idle-timeout", "300")
        command = [sys.executable, "-m", "tilesmith", "forge", str(RELU), *QUICK, *llm, "--json"]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=clean(),
            preexec_fn=_hears_ctrl_c,
        )
        _wait_for(lambda: any(tmp_path.glob("runs/*/llm/0001.prompt.md")))
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 2
    error = json.loads(stdout)["error"]
    assert error.startswith("interrupted; the run is kept, go on with  tilesmith forge --resume runs/")
    assert error.encode() in stderr
    manifest = json.loads(next(tmp_path.glob("runs/*/run.json")).read_text())
    assert (manifest["status"], manifest["why"]) == ("stopped", "interrupted")
    assert "The run is stopped" in next(tmp_path.glob("runs/*/report.html")).read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_ended_before_it_did_anything_says_so(tmp_path: Path, number: signal.Signals) -> None:
    task = tmp_path / "slow.py"
    task.write_text(f"import time\n{RELU.read_text()}\n\ntime.sleep(100)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "tilesmith", "forge", str(task), *QUICK],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=clean(),
        preexec_fn=_hears_ctrl_c,
        text=True,
    )
    _wait_for(lambda: any("author" in log.read_text() for log in tmp_path.glob("runs/*/log.txt")))
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 2, stdout
    assert stderr.splitlines()[-1] == "tilesmith: interrupted; nothing had been done yet, so no run is kept"
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_wrong_address_can_be_put_right(tmp_path: Path) -> None:
    script = TESTS / "scripted_runs" / "prose_then_kernel"
    options = json.loads((script / "script.json").read_text())["options"]
    wrong = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--retries", "0")
    done = tilesmith("forge", script / "task.py", "--device", "cpu", "--no-confirm", *options, *wrong, cwd=tmp_path)
    assert done.returncode == 2
    assert "is the address right" in done.stderr
    with ScriptedServer(Script(script)) as server:
        right = ("--base-url", server.base_url, "--model", "m", "--price", "1,2")
        done = tilesmith("forge", "--resume", "last", *right, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "resumed after 0 calls and 0 verdicts" in done.stdout
    assert "cost    " in done.stdout
    manifest = json.loads(next(tmp_path.glob("runs/*/run.json")).read_text())
    assert manifest["configuration"]["author"]["endpoint"]["base_url"] == server.base_url


def test_a_broken_task_leaves_no_run(tmp_path: Path) -> None:
    task = tmp_path / "broken.py"
    task.write_text(RELU.read_text().replace("def forward(self, x", "def forward(self, not_x"))
    done = tilesmith("forge", task, *QUICK, cwd=tmp_path)
    assert done.returncode == 2
    assert "--resume" not in done.stderr
    assert list(tmp_path.glob("runs/*")) == []


def test_a_budget_that_allows_nothing_says_what_it_takes(tmp_path: Path) -> None:
    llm = ("--no-playbook", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--max-tokens", "1000")
    done = tilesmith("forge", RELU, *QUICK, *llm, "--json", cwd=tmp_path)
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert "it needs at least" in document["stopped_by"]
    assert document["why"] == f"no kernel was written: {document['stopped_by']}"


def test_a_terminal_sees_it_live(tmp_path: Path) -> None:
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "tilesmith", "forge", str(RELU), *QUICK]
    environment = clean(TERM="xterm-256color", COLUMNS="120", LINES="40")
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, cwd=tmp_path, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(mine, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(mine)
    assert process.wait() == 0
    text = shown.decode(errors="replace")
    assert "\x1b[" in text, "it is drawn"
    assert "judge kernel 1" in text, "what is going on now"
    assert "best: kernel 1" in text
    assert "elapsed" in text


def _hears_ctrl_c() -> None:
    """A job in the background of a shell, as CI may be, is started deaf to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _wait_for(condition, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
