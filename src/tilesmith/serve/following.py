"""News of a run that goes on, as Server-Sent Events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from tilesmith.runs.listing import file_stamp, read_run, run_folders
from tilesmith.runs.manifest import Status

_PAUSE_S = 0.4
"""Between two looks."""


def run_state(folder: Path) -> str:
    """A word that changes with every event, and ends with how the run stands."""
    return f"{file_stamp(folder / 'events.jsonl')}-{read_run(folder).status}"


def folder_state(parent: Path) -> str:
    """A word that changes with every event of any run, and when one ends or is killed."""
    runs = tuple((str(folder), run_state(folder)) for folder in sorted(run_folders(parent)))
    return f"{hash(runs):x}-{Status.RUNNING}"


def goes_on(state: str) -> bool:
    return state.endswith(f"-{Status.RUNNING}")


async def news(look: Callable[[], str], seen: str, is_ending: Callable[[], bool]) -> AsyncIterator[str]:
    """A message whenever there is something new; the last one when the run has ended."""
    while not is_ending():
        state = await run_in_threadpool(look)
        if state != seen:
            yield f"id: {state}\ndata: {state}\n\n"
            seen = state
        if not goes_on(state):
            yield "event: end\ndata: over\n\n"
            return
        await asyncio.sleep(_PAUSE_S)
