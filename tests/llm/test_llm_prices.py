"""What a call costs."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime

import pytest

from tilesmith.errors import UsageError
from tilesmith.llm.endpoint_choice import LlmOptions, choose_endpoint
from tilesmith.llm.prices import Price, dollars, parse_price, price_date, price_source
from tilesmith.llm.providers import OWN_KEY, PROVIDERS, Endpoint
from tilesmith.records import Usage

USAGE = Usage(1_000_000, 1_000_000, 400_000, 0)


def at(provider: str, model: str) -> Endpoint:
    known = PROVIDERS[provider]
    return Endpoint(model, known.base_url, provider, known.key_variable)


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "gpt-4o-mini"),
        ("anthropic", "claude-sonnet-4-5"),
        ("gemini", "gemini-2.5-flash"),
        ("gemini", "models/gemini-2.5-flash"),
        ("deepseek", "deepseek-chat"),
        ("openrouter", "anthropic/claude-sonnet-4.5"),
    ],
)
def test_known_models_have_a_price_and_reasoning_is_not_paid_twice(provider: str, model: str) -> None:
    cost = dollars(at(provider, model), USAGE)
    assert cost is not None
    assert cost > 0
    assert cost == dollars(at(provider, model), Usage(1_000_000, 1_000_000))


def test_a_price_is_what_the_list_says() -> None:
    assert dollars(at("openai", "gpt-4o-mini"), USAGE) == pytest.approx(0.15 + 0.60)


def test_cached_tokens_are_cheaper() -> None:
    cached = Usage(1_000_000, 0, 0, 1_000_000)
    assert dollars(at("openai", "gpt-4o-mini"), cached) == pytest.approx(0.075)


def test_more_cached_than_given_is_not_more_than_all() -> None:
    assert dollars(at("openai", "gpt-4o-mini"), Usage(1_000_000, 0, 0, 9_000_000)) == pytest.approx(0.075)


def test_an_address_can_be_known_by_its_prices() -> None:
    endpoint = Endpoint("gpt-4o-mini", "https://api.openai.com/v1", None, OWN_KEY)
    assert dollars(endpoint, USAGE) == pytest.approx(0.75)


@pytest.mark.parametrize(
    "endpoint",
    [at("openai", "no-such-model"), Endpoint("gpt-4o-mini", "https://relay.example/v1", None, OWN_KEY)],
    ids=["model", "address"],
)
def test_an_unknown_price_is_unknown(endpoint: Endpoint) -> None:
    assert dollars(endpoint, USAGE) is None
    assert (Usage(1, 1, dollars=dollars(endpoint, USAGE)) + Usage(1, 1, dollars=2.0)).dollars is None


def test_a_routers_choice_is_paid_by_its_own_name() -> None:
    endpoint = at("openrouter", "some/alias")
    assert dollars(endpoint, USAGE) is None
    assert dollars(endpoint, USAGE, spoke="openai/gpt-4o-mini") == pytest.approx(0.75)


@pytest.mark.parametrize("provider", ["ollama", "vllm", "sglang"])
def test_a_model_of_ones_own_costs_nothing(provider: str) -> None:
    assert dollars(at(provider, "anything"), USAGE) == 0.0
    elsewhere = choose_endpoint(LlmOptions("anything", provider, "http://gpu-box:1/v1"), {}).endpoint
    assert elsewhere is not None
    assert dollars(elsewhere, USAGE) == 0.0


def test_the_users_own_price_goes_first() -> None:
    own = parse_price("0.5,1.5")
    assert own == Price(0.5, 1.5)
    assert dollars(at("openai", "gpt-4o-mini"), USAGE, own) == 2.0
    assert dollars(at("ollama", "x"), Usage(500_000, 0), own) == 0.25


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "a,b", "-1,2", "nan,1", "inf,1"])
def test_a_price_that_makes_no_sense_is_told(text: str) -> None:
    with pytest.raises(UsageError, match=r"like 0\.5,1\.5"):
        parse_price(text)


def test_the_list_has_a_date() -> None:
    assert date(2025, 1, 1) < date.fromisoformat(price_date()) <= datetime.now(UTC).date()
    assert price_source().endswith(price_date())


def test_nobody_pays_for_the_list_or_the_sdk_before_they_are_needed() -> None:
    program = (
        "import sys\nimport tilesmith.llm.prices, tilesmith.llm.endpoint_choice, tilesmith.authors.llm\n"
        "print({'openai', 'genai_prices', 'pydantic', 'httpx', 'httpx2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
