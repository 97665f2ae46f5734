"""Every way a provider can fail in the middle of a run: the run gets over it, or stops so that it can go on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from marked_kernels import MarkedEvaluator, RecordingObserver, analysis, kernel, new_run
from script import Fault, Script, storm
from scripted_run import CANARY
from scripted_server import ScriptedServer

from tilesmith.authors.llm import LlmAuthor
from tilesmith.errors import AuthorError
from tilesmith.forge.runner import run_forge
from tilesmith.forge.settings import ForgeSettings
from tilesmith.llm.prices import Price
from tilesmith.llm.providers import OWN_KEY, Endpoint
from tilesmith.llm.retry import CallLimits, RetryPolicy
from tilesmith.records import AnalysisEvent, FinishedEvent, LostCallEvent, Phase, RefusalEvent
from tilesmith.runs import RunFolder, Status
from tilesmith.runs.summary import summarize

REPLIES = {
    "seed-1": kernel("passed 0.4", "a"),
    "seed-2": kernel("passed 0.6", "b"),
    "analyze-1": analysis("low"),
    "optimize-1": kernel("passed 1.4", "c"),
}
SETTINGS = ForgeSettings(seeds=2, rounds=1, stages="none")


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    folder = tmp_path / "script"
    folder.mkdir()
    for name, text in REPLIES.items():
        (folder / f"{name}.md").write_text(text)
    return folder


def author_at(server: ScriptedServer, waits: list[float] | None = None) -> LlmAuthor:
    """An impatient one: what it would have waited for is noted."""
    noted = waits if waits is not None else []
    limits = CallLimits(idle_timeout_s=0.5, call_timeout_s=20)
    endpoint = Endpoint("scripted", server.base_url, None, OWN_KEY)
    retry_policy = RetryPolicy(retries=4, sleep=noted.append)
    return LlmAuthor(endpoint, {OWN_KEY: CANARY}, limits=limits, retry_policy=retry_policy, price=Price(1, 2))


def forged(run: RunFolder, server: ScriptedServer) -> tuple[FinishedEvent, RecordingObserver]:
    observer = RecordingObserver()
    return run_forge(run, author_at(server), MarkedEvaluator(), SETTINGS, observer), observer


OVERCOME: dict[str, Sequence[Fault]] = {
    "429 storm": [storm(3, retry_after="7", phase="seed")],
    "500s": [Fault("status", status=500, times=3)],
    "503 in the middle": [Fault("status", status=503, phase="optimize", times=2)],
    "slow stream": [Fault("slow", phase="seed", delay_s=0.05, times=2)],
    "stalled stream": [Fault("stall", phase="analyze")],
    "cut connection": [Fault("cut", phase="seed", times=2), Fault("cut", phase="optimize", after_chunks=1)],
    "empty reply": [Fault("empty", phase="seed"), Fault("empty", phase="analyze")],
    "prose only": [Fault("prose", phase="optimize")],
    "wrong JSON": [Fault("wrong-json", phase="analyze")],
    "truncated code": [Fault("truncated", phase="optimize")],
    "a reply of 1 MB": [Fault("huge", phase="seed")],
}


@pytest.mark.parametrize("name", OVERCOME)
def test_the_run_gets_over(replies: Path, tmp_path: Path, name: str) -> None:
    with (
        ScriptedServer(Script(replies, faults=tuple(OVERCOME[name]))) as server,
        new_run(tmp_path, SETTINGS) as run,
    ):
        finished, _ = forged(run, server)
        assert any(entry.fault for entry in server.log), "the fault was thrown in"
    assert (finished.faster, finished.score) == (True, 1.4)


def test_what_came_of_a_call_that_is_given_up_is_counted(replies: Path, tmp_path: Path) -> None:
    """Five tries of the optimization are cut; the resumed run gets its answer, and both are paid for."""
    cut = (Fault("cut", phase="optimize", after_chunks=3, times=5),)
    with (
        ScriptedServer(Script(replies, faults=cut, chunk_characters=8)) as server,
        new_run(tmp_path, SETTINGS) as run,
    ):
        with pytest.raises(AuthorError, match="gave up after 5 tries"):
            forged(run, server)
        (lost,) = (event for event in run.journal if isinstance(event, LostCallEvent))
        before = summarize(run.journal)
        assert (lost.number, lost.phase) == (4, Phase.OPTIMIZE)
        assert lost.usage.tokens > 0
        assert lost.usage.dollars
        assert before.costs_by_phase[Phase.OPTIMIZE].usage == lost.usage
        finished, _ = forged(run, server)
        after = summarize(run.journal)
    assert finished.score == 1.4
    answered = next(one.reply.usage for one in after.calls_made if one.phase is Phase.OPTIMIZE)
    assert after.costs_by_phase[Phase.OPTIMIZE].usage == lost.usage + answered


def test_an_analysis_that_never_comes_is_done_without(replies: Path, tmp_path: Path) -> None:
    faults = (Fault("wrong-json", phase="analyze", times=2),)
    with ScriptedServer(Script(replies, faults=faults)) as server, new_run(tmp_path, SETTINGS) as run:
        finished, observer = forged(run, server)
    assert [event.analysis for event in observer.events if isinstance(event, AnalysisEvent)] == [None, None]
    assert finished.score == 1.4


def test_a_kernel_that_never_comes_leaves_the_best_as_it_is(replies: Path, tmp_path: Path) -> None:
    faults = (Fault("prose", phase="optimize", times=2),)
    with ScriptedServer(Script(replies, faults=faults)) as server, new_run(tmp_path, SETTINGS) as run:
        finished, observer = forged(run, server)
    assert len([event for event in observer.events if isinstance(event, RefusalEvent)]) == 2
    assert (finished.best, finished.faster) == (2, False)


STOPPING = {
    "a key that is refused": (Script(key="another"), "Incorrect API key"),
    "a storm that does not end": (Script(faults=(storm(99),)), "slow down"),
    "no money": (
        Script(faults=(Fault("status", times=99, code="insufficient_quota", message="You exceeded your quota"),)),
        "exceeded your quota",
    ),
    "an unknown model": (
        Script(faults=(Fault("status", times=99, status=404, message="The model does not exist"),)),
        "The model does not exist",
    ),
}


@pytest.mark.parametrize("name", STOPPING)
def test_the_run_stops_in_the_providers_words_and_can_go_on(replies: Path, tmp_path: Path, name: str) -> None:
    script, words = STOPPING[name]
    with (
        ScriptedServer(Script(replies, key=script.key, faults=script.faults)) as server,
        new_run(tmp_path, SETTINGS) as run,
    ):
        with pytest.raises(AuthorError, match=words) as raised:
            forged(run, server)
        assert CANARY not in str(raised.value)
    assert "\n" not in str(raised.value)
    assert run.manifest.status is Status.STOPPED
    assert words in json.loads((run.path / "run.json").read_text())["why"]
    for file in filter(Path.is_file, run.path.rglob("*")):
        assert CANARY not in file.read_text()
    with ScriptedServer(Script(replies)) as server:
        again = RunFolder(run.path)
        finished, _ = forged(again, server)
        again.close()
    assert finished.score == 1.4
