"""What the scripted server says: replies from a script folder or one fixed reply, and faults thrown in.

A script folder holds `<phase>-<n>.md`, the reply to the n-th different prompt of that phase (seeds: seed number n;
stages: `stage-grid-<n>.md`), and `<phase>-<n>-again.md`, the reply when the same thing is asked once more with a
complaint. The first line of the user prompt tells the phase: `# Request: seed 2 of 3`, `# Request: stage grid`.
The same prompt always gets the same reply, so a client may be killed and come back.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COMPLAINT = "## Your last reply could not be used"
FIRST_LINE = re.compile(r"# Request: (?P<phase>\w+)(?: (?P<detail>\w+))?")
PROSE = "I would start by fusing the two loads, and then choose larger tiles. Let me know if you want the code."
WRONG_JSON = '{"bottleneck": ["memory", "expected_speedup": "a lot",,}'
KINDS = ("status", "slow", "stall", "cut", "empty", "prose", "wrong-json", "truncated", "huge", "refusal", "error")


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong with the requests it matches: `call` (the n-th request of all), or `phase` and its
    `occurrence` (the n-th request of that phase, retries included); neither: any request. At most `times`."""

    kind: str
    call: int | None = None
    phase: str | None = None
    occurrence: int | None = None
    times: int = 1
    status: int = 429
    retry_after: str | None = None
    message: str = "slow down"
    code: str | int | None = None
    delay_s: float = 0.05
    """slow: between two chunks."""
    after_chunks: int = 2
    """stall, cut, error: so many chunks are sent before."""
    characters: int = 1_200_000
    """huge: length of the reply."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown fault {self.kind}: take one of {', '.join(KINDS)}")

    def matches(self, call: int, phase: str, occurrence: int) -> bool:
        if self.call is not None:
            return self.call == call
        return self.phase in (None, phase) and self.occurrence in (None, occurrence)


def storm(times: int, retry_after: str | None = None, **where: Any) -> Fault:
    """`times` refusals in a row, then all is well."""
    return Fault("status", times=times, status=429, retry_after=retry_after, **where)


@dataclass(frozen=True)
class Script:
    """Everything the server is told beforehand."""

    folder: Path | None = None
    reply: str | None = None
    """Answers every prompt the folder does not."""
    faults: tuple[Fault, ...] = ()
    key: str | None = None
    """The only key let in; null lets everybody in."""
    refuses: tuple[str, ...] = ()
    """Fields of a request this server does not understand."""
    reasoning: str = ""
    """Streamed as reasoning before every reply."""
    usage: dict[str, Any] | None = field(default_factory=dict)
    """Sent as the usage; empty: counted from characters; null: never sent."""
    streams: bool = True
    """False: answers a request for a stream with one JSON document."""
    chunk_characters: int = 200
    keep_alive: int = 0
    """Comments sent before the first chunk."""


@dataclass(frozen=True)
class ChosenReply:
    """One request, and what is due."""

    number: int
    phase: str
    sha256: str
    name: str | None
    """The reply's file name without its ending; null where a fixed reply answers."""
    text: str | None
    """Null when the folder has nothing for this prompt."""
    fault: Fault | None


class ReplyChooser:
    """Decides what each request gets. Safe to ask from several threads."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._lock = threading.Lock()
        self._names: dict[str, str | None] = {}
        self._slots: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()
        self._spent: Counter[int] = Counter()
        self._replaced: set[str | None] = set()

    def choose(self, system: str, user: str) -> ChosenReply:
        sha256 = hashlib.sha256(f"{system}\n\n{user}".encode()).hexdigest()
        with self._lock:
            phase, number = _phase(user)
            self._requests.update(("", phase))
            fault = self._fault(self._requests[""], phase, self._requests[phase])
            if sha256 not in self._names:
                self._names[sha256] = self._name(phase, number, COMPLAINT in user)
            name = self._names[sha256]
            if fault and fault.kind in ("empty", "prose", "wrong-json", "huge", "truncated", "refusal"):
                self._replaced.add(name)
            return ChosenReply(self._requests[""], phase, sha256, name, self._text(name), fault)

    def _fault(self, call: int, phase: str, occurrence: int) -> Fault | None:
        for index, fault in enumerate(self.script.faults):
            if self._spent[index] < fault.times and fault.matches(call, phase, occurrence):
                self._spent[index] += 1
                return fault
        return None

    def _name(self, phase: str, number: int | None, again: bool) -> str | None:
        """The file for a prompt not seen before."""
        if self.script.folder is None or not phase:
            return None
        if number is None:
            self._slots[phase] += not again
            number = max(1, self._slots[phase])
        return f"{phase}-{number}-again" if again else f"{phase}-{number}"

    def _text(self, name: str | None) -> str | None:
        if name is None or self.script.folder is None:
            return self.script.reply
        file = self.script.folder / f"{name}.md"
        if file.exists():
            return file.read_text()
        # What a fault took away the first time is given when it is asked for again.
        lost = name.removesuffix("-again")
        if lost != name and lost in self._replaced:
            return self._text(lost)
        return self.script.reply


def _phase(user: str) -> tuple[str, int | None]:
    """The phase as it begins a file name, and the number where the prompt says it."""
    found = FIRST_LINE.match(user)
    if found is None:
        return "", None
    phase, detail = found["phase"], found["detail"]
    if phase == "stage":
        return f"stage-{detail}", None
    return phase, int(detail) if phase == "seed" and detail else None
