"""Everything that goes wrong between us and a provider, against a real server."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate

import pytest
from calling import CANARY, NOON, PROMPT, Caller
from script import PROSE, WRONG_JSON, Fault, Script, storm
from scripted_reply import REFUSAL
from scripted_server import ScriptedServer

from tilesmith.errors import AuthorError
from tilesmith.llm.client import Client
from tilesmith.llm.failures import Failure
from tilesmith.llm.providers import OWN_KEY, Endpoint
from tilesmith.llm.retry import CallLimits, RetryPolicy, retry_after_s
from tilesmith.records import Prompt, StopReason, Usage, to_json

REPLY = "Here it is.\n```python\nclass ModelNew: ...\n```\n" * 40


def serve(*faults: Fault, reply: str = REPLY) -> ScriptedServer:
    return ScriptedServer(Script(reply=reply, faults=faults))


def test_a_storm_of_429_is_sat_out_with_growing_waits() -> None:
    with serve(storm(4)) as server:
        caller = Caller(server)
        reply = caller.call()
        assert (reply.text, reply.retries, caller.waits) == (REPLY, 4, [1.0, 2.0, 4.0, 8.0])
        assert [entry.status for entry in server.log] == [429, 429, 429, 429, 200]
    assert "HTTP 429: slow down; trying again in 1 s" in caller.told[0]


def test_a_wait_of_our_own_has_a_ceiling_and_the_tries_an_end() -> None:
    with serve(storm(99)) as server:
        caller = Caller(server, policy={"retries": 8})
        with pytest.raises(
            AuthorError, match=r"HTTP 429: slow down \(gave up after 9 tries\); resume the run later"
        ):
            caller.call()
        assert caller.waits == [1, 2, 4, 8, 16, 32, 60, 60]
        assert len(server.log) == 9


def test_chance_takes_away_at_most_half_of_a_wait() -> None:
    with serve(storm(3)) as server:
        caller = Caller(server, policy={"chance": lambda: 0.0})
        caller.call()
    assert caller.waits == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("asked", "waited"),
    [
        ("17", 17.0),
        ("2.5", 2.5),
        ("240", 240.0),
        (formatdate(NOON + 90, usegmt=True), 90.0),
        (formatdate(NOON - 90, usegmt=True), 0.5),
        ("0", 0.5),
        ("soon", 0.5),
        ("-4", 0.5),
        ("nan", 0.5),
    ],
)
def test_retry_after_is_honored(asked: str, waited: float) -> None:
    with serve(storm(1, retry_after=asked)) as server:
        caller = Caller(server, policy={"chance": lambda: 0.0})
        assert caller.call().text == REPLY
    assert caller.waits == [waited]


@pytest.mark.parametrize(("asked", "latest"), [("0", 1.0), ("2", 3.0), ("17", 18.7), ("240", 264.0)])
def test_chance_adds_a_little_to_what_was_asked(asked: str, latest: float) -> None:
    with serve(storm(1, retry_after=asked)) as server:
        caller = Caller(server)
        caller.call()
    assert caller.waits == [pytest.approx(latest)]


@pytest.mark.parametrize(
    ("asked", "waits"),
    [("0", [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]), ("3", [3.0, 3.0, 3.0, 4.0, 8.0, 16.0])],
)
def test_a_provider_that_always_asks_for_too_little_gets_our_own_waits(asked: str, waits: list[float]) -> None:
    with serve(storm(6, retry_after=asked)) as server:
        caller = Caller(server, policy={"chance": lambda: 0.0})
        assert caller.call().retries == 6
    assert caller.waits == waits


def test_what_was_heard_of_streams_that_were_cut_is_counted() -> None:
    """A role and 189 pieces of 8 characters each, three times; then the whole reply."""
    cut = Fault("cut", times=3, after_chunks=190)
    with ScriptedServer(Script(reply="8 chars." * 200, faults=(cut,), chunk_characters=8)) as server:
        caller = Caller(server)
        first, second = caller.call(), caller.call()
    assert (first.retries, second.retries) == (3, 0)
    assert second.usage == Usage(13, 400)
    assert first.usage == Usage(4 * 13, 3 * 378 + 400, estimated=True)


def test_reasoning_that_was_cut_is_counted_and_silence_is_not() -> None:
    faults = (storm(2), Fault("stall", after_chunks=1), Fault("cut", after_chunks=3))
    with ScriptedServer(Script(reply="It is.", reasoning="hm " * 400, faults=faults)) as server:
        reply = Caller(server, CallLimits(idle_timeout_s=0.3)).call()
    assert reply.retries == 4
    assert reply.usage == Usage(13 + 13, 302 + 100, 300 + 100, estimated=True)


def test_milliseconds_are_read_first() -> None:
    failure = Failure("", "", headers={"retry-after-ms": "1500", "retry-after": "9"})
    assert retry_after_s(failure, NOON) == 1.5


def test_a_provider_that_asks_for_an_hour_is_not_waited_for() -> None:
    with serve(storm(1, retry_after="3600")) as server:
        caller = Caller(server)
        with pytest.raises(AuthorError, match="come back in 3600 s: resume the run then"):
            caller.call()
    assert caller.waits == []


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503, 529])
def test_statuses_that_pass_are_tried_again(status: int) -> None:
    with serve(Fault("status", status=status, times=2)) as server:
        reply = Caller(server).call()
    assert (reply.text, reply.retries) == (REPLY, 2)


@pytest.mark.parametrize("status", [400, 403, 404, 418])
def test_statuses_that_stay_are_told_at_once_in_the_providers_words(status: int) -> None:
    with serve(Fault("status", status=status, message="your\nplan has\tno\x1b[31m such model")) as server:
        caller = Caller(server)
        with pytest.raises(AuthorError) as told:
            caller.call()
        assert len(server.log) == 1
    assert f"HTTP {status}: your plan has no [31m such model; " in str(told.value)
    assert str(told.value).startswith(f"scripted-1 at {server.base_url}: ")


def test_an_empty_account_is_not_waited_for() -> None:
    with serve(Fault("status", message="You exceeded your current quota", code="insufficient_quota")) as server:
        caller = Caller(server)
        with pytest.raises(
            AuthorError, match="HTTP 429: You exceeded your current quota; the account has no credit"
        ):
            caller.call()
    assert caller.waits == []


def test_a_refused_key_is_said_and_never_shown() -> None:
    with ScriptedServer(Script(reply=REPLY, key="another")) as server:
        with pytest.raises(AuthorError) as told:
            Caller(server).call()
        assert server.log[0].authorization == f"Bearer {CANARY}"
    assert "HTTP 401: Incorrect API key provided: [key]; check the key in TILESMITH_API_KEY" in str(told.value)
    assert told.value.__cause__ is None


def test_a_key_in_the_reply_is_taken_out() -> None:
    with serve(reply=f"Your key is {CANARY}, by the way.") as server:
        reply = Caller(server).call()
    assert reply.text == "Your key is [key], by the way."
    assert CANARY not in json.dumps(to_json(reply))


@pytest.mark.parametrize("after_chunks", [0, 1, 3])
def test_a_cut_connection_is_tried_again(after_chunks: int) -> None:
    with serve(Fault("cut", times=2, after_chunks=after_chunks)) as server:
        reply = Caller(server).call()
        assert [entry.whole for entry in server.log] == [False, False, True]
    assert (reply.text, reply.retries) == (REPLY, 2)


def test_a_stream_cut_after_its_last_word_is_whole() -> None:
    """Only the usage is missing then, and is estimated."""
    with serve(Fault("cut", after_chunks=3), reply="short") as server:
        reply = Caller(server).call()
    assert (reply.text, reply.retries, reply.usage.estimated) == ("short", 0, True)


def test_a_stalled_stream_is_left_and_tried_again() -> None:
    with serve(Fault("stall", after_chunks=2)) as server:
        caller = Caller(server, CallLimits(idle_timeout_s=0.3))
        assert (caller.call().text, caller.told[0].count("nothing heard for 0.3 s")) == (REPLY, 1)


def test_a_slow_stream_is_heard_to_its_end() -> None:
    with serve(Fault("slow", delay_s=0.05)) as server:
        caller = Caller(server)
        assert caller.call().retries == 0
    assert caller.progress == sorted(set(caller.progress))
    assert caller.progress[-1] == len(REPLY)


def test_a_call_has_a_time_limit_however_alive_it_looks() -> None:
    with ScriptedServer(Script(reply=REPLY, keep_alive=100)) as server:
        caller = Caller(server, CallLimits(idle_timeout_s=5, call_timeout_s=0.4))
        with pytest.raises(AuthorError, match=r"no whole reply within 0.4 s \(gave up after 2 tries\)"):
            caller.call()


def test_an_error_in_the_middle_of_a_reply_is_tried_again() -> None:
    with serve(Fault("error", message="overloaded", code=503)) as server:
        caller = Caller(server)
        assert caller.call().text == REPLY
    assert "HTTP 503: overloaded" in caller.told[0]


def test_an_error_in_the_middle_that_stays_is_told() -> None:
    revoked = Fault("error", message=f"key {CANARY} revoked", code=403)
    with serve(revoked) as server, pytest.raises(AuthorError, match=r"HTTP 403: key \[key\] revoked"):
        Caller(server).call()


def test_nobody_there_is_told_soon() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    waits: list[float] = []
    client = Client(Endpoint("m", url, None, OWN_KEY), RetryPolicy(sleep=waits.append), {})
    with pytest.raises(
        AuthorError, match=r"no connection: .*Connection refused.*gave up after 3 tries.*the server up"
    ):
        client.complete(PROMPT, CallLimits(), lambda characters: None)
    assert len(waits) == 2


@pytest.mark.parametrize(("kind", "said"), [("empty", ""), ("prose", PROSE), ("wrong-json", WRONG_JSON)])
def test_a_useless_reply_is_still_a_reply(kind: str, said: str) -> None:
    with serve(Fault(kind)) as server:
        reply = Caller(server).call()
    assert (reply.text, reply.stop, reply.retries) == (said, StopReason.END, 0)


def test_truncation_is_noticed() -> None:
    with serve(Fault("truncated")) as server:
        reply = Caller(server).call()
    assert (reply.text, reply.stop) == (REPLY[: len(REPLY) // 2], StopReason.LENGTH)


def test_a_refusal_is_a_declined_reply() -> None:
    with serve(Fault("refusal")) as server:
        reply = Caller(server).call()
    assert (reply.text, reply.stop) == (REFUSAL, StopReason.DECLINED)


def test_a_reply_of_a_megabyte_is_cut() -> None:
    with serve(Fault("huge", characters=4_000_000)) as server:
        reply = Caller(server).call()
    assert (len(reply.text), reply.stop) == (1_000_000, StopReason.LENGTH)
    assert reply.usage.estimated
    assert reply.usage.output_tokens == 250_000


def test_leaving_a_wait_or_a_reply_leaves_the_call() -> None:
    def leave(_: float) -> None:
        raise KeyboardInterrupt

    with serve(storm(1)) as server:
        with pytest.raises(KeyboardInterrupt):
            Caller(server, policy={"sleep": leave}).call()
        caller = Caller(server)
        with pytest.raises(KeyboardInterrupt):
            caller.client.complete(PROMPT, caller.limits, leave)


def test_several_calls_at_once_each_get_their_own_reply() -> None:
    with serve(storm(3), Fault("cut", times=2)) as server:
        caller = Caller(server)
        prompts = [Prompt("s", f"# Request: seed {n} of 8\n{n}") for n in range(1, 9)]
        with ThreadPoolExecutor(8) as threads:
            replies = list(threads.map(caller.call, prompts))
        whole = [entry.sha256 for entry in server.log if entry.whole and entry.status == 200]
    assert [reply.text for reply in replies] == [REPLY] * 8
    assert sum(reply.retries for reply in replies) == 5
    assert len(whole) == len(set(whole)) == 8
