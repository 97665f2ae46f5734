"""The MCP server as an agent meets it: a real process, asked by the SDK's own client over stdio."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

from tilesmith.mcp.small_documents import MOST_CHARACTERS

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
POOLING = """\
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.avg_pool2d(x, 6, stride=1)
def get_inputs():
    return [torch.randn(2, 3, 8, 8)]
def get_init_inputs():
    return []
"""
T = TypeVar("T")
Ask = Callable[[Client], Coroutine[Any, Any, T]]


def command(root: Path) -> StdioServerParameters:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TILESMITH_")}
    environment["PYTHONPATH"] = str(ROOT / "src")
    arguments = ["-m", "tilesmith", "mcp", "--root", str(root)]
    return StdioServerParameters(command=sys.executable, args=arguments, env=environment)


class RunningServer:
    """One server for the module, with its client in the loop of a thread: tests ask from outside."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._loop = asyncio.new_event_loop()
        self._ready, self._end = threading.Event(), asyncio.Event()
        self._client: Client | None = None
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._live(),))
        self._thread.start()
        assert self._ready.wait(60)

    async def _live(self) -> None:
        async with Client(command(self.root), mode="legacy") as client:  # the handshake that most agents speak
            self._client = client
            self._ready.set()
            await self._end.wait()

    def ask(self, question: Ask[T]) -> T:
        assert self._client is not None, "the server did not start"
        return asyncio.run_coroutine_threadsafe(question(self._client), self._loop).result(180)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.ask(lambda client: client.call_tool(tool, arguments))
        assert not result.is_error, result.content
        return document(result)

    def refused(self, tool: str, **arguments: Any) -> str:
        result = self.ask(lambda client: client.call_tool(tool, arguments))
        assert result.is_error, result.content
        (error,) = document(result).values()
        assert "\n" not in error
        return error

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(30)


def document(result: CallToolResult) -> dict[str, Any]:
    (content,) = result.content
    assert content.type == "text"
    assert len(content.text) <= MOST_CHARACTERS
    return json.loads(content.text)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    root = tmp_path_factory.mktemp("agent") / "work"
    root.mkdir()
    for name in ("tasks/relu.py", "kernels/relu_own_copy.py", "kernels/relu_store_without_mask.py"):
        shutil.copy(TESTS / "fixtures" / name, root / Path(name).name.replace("relu.py", "task.py"))
    (root / "pooling.py").write_text(POOLING)
    (root / "notes.txt").write_text("no task")
    (root.parent / "secret.py").write_text("outside")
    (root / "link.py").symlink_to(root.parent / "secret.py")
    running = RunningServer(root)
    yield running
    running.close()


def test_tools_are_listed_with_schemas(server: RunningServer) -> None:
    tools = {tool.name: tool for tool in server.ask(lambda client: client.list_tools()).tools}
    assert set(tools) == {"check", "lint", "explain", "certify", "plan", "forge", "runs"}
    assert tools["check"].input_schema["required"] == ["task", "kernel"]
    assert all(tool.description for tool in tools.values())


def test_a_client_of_the_newest_protocol_is_served_too(server: RunningServer) -> None:
    async def lint(client: Client) -> CallToolResult:
        async with Client(command(server.root)) as newest:
            return await newest.call_tool("lint", {"kernel": "relu_own_copy.py"})

    assert document(server.ask(lint))["kernel_type"] == "elementwise"


def test_a_right_and_a_wrong_kernel(server: RunningServer) -> None:
    right = server.call("check", task="task.py", kernel="relu_own_copy.py", device="cpu")
    assert right["verdict"] == "passed"
    assert right["timing"] is None
    assert "no GPU" in right["reason"]
    wrong = server.call("check", task="task.py", kernel="relu_store_without_mask.py", device="cpu")
    assert wrong["verdict"] == "unsafe_memory"
    assert {finding["id"] for finding in wrong["findings"]} >= {"missing-mask"}


def test_a_kernel_is_read_and_its_findings_explained(server: RunningServer) -> None:
    report = server.call("lint", kernel="relu_store_without_mask.py", task="task.py")
    assert (report["kernel"], report["kernel_type"]) == ("relu_store_without_mask.py", "elementwise")
    lesson = server.call("explain", topic=report["findings"][0]["id"])
    assert "tl.load" in lesson["correct"]
    assert "float32" in server.call("explain", topic="inaccurate")["to_do"]
    everything = server.call("explain")
    assert "unsafe_memory" in everything["verdicts"]
    assert "missing-mask" in everything["rules"]
    assert "did you mean missing-mask?" in server.refused("explain", topic="missing-masks")


def test_a_certificate(server: RunningServer) -> None:
    certificate = server.call("certify", task="task.py", device="cpu")
    assert "cheats killed" in certificate["conclusion"]
    assert certificate["counts"]["survived"] == 0
    assert certificate["trials"]


def test_a_plan_says_what_would_be_done(server: RunningServer) -> None:
    fits = server.call("plan", task="task.py", device="cpu")
    assert fits["recipe_fits"]
    assert fits["analysis"]["kernel_type"] == "elementwise"
    assert server.call("plan", task="task:Model", inputs="task:get_inputs", device="cpu")["recipe_fits"]
    assert server.call("plan", task="task.py", device="cpu", mode="eval")["recipe_fits"]
    plan = server.call("plan", task="pooling.py", device="cpu")
    assert "no recipe for avg_pool2d; tilesmith forge --model" in plan["told"]
    assert plan["operators"][0]["operator"] == "avg_pool2d"
    assert plan["fusable"] == []


def test_a_forge_tells_its_progress_and_ends_with_a_kernel(server: RunningServer) -> None:
    told: list[tuple[float, str]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message or ""))

    arguments = {"task": "task.py", "device": "cpu", "effort": "quick"}
    forged = document(server.ask(lambda client: client.call_tool("forge", arguments, progress_callback=hear)))
    assert (forged["verdict"], forged["faster"], forged["keeps_pytorch"]) == ("passed", None, False)
    assert "class ModelNew" in (server.root / forged["best_path"]).read_text()
    assert [progress for progress, _ in told] == list(range(1, len(told) + 1))
    messages = [message for _, message in told]
    assert "call: compiling" in messages
    assert any(message.startswith("judge kernel 1: ") for message in messages)
    assert any(message.startswith("finished  kernel 1 is right") for message in messages)
    (listed,) = server.call("runs")["runs"]
    assert (listed["run"], listed["status"]) == (forged["run"], "finished")
    run = server.call("runs", run="last")
    assert run["best_path"] == forged["best_path"]
    assert (run["attempts"][0]["verdict"], run["attempts"][0]["author"]) == ("passed", "playbook")


def test_a_forge_without_a_recipe_says_what_to_do(server: RunningServer) -> None:
    forged = server.call("forge", task="pooling.py", device="cpu")
    assert (forged["keeps_pytorch"], forged["best_path"]) == (True, None)
    assert "tilesmith forge --model" in forged["why"]
    assert forged["plan"]["operators"]


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("check", {"task": "../secret.py", "kernel": "task.py"}, "lies outside"),
        ("check", {"task": "task.py", "kernel": "link.py"}, "lies outside"),
        ("lint", {"kernel": "/etc/passwd"}, "lies outside"),
        ("lint", {"kernel": "nul\0.py"}, "is not a path"),
        ("lint", {"kernel": "missing.py"}, "cannot read the kernel"),
        ("runs", {"run": "/etc"}, "not a run"),
        ("plan", {"task": "notes.txt"}, "notes.txt"),
        ("check", {"task": "task.py"}, "'kernel' is a required property"),
        ("check", {"task": 7, "kernel": "task.py"}, "argument task: 7 is not of type 'string'"),
        ("lint", {"kernel": "task.py", "speed": 1}, "('speed' was unexpected); it takes kernel, task"),
        ("plan", {"task": "tilesmith.config:CheckConfig"}, "lies outside"),
        ("plan", {"task": "task.py", "path": [".."]}, "lies outside"),
        ("plan", {"task": "task.py", "inputs": "tilesmith.config:CheckConfig"}, "lies outside"),
        ("check", {"task": "task.py", "kernel": "task.py", "target": "sm_1"}, "unknown target 'sm_1'"),
        ("forge", {"task": "task.py", "model": "nobodys"}, "where is model nobodys served?"),
        ("forge", {"task": "task.py", "playbook": False}, "playbook is the author here: name an LLM with `model`"),
        ("polish", {}, "no tool 'polish': use check, lint"),
    ],
)
def test_what_is_wrong_is_one_line(
    server: RunningServer, tool: str, arguments: dict[str, Any], message: str
) -> None:
    assert message in server.refused(tool, **arguments)


def test_a_cancelled_check_ends_and_the_server_lives_on(server: RunningServer) -> None:
    """While a call is under way the server answers; the judge is free again afterwards."""

    async def cancel(client: Client) -> list[str]:
        started = asyncio.Event()
        gates: list[str] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            gates.append(message or "")
            started.set()

        arguments = {"task": "task.py", "kernel": "relu_own_copy.py", "device": "cpu"}
        call = asyncio.ensure_future(client.call_tool("check", arguments, progress_callback=hear))
        await asyncio.wait_for(started.wait(), 60)
        await asyncio.wait_for(client.list_tools(), 5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return gates

    gates = server.ask(cancel)
    assert gates
    assert server.call("check", task="task.py", kernel="relu_own_copy.py", device="cpu")["verdict"] == "passed"
