"""Imports point one way, and the parent process never pays for torch."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
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


LAYERS = {
    "records": set(),
    "errors": set(),
    "config": {"errors"},
    "syntax": set(),
    "tasks": {"records", "errors", "syntax"},
    "lint": {"records", "errors", "syntax", "tasks"},
    "playbook": {"records", "errors", "syntax", "tasks", "lint"},
    "process": {"records", "errors", "tasks"},
    "worker": {"records", "errors", "tasks", "process"},
    "judge": {"records", "errors", "config", "syntax", "tasks", "lint", "process"},
    "llm": {"records", "errors", "config", "syntax", "tasks", "lint", "playbook"},
    "runs": {"records", "errors", "config", "tasks"},
    "report": {"records", "errors", "playbook", "runs"},
    "serve": {"records", "errors", "runs", "report"},
    "authors": {"records", "errors", "config", "tasks", "playbook", "llm", "runs"},
    "forge": {"records", "errors", "config", "syntax", "tasks", "lint", "judge", "llm", "runs", "authors"}
    | {"playbook", "report"},
    "live": {
        *[
            "records",
            "errors",
            "config",
            "tasks",
            "lint",
            "playbook",
            "process",
            "judge",
            "llm",
            "runs",
            "authors",
            "forge",
        ]
    },
    "operators": {
        "records",
        "errors",
        "config",
        "syntax",
        "tasks",
        "lint",
        "judge",
        "llm",
        "runs",
        "authors",
        "forge",
    }
    | {"playbook"},
    "study": {"records", "errors", "config", "tasks", "lint", "judge", "llm", "runs", "authors", "forge"},
    "suite": {
        "records",
        "errors",
        "config",
        "syntax",
        "tasks",
        "judge",
        "llm",
        "runs",
        "authors",
        "forge",
        "report",
        "playbook",
    },
    "cli": {
        *[
            "records",
            "errors",
            "config",
            "tasks",
            "lint",
            "playbook",
            "process",
            "judge",
            "llm",
            "runs",
            "authors",
            "forge",
            "operators",
            "report",
            "serve",
            "study",
            "suite",
            "mcp",
        ]
    },
    "mcp": {"records", "errors", "config", "tasks", "lint", "playbook", "judge", "llm", "runs", "authors", "forge"},
    "model_process": {"records", "errors", "tasks", "process", "worker", "live"},
    "__init__": set(),
    "__main__": {"cli"},
}
"""What each package may import of the others; `worker` is imported by processes of its own alone."""
MOST_MODULES = 15


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def shown(path: Path, what: str) -> str:
    return f"{path.relative_to(SOURCE)}: {what}"


def test_imports_point_one_way() -> None:
    wrong = [
        shown(path, name)
        for path in MODULES
        for name in imported(path)
        if name.startswith("tilesmith.")
        and (other := name.split(".")[1]) in LAYERS
        and other not in {layer(path), *LAYERS[layer(path)]}
    ]
    assert wrong == []


def test_heavy_packages_stay_where_they_belong() -> None:
    """torch and the like in the children and in live modules, the terminal in the command line, each SDK behind its
    own package."""
    homes = dict.fromkeys(HEAVY, ("worker", "live")) | {"typer": ("cli",), "rich": ("cli",), "openai": ("llm",)}
    homes |= dict.fromkeys(("mcp", "anyio", "jsonschema"), ("mcp",)) | dict.fromkeys(
        ("starlette", "uvicorn"), ("serve",)
    )
    wrong = [
        shown(path, name)
        for path in MODULES
        for name in imported(path)
        if (home := homes.get(name.split(".")[0])) and layer(path) not in home
    ]
    assert wrong == []


def test_class_names_are_unique() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_folder_is_crowded() -> None:
    folders = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    assert {str(folder): count for folder, count in folders.items() if count > MOST_MODULES} == {}


def test_every_request_is_answered() -> None:
    """By the role of some child: a method is found by its annotation."""
    asked = {
        node.name
        for path in (SOURCE / "process/protocol").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and any("Request[" in ast.unparse(base) for base in node.bases)
    }
    answered = {
        ast.unparse(node.args.args[1].annotation).split(".")[-1]
        for path in (*(SOURCE / "worker/roles").glob("*.py"), SOURCE / "model_process.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and len(node.args.args) == 2 and node.args.args[1].annotation
    }
    assert len(asked) >= 39
    assert asked - answered == set()


@pytest.mark.parametrize(
    "action",
    [
        "import tilesmith; dir(tilesmith)",
        "import tilesmith.judge",
        "import tilesmith.lint",
        "import tilesmith.judge.machine.diagnosis, tilesmith.cli.display.evaluation_display",
        "sys.argv = ['tilesmith', '--help']; from tilesmith.cli.main import main; main()",
        "sys.argv = ['tilesmith', 'check', '--help']; from tilesmith.cli.main import main; main()",
        "sys.argv = ['tilesmith', 'lint', sys.argv[1]]; from tilesmith.cli.main import main; main()",
        "import tilesmith.mcp.server",
        "import tilesmith.cli.named_model, tilesmith.cli.capture, tilesmith.cli.scan",
    ],
    ids=["package", "judge", "lint", "view", "help", "check help", "lint command", "mcp", "scan and capture"],
)
def test_the_parent_imports_no_heavy_package(action: str) -> None:
    program = (
        f"import sys\ntry:\n    {action}\nfinally:\n    import json\n    print(json.dumps(sorted(sys.modules)))"
    )
    example = Path(__file__).parents[1] / "examples/kernels/softmax.py"
    done = subprocess.run([sys.executable, "-c", program, str(example)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = {name.split(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}
    assert loaded & HEAVY == set()
