"""Sample projects, and tilesmith as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from warm_commands import run_warm

sys.path.insert(0, str(Path(__file__).parent))
from exchange_projects import write_sample

from tilesmith.operators.records import Operator

Done = subprocess.CompletedProcess[str]


@pytest.fixture
def sample(tmp_path: Path) -> Callable[[Operator], Path]:
    return lambda operator: write_sample(operator, tmp_path / "projects")


@pytest.fixture(scope="session")
def python() -> Callable[..., Done]:
    """Runs Python on what was exported; `with_` are further variables of its environment."""

    def run(*arguments: str | Path, cwd: Path, **with_: str) -> Done:
        command = [sys.executable, *map(str, arguments)]
        environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
        return subprocess.run(
            command, cwd=cwd, env=environment | with_, capture_output=True, text=True, timeout=300
        )

    return run


@pytest.fixture(scope="session")
def op() -> Callable[..., Done]:
    def run(*arguments: str | Path, cwd: Path | None = None) -> Done:
        return run_warm("op", *arguments, cwd=cwd)

    return run
