"""A server that speaks OpenAI's chat.completions protocol over real HTTP and says what a script tells it.

In tests:    with ScriptedServer(Script(folder)) as server: ... server.base_url, server.log ...
By hand:     python tests/llm/scripted_server.py --script tests/scripted_runs/NAME --port 8123
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from script import ChosenReply, Fault, ReplyChooser, Script
from scripted_reply import ScriptedReply


@dataclass(frozen=True)
class Entry:
    """One request, as the log has it."""

    time: float
    number: int
    phase: str
    sha256: str
    """Of system prompt, blank line, user prompt."""
    reply: str | None
    """Name of the reply's file."""
    authorization: str | None
    headers: dict[str, str]
    body: dict[str, Any]
    fault: str | None
    status: int
    whole: bool
    """Whether everything was sent, up to the end of the answer."""


class ScriptedServer:
    """Serves on loopback from `__enter__` to `__exit__`."""

    def __init__(self, script: Script, port: int = 0, log_file: Path | None = None) -> None:
        self.chooser = ReplyChooser(script)
        self.closing = threading.Event()
        self._entries: list[Entry] = []
        self._log_file = log_file
        self._in_flight = 0
        self._settled = threading.Condition()
        self._http = _Http(("127.0.0.1", port), _Conversation)
        self._http.scripted = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def log(self) -> list[Entry]:
        """Every request so far, in the order of their arrival.

        A client may have its reply, and ask again, before the server has noted the first: wait for all, and sort.
        """
        with self._settled:
            self._settled.wait_for(lambda: self._in_flight == 0, timeout=10)
            return sorted(self._entries, key=lambda entry: entry.number)

    def begin(self) -> None:
        with self._settled:
            self._in_flight += 1

    def note(self, entry: Entry) -> None:
        with self._settled:
            self._in_flight -= 1
            self._settled.notify_all()
            self._entries.append(entry)
            if self._log_file is not None:
                with self._log_file.open("a") as file:
                    file.write(json.dumps(asdict(entry)) + "\n")


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    scripted: ScriptedServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the game."""


class _Conversation(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http
    _silent: ClassVar[tuple[str, ...]] = ("stall", "cut")

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send_json(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        self.server.scripted.begin()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = {one["role"]: one["content"] for one in body.get("messages", ())}
        chosen = self.server.scripted.chooser.choose(said.get("system", ""), said.get("user", ""))
        began, status, whole = time.time(), 200, False
        try:
            status = self._refuse(body, chosen) or 0
            if not status:
                status = 200
                self._answer(body, chosen)
            whole = True
        except OSError:
            self.close_connection = True
        self._note(began, chosen, body, (status, whole))

    def _note(self, began: float, chosen: ChosenReply, body: dict[str, Any], outcome: tuple[int, bool]) -> None:
        sent = {name.lower(): value for name, value in self.headers.items()}
        fault = chosen.fault.kind if chosen.fault else None
        known = (
            began,
            chosen.number,
            chosen.phase,
            chosen.sha256,
            chosen.name,
            sent.get("authorization"),
            sent,
            body,
            fault,
        )
        self.server.scripted.note(Entry(*known, *outcome))

    def _refuse(self, body: dict[str, Any], chosen: ChosenReply) -> int | None:
        """The status of a refusal that was sent; none when there is no reason for one."""
        script, fault = self.server.scripted.chooser.script, chosen.fault
        given = self.headers.get("Authorization", "")
        if not self.path.endswith("/chat/completions"):
            return self._send_error(404, f"no such address: {self.path}")
        if script.key is not None and given != f"Bearer {script.key}":
            return self._send_error(
                401, f"Incorrect API key provided: {given.removeprefix('Bearer ')}", "invalid_api_key"
            )
        if fault is not None and fault.kind == "status":
            return self._send_error(fault.status, fault.message, fault.code, fault.retry_after)
        unknown = [name for name in script.refuses if name in body]
        if unknown:
            return self._send_error(400, f"Unsupported parameter: '{unknown[0]}' is not supported here.")
        if chosen.text is None:
            return self._send_error(400, f"the script has no {chosen.name or 'reply'}.md for this prompt")
        return None

    def _send_error(
        self, status: int, message: str, code: str | int | None = None, retry_after: str | None = None
    ) -> int:
        error = {"message": message, "type": "scripted", "code": code}
        self._send_json(status, {"error": error}, {"Retry-After": retry_after} if retry_after else {})
        return status

    def _send_json(self, status: int, document: Any, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _answer(self, body: dict[str, Any], chosen: ChosenReply) -> None:
        script = self.server.scripted.chooser.script
        scripted_reply = ScriptedReply(script, chosen, body)
        if not body.get("stream") or not script.streams:
            return self._send_json(200, scripted_reply.document())
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(script.keep_alive):
            self._send_chunk(": still there\n\n")
            time.sleep(0.05)
        for index, event in enumerate(scripted_reply.events()):
            self._misbehave(chosen.fault, index)
            self._send_chunk(f"data: {json.dumps(event)}\n\n")
        self._send_chunk("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _send_chunk(self, text: str) -> None:
        content = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.flush()

    def _misbehave(self, fault: Fault | None, index: int) -> None:
        """Before event number `index`, do what the fault says."""
        if fault is None:
            return
        if fault.kind == "slow":
            time.sleep(fault.delay_s)
        if fault.kind in self._silent and index == fault.after_chunks:
            if fault.kind == "stall":
                self._wait_for_the_client_to_leave()
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            raise ConnectionAbortedError
        if fault.kind == "error" and index == fault.after_chunks:
            error = {"message": fault.message, "code": fault.code}
            self._send_chunk(f"data: {json.dumps({'error': error})}\n\n")
            raise ConnectionAbortedError

    def _wait_for_the_client_to_leave(self) -> None:
        while not self.server.scripted.closing.is_set():
            readable, _, _ = select.select([self.connection], [], [], 0.05)
            if readable:
                return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--script", type=Path, required=True, help="folder with the replies")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key", help="let in only this key")
    parser.add_argument("--fault", action="append", default=[], help='JSON, e.g. {"kind": "cut", "phase": "seed"}')
    parser.add_argument("--log", type=Path, help="append one JSON line per request to this file")
    given = parser.parse_args()
    faults = tuple(Fault(**json.loads(one)) for one in given.fault)
    with ScriptedServer(Script(given.script, key=given.key, faults=faults), given.port, given.log) as server:
        print(server.base_url, flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
