"""An author that repeats what was said in a recorded run: the same run again, without network or cost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tilesmith.authors.protocol import OnProgress
from tilesmith.errors import AuthorError
from tilesmith.records import AuthorRequest, CallEvent, Prompt, Reply, Usage
from tilesmith.runs.digest import prompt_digest
from tilesmith.runs.journal import read_events
from tilesmith.runs.manifest import read_manifest

PriceFunction = Callable[[Usage], float | None]


class ReplayAuthor:
    """Replies by the number of the request. Usage and price are those of the recorded run, so that budgets end it
    where they ended that one; nothing is paid. Verdicts are given anew: where they differ from the recorded ones,
    the prompts do too, which is told, and in the end there may be a request nobody has answered."""

    def __init__(self, folder: Path, dollars: PriceFunction, notify: Callable[[str], None]) -> None:
        self._folder, self._dollars, self._notify = folder, dollars, notify
        self._recorded = read_manifest(folder).author
        events = read_events(folder / "events.jsonl")
        self._calls = {event.number: event for event in events if isinstance(event, CallEvent)}

    @property
    def name(self) -> str:
        return f"replay of {self._folder.name} ({self._recorded})"

    def dollars(self, usage: Usage) -> float | None:
        return self._dollars(usage)

    def answer(self, request: AuthorRequest, prompt: Prompt, on_progress: OnProgress) -> Reply:
        called = self._calls.get(request.number)
        if called is None or called.phase is not request.phase:
            raise AuthorError(
                f"{self._folder}: has no answer to request {request.number} ({request.phase}): "
                "the verdicts here differ from those of the recorded run, or it ended earlier"
            )
        if called.prompt_sha256 != prompt_digest(prompt):
            self._notify(f"request {request.number} is worded differently than in {self._folder.name}")
        on_progress(len(called.reply.text))
        return called.reply
