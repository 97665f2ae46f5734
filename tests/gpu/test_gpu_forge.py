"""Whole runs with real timing: the playbook's, and stories told by the scripted server."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "forge"), str(TESTS / "llm")]

from telling import tell  # noqa: E402

from tilesmith.records import Attempted, Confirmed  # noqa: E402
from tilesmith.runs.journal import read_events  # noqa: E402

pytestmark = pytest.mark.gpu
needs_sdk = pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="the openai package is not here")


@pytest.mark.parametrize("name", ["softmax", "swiglu"])
def test_the_playbook_forges_a_kernel_and_times_it(tmp_path: Path, name: str) -> None:
    task = TESTS.parent / "examples" / f"{name}.py"
    command = [sys.executable, "-m", "tilesmith", "forge", str(task), "--author", "playbook", "--json"]
    options = ["--runs", str(tmp_path), "--seeds", "2", "--rounds", "0", "--stages", "memory", "--timing-s", "1"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    events = read_events(Path(document["run"]) / "events.jsonl")
    scores = [one.attempt.score for one in events if isinstance(one, Attempted) and one.attempt.evaluation.passed]
    assert all(score is not None and score > 0 for score in scores)
    confirmed = next(one for one in events if isinstance(one, Confirmed))
    assert document["score"] == confirmed.score
    assert document["faster"] in (True, False)
    first_line = Path(document["best_path"]).read_text().splitlines()[0]
    assert ("NOT faster" in first_line) == (document["faster"] is False)


@needs_sdk
def test_what_is_slower_is_dropped_by_the_clock(tmp_path: Path) -> None:
    telling = tell("stage_makes_it_worse", tmp_path, ("--device", "cuda", "--no-confirm", "--timing-s", "1"))
    assert telling.code == 0, telling.stderr
    kept = [one.score for one in telling.attempts if one.kept]
    assert kept == sorted(kept), "the best only gets better"
    assert not telling.attempt_of("stage-block-1").kept


@needs_sdk
def test_the_rescue_by_analysis_shows_in_the_score(tmp_path: Path) -> None:
    telling = tell("gru_rescued_by_analysis", tmp_path, ("--device", "cuda", "--no-confirm", "--timing-s", "1"))
    assert telling.code == 0, telling.stderr
    seed, rescued = telling.attempt_of("seed-1"), telling.attempt_of("repair-2")
    assert rescued.score > 2 * seed.score
    assert telling.document["best"] == rescued.candidate.number
