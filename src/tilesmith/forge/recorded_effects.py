"""The edge of the loop: the only place where it touches the world.

Whatever was answered or judged before is on record and is not done again, so a killed run resumes by running the
same loop over its journal: the loop decides by what is recorded and by nothing else.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from tilesmith.authors.protocol import Author
from tilesmith.errors import NotJudgedHere, RunError
from tilesmith.llm.prompts import write_prompt
from tilesmith.llm.retry import CallGivenUp
from tilesmith.records import (
    Attempt,
    AttemptEvent,
    AuthorRequest,
    CallEvent,
    Candidate,
    ConfirmationEvent,
    Evaluation,
    Event,
    LostCallEvent,
    Prompt,
    RefusalEvent,
    Reply,
    Survey,
    SurveyEvent,
    Usage,
)
from tilesmith.runs import RunFolder
from tilesmith.runs.digest import prompt_digest


class KernelEvaluator(Protocol):
    """Judges candidates. The real one is `forge.judge_evaluator.JudgeEvaluator`."""

    def survey(self) -> Survey: ...

    def evaluate(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation: ...

    def confirm(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        """Judges once more in fresh processes, under a seed that no candidate has seen."""


@dataclass(frozen=True)
class Activity:
    """What is going on right now, for whoever watches; never recorded."""

    what: str
    """call, judge, survey or confirm."""
    number: int = 0
    phase: str = ""
    detail: str = ""
    characters: int = 0


class RunObserver(Protocol):
    """Is told what a run does, from several threads: a terminal, a log, a page."""

    def activity_changed(self, activity: Activity) -> None: ...

    def event_recorded(self, event: Event) -> None:
        """The event is on disk. A resumed run repeats its old events first."""


class TimedEvaluation(NamedTuple):
    evaluation: Evaluation
    seconds: float


class RecordedEffects:
    """Asks the author and the evaluator, and records what they answer in the run folder."""

    def __init__(self, run: RunFolder, author: Author, evaluator: KernelEvaluator, observer: RunObserver) -> None:
        self.run, self.author, self._evaluator, self._observer = run, author, evaluator, observer
        self._calls: list[threading.Thread] = []

    def survey(self) -> Survey:
        surveyed = self.run.journal.find("survey")
        if not isinstance(surveyed, SurveyEvent):
            self._observer.activity_changed(Activity("survey"))
            surveyed = SurveyEvent(self._evaluator.survey())
        self.record(surveyed)
        return surveyed.survey

    def record(self, event: Event) -> bool:
        """Write the event to disk first, then tell the observer. Returns whether it is new."""
        is_new = self.run.record(event)
        self._observer.event_recorded(event)
        return is_new

    def ask(self, requests: Sequence[AuthorRequest]) -> Iterator[Reply]:
        """Replies in the order of the requests, which are all made at once.

        A reply counts only when it is on disk. When one request fails, the others are still waited for.
        """
        boxes = [self._start_call(request) for request in requests]
        failed: BaseException | None = None
        for box in boxes:
            outcome = box.get()
            if isinstance(outcome, BaseException):
                failed = failed or outcome
            elif failed is None:
                yield outcome
        if failed is not None:
            raise failed

    def lost_usage(self, requests: Sequence[AuthorRequest]) -> Usage:
        """What these requests have cost before, without an answer."""
        lost = (one.usage for request in requests for one in self._lost_calls(request.number))
        return sum(lost, Usage())

    def _lost_calls(self, number: int) -> list[LostCallEvent]:
        return [one for one in self.run.journal if isinstance(one, LostCallEvent) and one.number == number]

    def wait_for_calls(self) -> None:
        """Wait for the calls under way: what is paid for shall be on disk."""
        for call in self._calls:
            call.join()

    def judge(self, candidate: Candidate) -> TimedEvaluation:
        """Raises NotJudgedHere where this machine cannot, or could not when the run was recorded."""
        recorded = self.run.journal.find(f"attempt {candidate.number}")
        if isinstance(recorded, AttemptEvent):
            if recorded.attempt.candidate != candidate:
                raise self._mismatch(f"kernel {candidate.number}")
            self.run.kernel_path(candidate)
            return TimedEvaluation(recorded.attempt.evaluation, recorded.attempt.seconds)
        kernel = self.run.kernel_path(candidate)
        refusal = self.run.journal.find(f"refused {candidate.call}")
        if isinstance(refusal, RefusalEvent):
            raise NotJudgedHere(refusal.problem)
        return self._time_evaluation(lambda gate: self._evaluator.evaluate(kernel, gate), "judge", candidate)

    def confirm(self, attempt: Attempt) -> TimedEvaluation:
        """What is judged is what people get: the kernel with the checks that hold it to its limits, unless these
        would refuse the smaller shapes that were judged in place of the only ones it takes."""
        candidate = attempt.candidate
        recorded = self.run.journal.find(f"confirmed {candidate.number}")
        if isinstance(recorded, ConfirmationEvent):
            return TimedEvaluation(recorded.evaluation, recorded.seconds)
        kernel = self.run.write_best(attempt, "best so far; not yet confirmed")
        if attempt.evaluation.is_for_larger_shapes:
            kernel = self.run.kernel_path(candidate)
        return self._time_evaluation(lambda gate: self._evaluator.confirm(kernel, gate), "confirm", candidate)

    def _time_evaluation(
        self, judge: Callable[[Callable[[str], None]], Evaluation], what: str, candidate: Candidate
    ) -> TimedEvaluation:
        began = time.monotonic()
        told = Activity(what, candidate.number, candidate.phase)
        evaluation = judge(lambda gate: self._observer.activity_changed(replace(told, detail=gate)))
        return TimedEvaluation(evaluation, round(time.monotonic() - began, 3))

    def _start_call(self, request: AuthorRequest) -> queue.SimpleQueue[Reply | BaseException]:
        """On a daemon thread: an interrupted run does not wait for a model to finish its sentence."""
        box: queue.SimpleQueue[Reply | BaseException] = queue.SimpleQueue()

        def answer() -> None:
            try:
                box.put(self._answer(request))
            except BaseException as error:  # handed to the loop, which raises it
                box.put(error)

        self._calls.append(threading.Thread(target=answer, daemon=True, name=f"request {request.number}"))
        self._calls[-1].start()
        return box

    def _answer(self, request: AuthorRequest) -> Reply:
        prompt = write_prompt(request)
        self.run.write_prompt(request.number, prompt)
        called = self.run.journal.find(f"call {request.number}")
        if not isinstance(called, CallEvent):
            try:
                reply = self._ask(request, prompt)
            except CallGivenUp as error:
                if error.spent.tokens:
                    time_lost = len(self._lost_calls(request.number)) + 1
                    self.record(LostCallEvent(request.number, request.phase, time_lost, error.spent, str(error)))
                raise
            called = CallEvent(request.number, request.phase, prompt_digest(prompt), reply)
        if called.phase is not request.phase:
            raise self._mismatch(f"request {request.number}")
        self.record(called)
        self.run.write_reply(called)
        return called.reply

    def _mismatch(self, where: str) -> RunError:
        """Another version of tilesmith recorded this run, or somebody edited its record."""
        return RunError(f"{self.run.path}: its record does not fit at {where}; start a new run, or use --replay")

    def _ask(self, request: AuthorRequest, prompt: Prompt) -> Reply:
        told = Activity("call", request.number, request.phase, request.stage or "")
        self._observer.activity_changed(told)

        def progress(characters: int, detail: str = "") -> None:
            self._observer.activity_changed(replace(told, characters=characters, detail=detail or told.detail))

        reply = self.author.answer(request, prompt, progress)
        return replace(reply, text=reply.text.encode("utf-8", "replace").decode())
