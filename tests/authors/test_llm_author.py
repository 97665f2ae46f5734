"""An LLM as author: the protocol of authors over a real connection."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "llm"))

from script import Fault, Script, storm
from scripted_server import ScriptedServer

from tilesmith.authors.llm import LlmAuthor
from tilesmith.authors.protocol import Author
from tilesmith.errors import AuthorError
from tilesmith.llm.prices import Price
from tilesmith.llm.providers import OWN_KEY, Endpoint
from tilesmith.llm.retry import CallLimits, RetryPolicy
from tilesmith.records import AuthorRequest, CallEvent, Phase, Prompt, StopReason, Survey, TaskProfile, to_json

CANARY = "sk-canary-0123456789abcdef"
SURVEY = Survey("task.py", "", "cpu", TaskProfile(), None, None, None)


def author_at(server: ScriptedServer, **options: object) -> Author:
    endpoint = Endpoint("scripted-1", server.base_url, None, OWN_KEY)
    calm = RetryPolicy(sleep=lambda seconds: None)
    return LlmAuthor(endpoint, {OWN_KEY: CANARY}, retry_policy=calm, **options)  # type: ignore[arg-type]


def seed(number: int, tokens: int = 500) -> AuthorRequest:
    return AuthorRequest(number, Phase.SEED, SURVEY, seed=number, seeds=3, max_output_tokens=tokens)


def prompt_for(request: AuthorRequest) -> Prompt:
    return Prompt("You write kernels.", f"# Request: seed {request.seed} of {request.seeds}")


def nothing(characters: int) -> None:
    pass


def test_it_answers_with_what_the_model_says_and_what_it_cost() -> None:
    usage = {"prompt_tokens": 2_000_000, "completion_tokens": 1_000_000}
    with ScriptedServer(Script(reply="Here.", usage=usage)) as server:
        author = author_at(server, price=Price(0.5, 1.5))
        reply = author.answer(seed(1), prompt_for(seed(1)), nothing)
        assert author.name == f"scripted-1 at {server.base_url}"
    assert (reply.text, reply.author, reply.stop, reply.usage.dollars) == (
        "Here.",
        "scripted-1",
        StopReason.END,
        2.5,
    )


def test_a_price_nobody_knows_is_unknown() -> None:
    with ScriptedServer(Script(reply="Here.")) as server:
        assert author_at(server).answer(seed(1), prompt_for(seed(1)), nothing).usage.dollars is None


def test_each_request_has_its_own_limit() -> None:
    with ScriptedServer(Script(reply="Here.")) as server:
        author = author_at(server, limits=CallLimits(max_output_tokens=9))
        for tokens in (100, 200):
            author.answer(seed(1, tokens), prompt_for(seed(1)), nothing)
        assert [entry.body["max_tokens"] for entry in server.log] == [100, 200]


def test_seeds_at_once_get_each_their_own(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        (tmp_path / f"seed-{number}.md").write_text(f"kernel {number}")
    with ScriptedServer(Script(tmp_path, faults=(storm(4),))) as server, ThreadPoolExecutor(3) as threads:
        author = author_at(server)
        requests = [seed(number) for number in (1, 2, 3)]
        replies = threads.map(lambda one: author.answer(one, prompt_for(one), nothing), requests)
        assert [reply.text for reply in replies] == ["kernel 1", "kernel 2", "kernel 3"]


def test_nothing_an_author_gives_away_holds_the_key() -> None:
    echo = f"key {CANARY}"
    with ScriptedServer(Script(reply=echo, faults=(Fault("status", status=403, message=echo),))) as server:
        author = author_at(server)
        with pytest.raises(AuthorError) as told:
            author.answer(seed(1), prompt_for(seed(1)), nothing)
        reply = author.answer(seed(1), prompt_for(seed(1)), nothing)
        assert server.log[1].authorization == f"Bearer {CANARY}"
    called = CallEvent(1, Phase.SEED, "", reply)
    given_away = [
        str(told.value),
        repr(told.value),
        author.name,
        repr(author),
        repr(called),
        json.dumps(to_json(called)),
    ]
    assert [text for text in given_away if CANARY in text] == []


def test_a_missing_sdk_is_told_in_one_line() -> None:
    program = (
        "import sys\nsys.modules['openai'] = None\n"
        "from tilesmith.authors.llm import LlmAuthor\nfrom tilesmith.llm.providers import Endpoint\n"
        "from tilesmith.errors import MachineError\n"
        "try: LlmAuthor(Endpoint('m', 'http://localhost:1/v1', None, 'X'), {})\n"
        "except MachineError as told: print(told)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "an LLM as author needs the package openai: pip install openai", done.stderr
