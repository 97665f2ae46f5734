"""Imports point one way, and the parent process never pays for torch."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilesmith

SOURCE = Path(tilesmith.__file__).parent
TEXTS = SOURCE / "playbook" / "exemplars"
"""Kernels to be shown, never imported."""
MODULES = sorted(path for path in SOURCE.rglob("*.py") if TEXTS not in path.parents or path.name == "__init__.py")
HEAVY = {"torch", "triton", "numpy", "greenlet", "ml_dtypes"}


def imported(path: Path) -> Iterator[str]:
    """Dotted names a module imports anywhere, inside functions too."""
    package = ["tilesmith", *path.relative_to(SOURCE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def uses(path: Path, *layers: str) -> list[str]:
    starts = tuple(f"tilesmith.{name}" for name in layers)
    return [name for name in imported(path) if any(name == s or name.startswith(f"{s}.") for s in starts)]


def ids(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", [p for p in MODULES if layer(p) != "worker"], ids=ids)
def test_only_the_worker_imports_torch(path: Path) -> None:
    assert [name for name in imported(path) if name.split(".")[0] in HEAVY] == []


@pytest.mark.parametrize("path", [p for p in MODULES if layer(p) == "worker"], ids=ids)
def test_the_worker_knows_nothing_of_the_parent(path: Path) -> None:
    assert uses(path, "judge", "cli", "lint") == []


@pytest.mark.parametrize("path", [p for p in MODULES if layer(p) in ("lint", "tasks")], ids=ids)
def test_pure_layers_use_no_effects(path: Path) -> None:
    assert uses(path, "judge", "worker", "cli") == []


@pytest.mark.parametrize("path", [p for p in MODULES if layer(p) in ("records", "errors", "config")], ids=ids)
def test_the_nouns_stand_alone(path: Path) -> None:
    assert uses(path, "judge", "worker", "cli", "lint", "tasks") == []


ABOVE = {
    "playbook": ("judge", "worker", "llm", "runs", "authors", "forge", "cli"),
    "llm": ("judge", "worker", "runs", "authors", "forge", "cli"),
    "runs": ("judge", "worker", "llm", "authors", "forge", "cli"),
    "authors": ("judge", "worker", "forge", "cli"),
    "forge": ("worker", "cli"),
}
"""Of the layers that write kernels: what each may not know."""


@pytest.mark.parametrize("path", [p for p in MODULES if layer(p) in ABOVE], ids=ids)
def test_imports_point_down(path: Path) -> None:
    assert uses(path, *ABOVE[layer(path)]) == []
    assert [name for name in imported(path) if name.split(".")[0] in ("typer", "rich")] == []


@pytest.mark.parametrize("path", [p for p in MODULES if layer(p) == "judge"], ids=ids)
def test_the_judge_has_no_face(path: Path) -> None:
    assert uses(path, "cli") == []
    assert [name for name in imported(path) if name.split(".")[0] in ("typer", "rich")] == []


@pytest.mark.parametrize(
    "action",
    [
        "import tilesmith.judge",
        "import tilesmith.lint",
        "import tilesmith.judge.machine.diagnosis, tilesmith.cli.evaluation_display",
        "sys.argv = ['tilesmith', '--help']; from tilesmith.cli.main import main; main()",
        "sys.argv = ['tilesmith', 'check', '--help']; from tilesmith.cli.main import main; main()",
        "sys.argv = ['tilesmith', 'lint', sys.argv[1]]; from tilesmith.cli.main import main; main()",
    ],
    ids=["judge", "lint", "view", "help", "check help", "lint command"],
)
def test_the_parent_imports_no_heavy_package(action: str) -> None:
    program = (
        f"import sys\ntry:\n    {action}\nfinally:\n    import json\n    print(json.dumps(sorted(sys.modules)))"
    )
    example = Path(__file__).parents[2] / "examples/kernels/softmax.py"
    done = subprocess.run([sys.executable, "-c", program, str(example)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = {name.split(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}
    assert loaded & HEAVY == set()
