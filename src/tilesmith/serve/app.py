"""The web application: every address, and what answers it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from tilesmith.errors import RunError, UsageError
from tilesmith.report.page import ServedPage, render_served_run
from tilesmith.report.run_view import RUN_FILES, read_report_run, report_view
from tilesmith.runs.compared.comparison import compare_runs
from tilesmith.runs.journal import read_events
from tilesmith.runs.listing import list_runs, run_folders
from tilesmith.runs.summary import summarize
from tilesmith.serve.following import folder_state, goes_on, news, run_state
from tilesmith.serve.guard import Guard
from tilesmith.serve.pages import (
    render_comparison,
    render_list,
    render_message,
    run_address,
    served_policy,
    wanted_runs,
)


def guarded_app(runs: Path, port: int, token: str, is_ending: Callable[[], bool]) -> ASGIApp:
    return Guard(_RunsSite(runs, is_ending).app, port, token, served_policy())


class _RunsSite:
    """What is shown of one folder of runs. Only runs that lie in it have an address."""

    def __init__(self, runs: Path, is_ending: Callable[[], bool]) -> None:
        self._runs = runs
        self._is_ending = is_ending
        self._drawing = threading.Lock()  # matplotlib keeps its settings for the whole process
        routes = [
            Route("/", self.show_list),
            Route("/news", self.tell_news),
            Route("/compare", self.compare),
            Route("/runs/{name}/", self.show_run),
            Route("/runs/{name}/news", self.tell_news_of_run),
            Route("/runs/{name}/{file:path}", self.show_file),
        ]
        answers = {HTTPException: _show_refusal, RunError: _show_damage, Exception: _show_fault}
        self.app = Starlette(routes=routes, exception_handlers=answers)

    def show_list(self, request: Request) -> Response:
        state, problem = folder_state(self._runs), ""
        try:
            found = list_runs(self._runs, wanted_runs(request.query_params))
        except UsageError as error:
            found, problem = [], str(error)
        return HTMLResponse(render_list(found, request.query_params, problem, f"/news?seen={state}"))

    def show_run(self, request: Request) -> Response:
        folder = self._folder(request.path_params["name"])
        state = run_state(folder)  # before the events are read, so that none is missed
        address = run_address(folder.name)
        served = ServedPage(f"{address}news?seen={state}" if goes_on(state) else None)
        with self._drawing:
            return HTMLResponse(render_served_run(report_view(read_report_run(folder)), served))

    def compare(self, request: Request) -> Response:
        first, second = (self._folder(request.query_params.get(side, "")) for side in "ab")
        found = compare_runs(first, second)  # refuses damaged runs
        best, other = (summarize(read_events(folder / "events.jsonl")).best for folder in (first, second))
        return HTMLResponse(render_comparison(found, (best, other)))

    def show_file(self, request: Request) -> Response:
        """A file that a page links to, as plain text."""
        folder, name = self._folder(request.path_params["name"]).resolve(), Path(request.path_params["file"])
        path = (folder / name).resolve()
        is_linked = str(name) in RUN_FILES or (str(name.parent) == "kernels" and name.suffix == ".py")
        if not is_linked or not path.is_relative_to(folder) or not path.is_file():
            raise HTTPException(404, f"The run has no file {name}.")
        return Response(path.read_bytes(), media_type="text/plain")  # at once: a run's files grow as they are sent

    async def tell_news(self, request: Request) -> Response:
        return self._stream(request, lambda: folder_state(self._runs))

    async def tell_news_of_run(self, request: Request) -> Response:
        folder = self._folder(request.path_params["name"])
        return self._stream(request, lambda: run_state(folder))

    def _stream(self, request: Request, look: Callable[[], str]) -> Response:
        seen = request.headers.get("last-event-id") or request.query_params.get("seen", "")
        return StreamingResponse(news(look, seen, self._is_ending), media_type="text/event-stream")

    def _folder(self, name: str) -> Path:
        found = next((folder for folder in run_folders(self._runs) if folder.name == name), None)
        if found is None:
            raise HTTPException(404, f"There is no run '{name}' here." if name else "Choose two runs in the list.")
        return found


def _show_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return HTMLResponse(render_message("Not found", error.detail), error.status_code)


def _show_damage(request: Request, error: Exception) -> Response:
    return HTMLResponse(render_message("This run cannot be shown", str(error)), 404)


def _show_fault(request: Request, error: Exception) -> Response:
    """Whatever a damaged or hostile folder makes us stumble over."""
    return HTMLResponse(render_message("This cannot be shown", f"{type(error).__name__}: {error}"), 500)
