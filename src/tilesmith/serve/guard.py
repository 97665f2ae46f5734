"""Who may ask: only a browser on this machine that was given the address with the token.

The token stands in the printed address once and is then kept as a cookie that no script and no other site can use.
The name of the host is checked, so that another site's name which points here (DNS rebinding) leads nowhere. What
this does not cover: other programs of the same user, and other services on 127.0.0.1, to which browsers send the
same cookies.
"""

from __future__ import annotations

import secrets

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Guard:
    """Answers whom it does not let through, and gives every answer its headers."""

    def __init__(self, app: ASGIApp, port: int, token: str, policy: str) -> None:
        self._app = app
        self._token = token
        self._cookie = f"tilesmith-{port}"
        ends = (f":{port}", "") if port == 80 else (f":{port}",)  # browsers leave 80 out
        self._hosts = [f"{name}{end}" for name in ("127.0.0.1", "localhost") for end in ends]
        self._headers = {
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cache-Control": "no-store",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        await (self._answer(Request(scope)) or self._app)(scope, receive, send_guarded)

    def _answer(self, request: Request) -> Response | None:
        if request.headers.getlist("host") not in ([host] for host in self._hosts):
            return PlainTextResponse("This address is not for that host.\n", 403)
        if request.method not in ("GET", "HEAD"):
            return PlainTextResponse("Here one can only look.\n", 405, {"Allow": "GET, HEAD"})
        if self._is_token(request.query_params.get("token", "")):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return answer
        if self._is_token(request.cookies.get(self._cookie, "")):
            return None
        return PlainTextResponse("Open the address that `tilesmith serve` has printed, with its token.\n", 403)

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(errors="replace"), self._token.encode())
