"""One server on loopback, until it is told to end."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

import uvicorn

from tilesmith.errors import MachineError
from tilesmith.serve.app import guarded_app

HOST = "127.0.0.1"


class RunsServer:
    """It listens from the start, so that its address works as soon as it is known."""

    def __init__(self, runs: Path, port: int = 0) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((HOST, port))
            self._socket.listen()
        except OSError as error:
            self._socket.close()
            raise MachineError(
                f"port {port} of {HOST}: {error.strerror}; name another with --port, or none for any free one"
            ) from None
        self.port = int(self._socket.getsockname()[1])
        token = secrets.token_urlsafe(24)
        self.address = f"http://{HOST}:{self.port}/?token={token}"
        app = guarded_app(runs, self.port, token, lambda: self._server.should_exit)
        settings = uvicorn.Config(
            app,
            access_log=False,
            log_level="critical",
            lifespan="off",
            ws="none",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=3,
        )
        self._server = uvicorn.Server(settings)

    def run(self) -> None:
        """Until Ctrl-C, or until another thread ends it."""
        self._server.run(sockets=[self._socket])

    def end(self) -> None:
        self._server.should_exit = True
