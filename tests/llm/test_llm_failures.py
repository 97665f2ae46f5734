"""Provider errors as one line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilesmith.llm.failures import LONGEST_MESSAGE, provider_message, redact_key, shorten_to_line, status_failure

KEY = "sk-canary-0123456789abcdef"


@settings(deadline=None)
@given(st.text(st.characters(), max_size=2000))
def test_any_text_becomes_one_printable_line(text: str) -> None:
    line = shorten_to_line(text)
    assert line.isprintable()
    assert len(line) <= LONGEST_MESSAGE
    assert "  " not in line
    assert shorten_to_line(line) == line


@settings(deadline=None)
@given(st.text(max_size=600), st.text(max_size=600), st.integers(1, 5))
def test_no_part_of_a_repeated_key_is_left_by_cutting(before: str, after: str, times: int) -> None:
    message = provider_message({"error": {"message": before + KEY * times + after}}, KEY)
    assert "canary" not in message or "canary" in before + after


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["error", "message", "detail", "code", "x"]), inner, max_size=3)
        ),
        max_leaves=10,
    )
)
def test_no_error_body_breaks_us(body: Any) -> None:
    failure = status_failure(400, body, KEY, "X_API_KEY")
    assert failure.message.startswith("HTTP 400: ")
    assert failure.message.isprintable()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "No such model"}}, "No such model"),
        ({"message": "No such model", "type": "x"}, "No such model"),
        ({"error": "model 'x' not found"}, "model 'x' not found"),
        ([{"error": {"code": 400, "message": "API key not valid"}}], "API key not valid"),
        ({"detail": [{"msg": "field required", "loc": ["body"]}]}, "field required"),
        ("<html><head><title>502 Bad Gateway</title></head>\n<hr>nginx</html>", "502 Bad Gateway nginx"),
        ("upstream connect error", "upstream connect error"),
        (None, ""),
        ({}, ""),
        ([], ""),
    ],
)
def test_the_message_is_found_where_providers_put_it(body: object, message: str) -> None:
    assert provider_message(body, None) == message


def test_short_keys_are_no_secrets() -> None:
    assert redact_key("EMPTY is what it is", "EMPTY") == "EMPTY is what it is"
    assert redact_key("nothing", None) == "nothing"


@pytest.mark.parametrize(
    ("status", "key", "advice"),
    [
        (401, KEY, "check the key in X_API_KEY"),
        (401, None, "set X_API_KEY"),
        (403, KEY, "check the key in X_API_KEY"),
        (404, KEY, "check the model's name and the address"),
        (402, KEY, "the account has no credit left for this model"),
    ],
)
def test_advice_fits_the_status(status: int, key: str | None, advice: str) -> None:
    failure = status_failure(status, {}, key, "X_API_KEY")
    assert (failure.advice, failure.max_retries) == (advice, 0)
