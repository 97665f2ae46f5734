"""What is sent to an endpoint, and what is made of its answer."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from calling import CANARY, PROMPT, Caller
from script import Script
from scripted_server import ScriptedServer

import tilesmith
from tilesmith.errors import AuthorError
from tilesmith.llm.client import Client
from tilesmith.llm.providers import OWN_KEY, Endpoint
from tilesmith.llm.retry import CallLimits, RetryPolicy
from tilesmith.records import Reply, StopReason, Usage

REPLY = "some words " * 50
HERE = {"PYTHONPATH": str(Path(tilesmith.__file__).parents[1])}
END, LENGTH = StopReason.END, StopReason.LENGTH


def complete(base_url: str, limits: CallLimits | None = None, retries: int = 0, **environment: str) -> Reply:
    policy = RetryPolicy(retries=retries, sleep=lambda seconds: None)
    client = Client(Endpoint("m", base_url, None, OWN_KEY), policy, environment)
    return client.complete(PROMPT, limits or CallLimits(), lambda characters: None)


def test_a_request_carries_prompt_limit_and_a_wish_for_usage() -> None:
    with ScriptedServer(Script(reply=REPLY)) as server:
        complete(server.base_url, CallLimits(max_output_tokens=77, temperature=0.5))
        body = server.log[0].body
    assert body["messages"] == [
        {"role": "system", "content": PROMPT.system},
        {"role": "user", "content": PROMPT.user},
    ]
    assert (body["model"], body["stream"], body["max_tokens"], body["temperature"]) == ("m", True, 77, 0.5)
    assert body["stream_options"] == {"include_usage": True}


def test_headers_meant_for_openai_go_nowhere_else() -> None:
    foreign = {
        "OPENAI_API_KEY": "sk-openai-secret",
        "OPENAI_ADMIN_KEY": "sk-admin-secret",
        "OPENAI_ORG_ID": "org-secret",
    }
    foreign |= {
        "OPENAI_PROJECT_ID": "secret-project",
        "OPENAI_CUSTOM_HEADERS": "X-Team: secret\nauthorization: secret",
    }
    with ScriptedServer(Script(reply=REPLY)) as server:
        program = (
            "import os, sys\nfrom tilesmith.llm.client import *\n"
            f"client = Client(Endpoint('m', {server.base_url!r}, None, 'X_API_KEY'), RetryPolicy(retries=0))\n"
            "client.complete(Prompt('s', 'u'), CallLimits(), lambda characters: None)"
        )
        subprocess.run([sys.executable, "-c", program], env=foreign | HERE, check=True)
        sent = server.log[0].headers
    assert sent["authorization"] == "Bearer none"
    assert "secret" not in json.dumps(sent)


@pytest.mark.parametrize(
    ("refused", "missing", "present"),
    [
        (("stream_options",), {"stream_options"}, {"max_tokens", "temperature"}),
        (("max_tokens",), {"max_tokens"}, {"max_completion_tokens", "temperature"}),
        (("max_tokens", "max_completion_tokens"), {"max_tokens", "max_completion_tokens"}, {"stream_options"}),
        (("temperature",), {"temperature"}, {"max_tokens", "stream_options"}),
        (("temperature", "max_tokens", "stream_options"), {"temperature"}, {"max_completion_tokens"}),
    ],
)
def test_fields_an_endpoint_refuses_are_left_out_from_then_on(
    refused: tuple[str, ...], missing: set[str], present: set[str]
) -> None:
    with ScriptedServer(Script(reply=REPLY, refuses=refused)) as server:
        caller = Caller(server, CallLimits(temperature=0.7))
        first, second = caller.call(), caller.call()
        sent = [entry.body.keys() for entry in server.log]
        statuses = [entry.status for entry in server.log]
    assert (first.text, first.retries, second.text) == (REPLY, 0, REPLY)
    assert statuses == [400] * len(refused) + [200, 200]
    assert missing.isdisjoint(sent[-1])
    assert present <= sent[-1]


def test_a_refusal_of_something_else_is_not_explained_away() -> None:
    with ScriptedServer(Script(reply=REPLY, refuses=("messages",))) as server:
        with pytest.raises(AuthorError, match="HTTP 400: Unsupported parameter: 'messages'"):
            Caller(server).call()
        assert len(server.log) == 1


def test_a_server_that_does_not_stream_is_understood() -> None:
    with ScriptedServer(Script(reply=REPLY, streams=False)) as server:
        reply = Caller(server).call()
    assert (reply.text, reply.stop, reply.usage.estimated) == (REPLY, END, False)


def test_reasoning_is_heard_but_not_part_of_the_text() -> None:
    with ScriptedServer(Script(reply=REPLY, reasoning="hm " * 400)) as server:
        caller = Caller(server)
        reply = caller.call()
    assert reply.text == REPLY
    assert caller.progress[-1] == len(REPLY) + 1200
    assert (reply.usage.output_tokens, reply.usage.reasoning_tokens) == (438, 300)


@pytest.mark.parametrize(
    ("reported", "counted"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}, Usage(100, 50)),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "total_tokens": 150,
                "completion_tokens_details": {"reasoning_tokens": 30},
                "prompt_tokens_details": {"cached_tokens": 64},
            },
            Usage(100, 50, 30, 64),
        ),
        ({"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 190}, Usage(100, 90, 40)),
        ({"prompt_tokens": 100, "completion_tokens": 50, "prompt_cache_hit_tokens": 80}, Usage(100, 50, 0, 80)),
        (
            {"prompt_tokens": 9, "completion_tokens": 5, "completion_tokens_details": None, "total_tokens": None},
            Usage(9, 5),
        ),
    ],
    ids=["plain", "details", "reasoning left out", "cache of another name", "nulls"],
)
def test_tokens_are_counted_as_the_provider_counts(reported: dict[str, Any], counted: Usage) -> None:
    with ScriptedServer(Script(reply=REPLY, usage=reported)) as server:
        assert Caller(server).call().usage == counted


@pytest.mark.parametrize("reported", [None, {"prompt_tokens": "many", "completion_tokens": -3}])
def test_tokens_nobody_counted_are_estimated_and_marked(reported: dict[str, Any] | None) -> None:
    with ScriptedServer(Script(reply=REPLY, reasoning="hm " * 40, usage=reported)) as server:
        usage = Caller(server).call().usage
    characters = len(PROMPT.system) + len(PROMPT.user)
    assert usage == Usage(-(-characters // 4), 138 + 30, 30, estimated=True)
    assert (Usage(1, 1) + usage).estimated


@contextmanager
def raw(body: bytes, content_type: str = "text/event-stream", then: bytes | None = None) -> Iterator[str]:
    """A server that sends exactly these bytes; from the second request on, those of `then`."""
    bodies = iter([body])
    rest = body if then is None else then

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.end_headers()
            self.wfile.write(next(bodies, rest))

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode()


@pytest.mark.parametrize(
    ("body", "text", "stop"),
    [
        (event({"content": "hé"}) + b"\r\n\r\n" + event({}, "stop") + b"\r\n\r\n", "hé", END),
        (event({"content": "no end"}) + b"\n\ndata: [DONE]\n\n", "no end", END),
        (b": hello\nevent: x\nid: 1\n" + event({"content": "a"}, "stop"), "a", END),
        (b'data: {"choices":\ndata: [{"delta": {"content": "b"}, "finish_reason": "stop"}]}\n\n', "b", END),
        (event({"content": None, "reasoning": "x"}) + b"\n\n" + event({}, "LENGTH") + b"\n\n", "", LENGTH),
        (
            event({"content": [{"type": "thinking", "text": "x"}, {"type": "text", "text": "c"}]}, "stop"),
            "c",
            END,
        ),
        (
            event({"content": "\ud83d"}) + b"\n\n" + event({"content": "\ude00 \ud83d"}, "stop") + b"\n\n",
            "😀 \ufffd",
            END,
        ),
        (
            event({}, "content_filter") + b"\n\n",
            "The provider's content filter stopped the reply.",
            StopReason.DECLINED,
        ),
        (event({"content": "half a"}, "content_filter") + b"\n\n", "half a", StopReason.DECLINED),
        (b'data: {"choices": []}\n\ndata: {"choices": [{"index": 1, "delta": {"content": "2nd"}}]}\n\n'
         + event({"content": "1st"}, "stop") + b"\n\n", "1st", END),
    ],
    ids=[
        "crlf", "done only", "comments", "two data lines", "all reasoning", "parts", "surrogates", "filter",
        "half", "choices",
    ],
)  # fmt: skip
def test_the_protocol_is_read_as_liberally_as_servers_write_it(body: bytes, text: str, stop: StopReason) -> None:
    with raw(body) as url:
        reply = complete(url)
    assert (reply.text, reply.stop, reply.author) == (text, stop, "m")


@pytest.mark.parametrize(
    ("body", "content_type", "message"),
    [
        (b"data: {oops\n\n", "text/event-stream", r"cannot be read: not JSON: \{oops"),
        (b"data: [1]\n\n", "text/event-stream", r"cannot be read: not an object: \[1\]"),
        (b"<html>Log in, please</html>", "text/html", "cannot be read: it is a web page"),
        (b'{"object": "list"', "application/json", "cannot be read: not JSON"),
        (b"", "text/event-stream", "connection was cut"),
        (b'{"error": "model not loaded"}', "application/json", "broke off: model not loaded"),
        (b"data: " + CANARY.encode() + b"\n\n", "text/event-stream", r"not JSON: \[key\]"),
    ],
    ids=["not json", "no object", "page", "half a document", "nothing", "error in a document", "key"],
)
def test_what_is_no_reply_is_told_in_one_line(body: bytes, content_type: str, message: str) -> None:
    with raw(body, content_type) as url, pytest.raises(AuthorError, match=message) as told:
        complete(url, **{OWN_KEY: CANARY})
    assert len(str(told.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("before_the_error", "lost"),
    [
        (event({"content": "twelve chars"}) + b"\n\n", Usage(13, 3, estimated=True)),
        (b'data: {"usage": {"prompt_tokens": 20, "completion_tokens": 7}}\n\n', Usage(20, 7)),
        (event({"role": "assistant", "content": ""}) + b"\n\n", Usage()),
        (b": still there\n\n", Usage()),
    ],
    ids=["words", "usage", "no words", "comments"],
)
def test_a_try_that_failed_costs_what_was_heard_of_it(before_the_error: bytes, lost: Usage) -> None:
    usage = b'\n\ndata: {"usage": {"prompt_tokens": 100, "completion_tokens": 50}}\n\ndata: [DONE]\n\n'
    broken = before_the_error + b'data: {"error": {"message": "overloaded"}}\n\n'
    with raw(broken, then=event({"content": "a"}, "stop") + usage) as url:
        reply = complete(url, retries=1)
    assert (reply.text, reply.retries, reply.usage) == ("a", 1, Usage(100, 50) + lost)


def test_the_model_that_spoke_is_the_author() -> None:
    said = b'data: {"model": "m-2026-01-01", "choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}\n\n'
    with raw(said) as url:
        assert complete(url).author == "m-2026-01-01"


def test_a_proxy_that_makes_no_sense_is_told_in_one_line() -> None:
    program = (
        "from tilesmith.llm.client import *\nfrom tilesmith.errors import AuthorError\n"
        "try: Client(Endpoint('m', 'http://127.0.0.1:9/v1', None, 'X'), RetryPolicy())\n"
        "except AuthorError as told: print(told)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={"HTTP_PROXY": "gopher://x"} | HERE, capture_output=True, text=True
    )
    assert "check the proxy" in done.stdout, done.stderr


def test_calls_at_once_learn_from_one_another() -> None:
    refused = ("max_tokens", "stream_options", "temperature")
    with ScriptedServer(Script(reply=REPLY, refuses=refused)) as server:
        caller = Caller(server, CallLimits(temperature=0.7))
        with ThreadPoolExecutor(6) as threads:
            replies = list(threads.map(lambda _: caller.call(), range(6)))
        assert caller.call().text == REPLY
        last = server.log[-1].body
    assert [reply.text for reply in replies] == [REPLY] * 6
    assert "max_completion_tokens" in last
