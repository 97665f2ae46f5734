"""What is learned from a refusal that calls the limit on a reply too high."""

from __future__ import annotations

import pytest
from calling import PROMPT, Caller
from hypothesis import given, settings
from hypothesis import strategies as st
from script import Fault, Script
from scripted_server import ScriptedServer

from tilesmith.errors import AuthorError
from tilesmith.llm.client import MOST_LESSONS
from tilesmith.llm.dialects import LEAST_LIMIT, Dialect
from tilesmith.llm.retry import CallLimits
from tilesmith.records import Prompt

TOO_LARGE = "max_tokens is too large: 40000. This model supports at most 16384 completion tokens"
NO_ROOM = (
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens "
    "(1000 in the messages, 8000 in the completion). Please reduce the length of the messages or completion."
)


def next_limit(refusal: str, asked: int, prompt: Prompt = PROMPT) -> int | None:
    """What the same prompt asks for next; null when it asks for no limit any more."""
    limits = CallLimits(max_output_tokens=asked)
    better = Dialect().after(refusal, prompt, limits)
    assert better is not None
    return better.limit(prompt, limits) if better.limit_fields else None


@pytest.mark.parametrize(
    ("refusal", "asked", "limit"),
    [
        (TOO_LARGE, 40_000, 16_384),
        (f"Error code: 400 - {{'error': {{'message': '{TOO_LARGE}', 'code': 400}}}}", 40_000, 16_384),
        ("max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for c-4-5-20251101",
         128_001, 64_000),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 16_384, 8192),
        ("Range of max_tokens should be [1,8192]", 16_384, 8192),
        ("max_tokens must be in the range 1-8192", 16_384, 8192),
        ("max_tokens: the supported range is from 1 (inclusive) to 8193 (exclusive), not 16384", 16_384, 8192),
        ("max_tokens is not valid: expected a value <= 32,768, but got 64000 instead", 64_000, 32_768),
        ("`max_tokens` must be less than or equal to `8192`", 16_384, 8192),
        ("max_tokens is above the maximum of gpt-4-0613, o3-2025-04-16 and gpt-3.5 since 2024-08-06", 16_384, None),
        ("max_tokens exceeds what this model allows", 16_384, None),
        ("max_tokens is too large, see ticket " + "9" * 5000, 16_384, None),
        ("max_tokens is too large" + "a1" * 500_000, 16_384, None),
    ],
    ids=["at most", "as the sdk tells it", "greater", "range", "tight range", "dash", "exclusive", "thousands",
         "less or equal", "names only", "no number", "endless number", "endless word"],
)  # fmt: skip
def test_the_highest_limit_of_a_model_is_read(refusal: str, asked: int, limit: int | None) -> None:
    assert next_limit(refusal, asked) == limit


@pytest.mark.parametrize(
    ("refusal", "asked", "limit"),
    [
        (NO_ROOM, 8000, 7192),
        ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.", 8000, 7192),
        ("'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 8192 "
         "tokens and your request has 1000 input tokens (8000 > 8192 - 1000).", 8000, 7192),
        ("Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total "
         "of 9000 tokens: 1000 tokens from the input messages and 8000 tokens for the completion.", 8000, 7192),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", 20_000, 10_000),
        ("`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 1000 `inputs` tokens and 8000 "
         "`max_new_tokens`", 8000, 7192),
        ("You passed 1000 input tokens and requested 8000 output tokens. However, the model's context length is "
         "only 8192 tokens, resulting in a maximum input length of 192 tokens.", 8000, 7192),
        (NO_ROOM.replace("9000", "17384").replace("8000", "16384"), 16_384, 7192),
        ("This model's maximum context length is 8192 tokens. However, you requested 8000 output tokens and your "
         "prompt contains at least 193 input tokens, for a total of at least 8193 tokens.", 8000, 6000),
        ("max_tokens=16384 cannot be greater than the context window, 8192", 16_384, 8192),
    ],
    ids=["parts", "whole only", "vllm", "sglang", "sum", "tgi", "passed", "asked more than all", "at least",
         "window only"],
)  # fmt: skip
def test_the_room_beside_a_prompt_is_read(refusal: str, asked: int, limit: int) -> None:
    assert next_limit(refusal, asked) == limit


@pytest.mark.parametrize(
    "refusal",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "Prompt contains 9000 tokens and 0 draft tokens, too large for model with 8192 maximum context length",
        "This model's maximum context length is 8192 tokens. However, you requested 16150 tokens "
        "(8150 in the messages, 8000 in the completion).",
    ],
)
def test_a_prompt_that_leaves_no_room_is_not_asked_again(refusal: str) -> None:
    assert Dialect().after(refusal, PROMPT, CallLimits(max_output_tokens=8000)) is None


def test_other_prompts_get_room_in_proportion() -> None:
    limits = CallLimits(max_output_tokens=8000)
    learned = Dialect().after(NO_ROOM, Prompt("", "x" * 4000), limits)
    assert learned is not None
    asked = [learned.limit(Prompt("", "x" * length), limits) for length in (10, 4000, 8001, 32_700)]
    assert asked == [8000, 7192, 6191, 8000]  # the last has no room: the provider shall say so


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["max_tokens", "maximum", "context length", "at least", "requested", ">", "+", "in"])
             | st.integers(0, 40_000).map(str), max_size=12),
    st.integers(LEAST_LIMIT, 40_000),
)  # fmt: skip
def test_whatever_a_refusal_says_the_next_limit_is_lower(message: list[str], asked: int) -> None:
    limits = CallLimits(max_output_tokens=asked)
    better = Dialect().after(" ".join(message), PROMPT, limits)
    if better is not None and better.limit_fields == Dialect().limit_fields:
        assert LEAST_LIMIT <= better.limit(PROMPT, limits) < asked


@pytest.mark.parametrize(("message", "asked", "allowed"), [(TOO_LARGE, 40_000, 16_384), (NO_ROOM, 8000, 7192)])
def test_a_lower_limit_holds_from_then_on_and_a_smaller_wish_is_kept(
    message: str, asked: int, allowed: int
) -> None:
    with ScriptedServer(Script(reply="Here.", faults=(Fault("status", status=400, message=message),))) as server:
        caller = Caller(server, CallLimits(max_output_tokens=asked))
        replies = [caller.call(), caller.call()]
        caller.limits = CallLimits(max_output_tokens=500)
        caller.call()
        assert [entry.body["max_tokens"] for entry in server.log] == [asked, allowed, allowed, 500]
    assert [(reply.text, reply.retries) for reply in replies] == [("Here.", 0)] * 2


def test_a_limit_goes_with_the_other_name_for_it() -> None:
    too_large = Fault("status", status=400, message=TOO_LARGE)
    with ScriptedServer(Script(reply="Here.", faults=(too_large,), refuses=("max_tokens",))) as server:
        Caller(server, CallLimits(max_output_tokens=40_000)).call()
        sent = [{name: value for name, value in one.body.items() if "_tokens" in name} for one in server.log]
    assert sent == [{"max_tokens": 40_000}, {"max_tokens": 16_384}, {"max_completion_tokens": 16_384}]


def test_a_provider_that_is_never_content_is_told_of() -> None:
    """Always one number lower than the last."""
    faults = tuple(
        Fault("status", status=400, message=f"max_tokens: at most {16_383 - number}") for number in range(99)
    )
    with ScriptedServer(Script(reply="Here.", faults=faults)) as server:
        with pytest.raises(AuthorError, match=f"HTTP 400: max_tokens: at most {16_383 - MOST_LESSONS};"):
            Caller(server).call()
        assert len(server.log) == MOST_LESSONS + 1
