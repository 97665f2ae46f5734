"""The tools over the Model Context Protocol, on stdin and stdout.

A call works in a thread of its own, so that the server answers meanwhile. A cancelled call is left at once; its
thread ends at the next step of the judge. What goes wrong is a result that says so, `{"error": ...}`, and is marked
as an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from tilesmith import __version__
from tilesmith.errors import TilesmithError, UsageError
from tilesmith.judge.warm_judges import WarmJudges
from tilesmith.mcp.small_documents import small_json
from tilesmith.mcp.tool import ToolCall
from tilesmith.mcp.tools import TOOLS
from tilesmith.mcp.workspace import Workspace

_INSTRUCTIONS = (
    "tilesmith judges and writes Triton kernels. `plan` a task, write a kernel (a file with ModelNew) or let "
    "`forge` write one, `lint` it, then `check` it: the verdict's reason says what to repair. `explain` says what "
    "a rule or a verdict means. Paths are relative to the server's root."
)
_Context = ServerRequestContext[Any]


def serve(workspace: Workspace) -> None:
    """Until stdin ends."""
    os.chdir(workspace.root)
    judges = WarmJudges()
    try:
        anyio.run(_serve, workspace, judges)
    finally:
        judges.close()


async def _serve(workspace: Workspace, judges: WarmJudges) -> None:
    server = Server(
        "tilesmith",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=partial(_call_tool, workspace, judges),
    )
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())
    judges.close()  # whatever is still at work fails now, and its thread ends


async def _list_tools(context: _Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(
        tools=[
            Tool(
                name=tool.name,
                description=tool.description,
                input_schema=tool.schema,
                annotations=ToolAnnotations(read_only_hint=not tool.changes_files, open_world_hint=False),
            )
            for tool in TOOLS.values()
        ]
    )


async def _call_tool(
    workspace: Workspace, judges: WarmJudges, context: _Context, params: CallToolRequestParams
) -> CallToolResult:
    lines, received = anyio.create_memory_object_stream[str](1000)
    loop = asyncio.get_running_loop()

    def notify(line: str) -> None:
        """From any thread; what nobody waits for any more is dropped."""
        with contextlib.suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(_send, lines, line)

    call = ToolCall(params.arguments or {}, workspace, judges, notify)
    async with anyio.create_task_group() as group:
        group.start_soon(_report_progress, context, received)
        try:
            result = await anyio.to_thread.run_sync(_run, params.name, call, abandon_on_cancel=True)
        finally:
            call.cancelled.set()
            lines.close()
    return result


def _send(lines: Any, line: str) -> None:
    with contextlib.suppress(anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
        lines.send_nowait(line)


async def _report_progress(context: _Context, lines: Any) -> None:
    count = 0
    async for line in lines:
        count += 1
        await context.session.report_progress(count, None, line)


def _run(name: str, call: ToolCall) -> CallToolResult:
    try:
        if name not in TOOLS:
            raise UsageError(f"no tool '{name}': use {', '.join(TOOLS)}")
        TOOLS[name].check_arguments(call.arguments)
        return _result(TOOLS[name].run(call))
    except TilesmithError as error:
        return _result({"error": str(error)}, is_error=True)
    except Exception as error:  # the seam: whatever it is, the client gets an answer
        return _result({"error": f"our own failure: {type(error).__name__}: {error}"}, is_error=True)


def _result(document: dict[str, Any], is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=small_json(document))], is_error=is_error)
