"""The files under checks/ run once, in a process of their own that interprets, and yield dicts of outcomes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PLAYBOOK = HERE.parents[2] / "playbook"
sys.path[:0] = [str(PLAYBOOK), str(PLAYBOOK / "recipes")]
SOURCE = HERE.parents[3] / "src"


@pytest.fixture(scope="session")
def outcomes() -> dict[str, dict]:
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, str(HERE / "run_checks.py"), *map(str, sorted((HERE / "checks").glob("*.py")))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def numerics(outcomes) -> dict:
    return outcomes["numerics"]


@pytest.fixture(scope="session")
def memory(outcomes) -> dict:
    return outcomes["memory"]


@pytest.fixture(scope="session")
def concurrency(outcomes) -> dict:
    return outcomes["concurrency"]


@pytest.fixture(scope="session")
def language(outcomes) -> dict:
    return outcomes["language"]
