"""An author that repeats what was said in a recorded run: the same run again, without network or cost."""

from __future__ import annotations

from pathlib import Path

from tilesmith.authors.protocol import Heard
from tilesmith.errors import AuthorError
from tilesmith.records import Called, Prompt, Reply, Request
from tilesmith.runs.journal import read_events
from tilesmith.runs.manifest import read_manifest


class ReplayAuthor:
    """Replies by the number of the request. Where verdicts differ from the recorded ones, so may the requests:
    then it has no answer, and says so."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._recorded = read_manifest(folder).author
        events = read_events(folder / "events.jsonl")
        self._calls = {event.number: event for event in events if isinstance(event, Called)}

    @property
    def name(self) -> str:
        return f"replay of {self._folder.name} ({self._recorded})"

    def answer(self, request: Request, prompt: Prompt, heard: Heard) -> Reply:
        called = self._calls.get(request.number)
        if called is None or called.phase is not request.phase:
            raise AuthorError(
                f"{self._folder}: has no answer to request {request.number} ({request.phase}): "
                "the verdicts here differ from those of the recorded run, or it ended earlier"
            )
        heard(len(called.reply.text))
        return called.reply
