"""`tilesmith op` as a user meets it: one line and one exit code for every broken project."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from warm_commands import run_warm

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "operators"), str(TESTS / "llm")]

from made_up_judge import MadeUpJudge, timed  # noqa: E402
from script import Script  # noqa: E402
from scripted_server import ScriptedServer  # noqa: E402
from softmax_project import written  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from tilesmith.authors.author_choice import choose_author  # noqa: E402
from tilesmith.cli.main import app  # noqa: E402
from tilesmith.config import CheckConfig  # noqa: E402
from tilesmith.errors import ProjectError  # noqa: E402
from tilesmith.judge.trials import CompiledTrial  # noqa: E402
from tilesmith.llm.endpoint_choice import LlmOptions  # noqa: E402
from tilesmith.operators import checking  # noqa: E402
from tilesmith.operators.project import read_project, write_project  # noqa: E402
from tilesmith.operators.tuning.suggestions import suggest_tunings  # noqa: E402
from tilesmith.records import Verdict  # noqa: E402

Breaking = Callable[[Path], None]


def tilesmith(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TILESMITH_", "OPENAI_"))}
    return run_warm("op", *words, cwd=cwd, env=kept)


def replaced(kind: str, old: str, new: str) -> Breaking:
    def change(folder: Path) -> None:
        path = folder / f"softmax_{kind}.py"
        before, _, after = path.read_text().rpartition(old)
        path.write_text(f"{before}{new}{after}")

    return change


def removed(name: str) -> Breaking:
    return lambda folder: (folder / name).unlink()


BROKEN: dict[str, tuple[Breaking, str]] = {
    "drift in triton": (replaced("triton", "float = 2.0", "float = 3.0"), "softmax_triton.py: the default of"),
    "drift in baseline": (
        replaced("baseline", ", temperature: float = 2.0", ""),
        "softmax_baseline.py: softmax(x)",
    ),
    "drift in accuracy": (replaced("accuracy", "float = 2.0", "float"), "softmax_accuracy.py: the default of"),
    "drift in performance": (replaced("performance", "x [M, N];", "x [M];"), "softmax_performance.py: shapes and"),
    "no triton": (removed("softmax_triton.py"), "softmax_triton.py is missing from softmax; write it, or"),
    "no accuracy": (removed("softmax_accuracy.py"), "softmax_accuracy.py is missing from softmax; put it back"),
    "no operator.toml": (removed("operator.toml"), "operator.toml is missing from softmax; put it back"),
    "test tampered with": (
        replaced("accuracy", "2 * distance", "9 * distance"),
        "softmax_accuracy.py is not",
    ),
    "target tampered with": (
        replaced("performance", "TARGET = 1.0", "TARGET = 0"),
        "softmax_performance.py is not",
    ),
    "baseline tampered with": (
        replaced("baseline", "dim=-1", "dim=0"),
        "softmax_baseline.py was changed, and",
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made, texts = written(folder=tmp_path / "softmax")
    write_project(made)
    for kind, text in texts.items():
        made.path(kind).write_text(text)
    return made.folder


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_project_is_one_line_that_names_the_file(name: str, project: Path) -> None:
    breaking, said = BROKEN[name]
    breaking(project)
    done = tilesmith("check", "softmax", "--json", cwd=project.parent)
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert error.startswith(said)
    assert done.stderr == f"tilesmith: {error}\n"


MISTAKES = {
    ("new", "scaled"): "say what it computes by one of --from, --expr, --words",
    ("new", "scaled", "--expr", "x", "--words", "twice x"): "say what it computes by one of",
    ("new", "scaled", "--expr", "x *"): "--expr: invalid syntax",
    ("new", "scaled", "--expr", "x * 2", "--shapes", "y=N"): "--shapes: scaled has no tensor 'y'",
    ("new", "scaled", "--expr", "x * 2", "--dtypes", "half"): "dtype 'half' is none of",
    ("new", "wide", "--expr", "x + y", "--shapes", "x=M,N; y=K"): "wide runs in PyTorch on single elements only",
    ("new", "own", "--expr", "F.nosuch(x)"): "own does not run in PyTorch: AttributeError: module",
    ("new", "2x", "--expr", "x * 2"): "'2x' is no name for a Python function",
    ("new", "scaled", "--from", "nowhere.py"): "nowhere.py: cannot be read",
    ("new", "scaled", "--words", "twice x"): "--words needs an LLM",
    ("new", "scaled", "--update"): "scaled: no operator project",
    (
        "new",
        "softmax",
        "--update",
        "--target",
        "2",
    ): "--update takes shapes, dtypes and the target from",
    ("new", "softmax", "--expr", "x * 2"): "softmax has an operator already",
    ("check", "nowhere"): "nowhere: no operator project",
    ("tune", "nowhere"): "nowhere: no operator project",
    ("tune", "softmax", "--autotune", "--dispatch"): "--autotune and --dispatch are two ways to choose by shape",
    ("tune", "softmax", "--seconds", "0"): "--seconds 0: the search needs some time",
    ("check", "softmax/softmax_triton.py"): "softmax/softmax_triton.py is a file: name the folder of the operator",
    ("tune", "softmax"): "softmax_triton.py: no constants to tune: write them at the top",
}


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_a_mistake_is_one_line(words: tuple[str, ...], project: Path) -> None:
    done = tilesmith(*words, cwd=project.parent)
    assert done.returncode == 2
    assert done.stderr.startswith(f"tilesmith: {MISTAKES[words]}")
    assert done.stderr.count("\n") == 1


DEFINITION = """Here it is:

```python
DTYPES = ["float32"]
ACCURACY = [{"M": 3, "N": 5}]


def twice(x):
    return x + x
```
"""


def test_words_become_a_definition_that_the_user_sees(tmp_path: Path) -> None:
    with ScriptedServer(Script(reply=DEFINITION)) as server:
        llm = ("--base-url", server.base_url, "--model", "m")
        done = tilesmith("new", "thrice", "--words", "three times x", *llm, cwd=tmp_path)
    assert done.returncode == 2
    assert "    def twice(x):\n" in done.stderr
    assert "wrote no definition of thrice (there is no function thrice, but twice" in done.stderr
    assert done.stderr.endswith("try other words, or --from\n")


def test_suggestions_of_a_model_are_kept_within_bounds() -> None:
    reply = '```json\n[{"BLOCK": 2048, "OTHER": 1}, {"BLOCK": 1000}, {"NUM_WARPS": 64}, {"NUM_WARPS": "8"}]\n```'
    told: list[str] = []
    with ScriptedServer(Script(reply=reply)) as server:
        author = choose_author("llm", LlmOptions("m", base_url=server.base_url), {})
        found = suggest_tunings("BLOCK = 1024\nNUM_WARPS = 4\n", author, told.append)
    assert [str(one) for one in found] == ["BLOCK = 2048, NUM_WARPS = 4"]
    assert told == ["m suggested 1 configurations"]


def test_help_has_examples(tmp_path: Path) -> None:
    for command in ("new", "check", "tune"):
        shown = tilesmith(command, "--help", cwd=tmp_path)
        assert f"tilesmith op {command} bias_add" in shown.stdout
        assert "Exit code 0" in shown.stdout


def test_new_and_check_by_hand(tmp_path: Path) -> None:
    (tmp_path / "double.py").write_text(
        "DTYPES = ['float32']\nACCURACY = [{'M': 3, 'N': 5}]\ndef double(x): return x + x\n"
    )
    made = tilesmith("new", "double", "--from", "double.py", "--json", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    assert document["files"][-1] == "operator.toml"
    assert document["accuracy"]["verdict"] == "passed"
    assert "x_ptr: a tensor torch.float32 (3, 5)" in document["accuracy"]["resources"][0]["arguments"]
    assert (made.stderr, document["runs"]) == ("", [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["double", "double.py"]
    done = tilesmith("check", "double", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("performance  not measured: no GPU here\n")
    file = tmp_path / "double" / "double_triton.py"
    file.write_text(file.read_text().replace("= x + x", "= x + x + 1"))
    failed = tilesmith("check", "double", "--json", cwd=tmp_path)
    assert failed.returncode == 1
    assert json.loads(failed.stdout)["passed"] is False
    updated = tilesmith("new", "double", "--update", "--runs", "kept", cwd=tmp_path)
    assert updated.returncode == 1
    wrote, kernel, check, *_, following = updated.stdout.splitlines()
    assert kernel == "kernel  the kernel is kept as it was"
    assert check.startswith("check   wrong_values: ")
    assert following == "next    mend double/double_triton.py, then  tilesmith op check double"
    assert "double_triton.py" not in wrote
    file.unlink()
    shown = tilesmith("new", "double", "--update", "--runs", "kept", cwd=tmp_path).stdout
    assert [line.split()[0] for line in shown.splitlines()] == ["wrote", "run", "kernel", "check", "next"]
    assert shown.endswith("next    tilesmith op tune double\n")


class MadeUpTrials:
    """Every text compiles, and all take the same time."""

    is_timed = True

    def compile(self, texts: list[str], limit_s: float) -> list[CompiledTrial]:
        return [CompiledTrial({}) for _ in texts]

    def time_ms(self, text: str, calls: int) -> float:
        return 1.0


class TimingJudge(MadeUpJudge):
    """A judge with a GPU, on which every kernel is right and has this speedup."""

    def trials(self, task: Path) -> contextlib.AbstractContextManager[MadeUpTrials]:
        return contextlib.nullcontext(MadeUpTrials())


@pytest.mark.parametrize("command", ["check", "tune"])
@pytest.mark.parametrize(("speedup", "code"), [(0.8, 1), (1.25, 0)])
def test_a_missed_target_is_no_success(
    command: str, speedup: float, code: int, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / "softmax_triton.py"
    file.write_text(file.read_text().replace("DTYPES =", "BLOCK = 1024\nDTYPES =", 1))
    judge = TimingJudge([timed(speedup)] * 99)
    monkeypatch.setattr(checking, "Judge", lambda config, host=None: contextlib.nullcontext(judge))
    done = CliRunner().invoke(app, ["op", command, str(project), "--json"])
    assert done.exit_code == code, done.output
    document = json.loads(done.stdout)
    assert (document if command == "tune" else document["performance"])["target_met"] is (code == 0)


def test_a_choice_by_shape_that_cannot_be_written_is_refused_before_the_search(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / "softmax_triton.py"
    file.write_text(file.read_text().replace("DTYPES =", "BLOCK = 1024\nDTYPES =", 1))
    judge = TimingJudge([])
    asked: list[float] = []

    def lend(config: CheckConfig, host: object = None) -> contextlib.AbstractContextManager[TimingJudge]:
        asked.append(config.timing_s)
        return contextlib.nullcontext(judge)

    monkeypatch.setattr(checking, "Judge", lend)
    done = CliRunner().invoke(app, ["op", "tune", str(project), "--dispatch", "--timing-s", "0.5"])
    assert isinstance(done.exception, ProjectError)
    assert "launches 0 kernels with constants of its own" in str(done.exception)
    assert judge.tasks == []
    assert asked == [0.5, 0.5]


def test_what_is_wrong_at_its_real_size_has_not_passed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_project(project).passed
    judge = MadeUpJudge([timed(1.0), *[timed(1.0, Verdict.WRONG_VALUES)] * 99])
    monkeypatch.setattr(checking, "Judge", lambda config, host=None: contextlib.nullcontext(judge))
    assert CliRunner().invoke(app, ["op", "check", str(project)]).exit_code == 1
    assert read_project(project).passed == {}


def test_a_wrong_kernel_is_no_success_for_tuning_either(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project / "softmax_triton.py"
    file.write_text(file.read_text().replace("DTYPES =", "BLOCK = 1024\nDTYPES =", 1))
    judge = MadeUpJudge([timed(1.0, Verdict.WRONG_VALUES)])
    monkeypatch.setattr(checking, "Judge", lambda config, host=None: contextlib.nullcontext(judge))
    done = CliRunner().invoke(app, ["op", "tune", str(project)])
    assert done.exit_code == 1
    assert "result   softmax_triton.py is wrong, so nothing was tried: a reason\n" in done.stdout
