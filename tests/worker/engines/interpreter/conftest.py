"""Each file under checks/ runs once, in a process of its own, and yields a dict of outcomes."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCE = HERE.parents[3] / "src"


@functools.cache
def run_checks(name: str) -> dict[str, object]:
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, str(HERE / "run_checks.py"), str(HERE / "checks" / f"{name}.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def numerics() -> dict:
    return run_checks("numerics")


@pytest.fixture(scope="session")
def memory() -> dict:
    return run_checks("memory")


@pytest.fixture(scope="session")
def concurrency() -> dict:
    return run_checks("concurrency")


@pytest.fixture(scope="session")
def language() -> dict:
    return run_checks("language")
