"""Which endpoint is chosen, and that no key goes astray."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilesmith.errors import UsageError
from tilesmith.llm.endpoint_choice import EndpointChoice, LlmOptions, choose_endpoint
from tilesmith.llm.providers import (
    KEY_VARIABLES,
    OPENAI_BASE_URL,
    OWN_KEY,
    PROVIDERS,
    Endpoint,
    find_keys,
    read_key,
)
from tilesmith.records import to_json

KEYS = {one.key_variable: f"canary-{one.name}" for one in PROVIDERS.values() if one.needs_key} | {
    OWN_KEY: "canary-own"
}
RELAY = "https://relay.example/v1"


def chosen(environment: dict[str, str] | None = None, **options: str) -> Endpoint:
    choice = choose_endpoint(LlmOptions(**options), KEYS if environment is None else environment)
    assert choice.endpoint is not None
    return choice.endpoint


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=lambda one: one.name)
def test_a_provider_by_name_gets_its_own_key(provider: object) -> None:
    name = provider.name  # type: ignore[attr-defined]
    endpoint = chosen(model="m/x:1", provider=name)
    assert (endpoint.model, endpoint.base_url, endpoint.provider) == ("m/x:1", PROVIDERS[name].base_url, name)
    own = "canary-own" if PROVIDERS[name].local else f"canary-{name}"
    assert read_key(endpoint, KEYS) == own


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("anthropic/claude-x", "anthropic", "claude-x"),
        ("openrouter/anthropic/claude-x", "openrouter", "anthropic/claude-x"),
        ("ollama/qwen3:8b", "ollama", "qwen3:8b"),
        ("gpt-5", "openai", "gpt-5"),
        ("o3-mini", "openai", "o3-mini"),
        ("claude-x", "anthropic", "claude-x"),
        ("gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        ("deepseek-chat", "deepseek", "deepseek-chat"),
    ],
)
def test_a_models_name_can_say_where_it_is_served(model: str, provider: str, name: str) -> None:
    endpoint = chosen(model=model)
    assert (endpoint.provider, endpoint.model) == (provider, name)


def test_the_prefix_belongs_to_the_name_where_the_place_is_said() -> None:
    assert chosen(model="anthropic/claude-x", provider="openrouter").model == "anthropic/claude-x"
    assert chosen(model="anthropic/claude-x", base_url=RELAY).model == "anthropic/claude-x"


@pytest.mark.parametrize("provider", ["", *PROVIDERS])
@pytest.mark.parametrize(
    "url",
    [
        RELAY,
        "http://api.openai.com/v1",
        "https://api.openai.com.evil.example/v1",
        "https://api.openai.com:444/v1",
        "https://evil.example/https://api.openai.com/v1",
    ],
)
def test_a_providers_key_never_goes_to_an_address_that_is_not_its_own(url: str, provider: str) -> None:
    endpoint = chosen(model="m", base_url=url, provider=provider)
    assert read_key(endpoint, KEYS) == "canary-own"
    without = {name: value for name, value in KEYS.items() if name != OWN_KEY}
    assert read_key(chosen(without, model="m", base_url=url, provider=provider), without) is None


def test_a_providers_address_is_known_by_itself() -> None:
    endpoint = chosen(model="m", base_url="https://API.openai.com/v1/")
    assert (endpoint.provider, endpoint.key_variable) == ("openai", "OPENAI_API_KEY")


def test_a_server_of_ones_own_elsewhere_keeps_its_kind() -> None:
    endpoint = chosen(model="m", provider="vllm", base_url="http://gpu-box:8000/v1")
    assert (endpoint.provider, endpoint.base_url) == ("vllm", "http://gpu-box:8000/v1")


def test_the_environment_says_what_the_options_do_not() -> None:
    said = {**KEYS, "TILESMITH_MODEL": "m", "TILESMITH_BASE_URL": RELAY}
    assert chosen(said).name == f"m at {RELAY}"
    assert chosen(said, model="other").model == "other"
    named = {**KEYS, "TILESMITH_MODEL": "m", "TILESMITH_PROVIDER": "gemini"}
    assert chosen(named).provider == "gemini"


def test_options_replace_the_place_the_environment_names() -> None:
    said = {**KEYS, "TILESMITH_MODEL": "m", "TILESMITH_BASE_URL": RELAY, "TILESMITH_PROVIDER": "openai"}
    assert chosen(said, provider="deepseek").base_url == PROVIDERS["deepseek"].base_url
    assert chosen(said, base_url="http://localhost:1/v1").provider is None


def test_openai_base_url_serves_what_no_other_provider_claims() -> None:
    said = {**KEYS, OPENAI_BASE_URL: RELAY}
    for model in ("mystery-7b", "gpt-5"):
        endpoint = chosen(said, model=model)
        assert (endpoint.base_url, endpoint.key_variable) == (RELAY, OWN_KEY), "the user's own key comes first"
    without_own = {name: key for name, key in said.items() if name != OWN_KEY}
    assert chosen(without_own, model="gpt-5").key_variable == "OPENAI_API_KEY", "as in OpenAI's SDK"
    named = chosen(without_own, model="gpt-5", base_url=RELAY)
    assert named.key_variable == OWN_KEY, "an address that an option names gets no provider's key"
    assert chosen(said, model="claude-x").provider == "anthropic"
    assert chosen(said, model="gpt-5", provider="openai").base_url == PROVIDERS["openai"].base_url
    assert chosen({OPENAI_BASE_URL: RELAY}, model="mystery-7b").base_url == RELAY, "no key is needed"


def test_every_provider_and_key_is_in_the_docs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "forge.md").read_text().lower()
    assert [name for name in (*PROVIDERS, *KEY_VARIABLES, OPENAI_BASE_URL) if name.lower() not in text] == []


def test_keys_are_found_by_name() -> None:
    said = {"OPENROUTER_API_KEY": "canary", "OPENAI_API_KEY": " ", OWN_KEY: "x"}
    assert find_keys(said) == ("OPENROUTER_API_KEY", OWN_KEY)


@pytest.mark.parametrize(
    ("environment", "hint"),
    [
        ({}, None),
        ({"PATH": "/bin"}, None),
        ({"OPENAI_API_KEY": "canary"}, "OPENAI_API_KEY is set: name a model with --model to use it"),
        ({"ANTHROPIC_API_KEY": "canary"}, "ANTHROPIC_API_KEY is set: name a model with --model to use it"),
        ({"TILESMITH_BASE_URL": RELAY}, "TILESMITH_BASE_URL is set: name a model with --model to use it"),
        ({"OPENAI_API_KEY": "  "}, None),
    ],
)
def test_without_a_model_nothing_is_configured(environment: dict[str, str], hint: str | None) -> None:
    assert choose_endpoint(LlmOptions(), environment) == EndpointChoice(None, hint)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "m", "provider": "opnai"}, "unknown provider opnai: take one of openai, anthropic"),
        ({"base_url": RELAY}, "says where, not which model: name one with --model"),
        ({"provider": "openai"}, "says where, not which model: name one with --model"),
        ({"model": "gpt-5"}, "openai needs a key: set OPENAI_API_KEY"),
        ({"model": "m", "base_url": "https://api.deepseek.com/v1"}, "deepseek needs a key: set DEEPSEEK_API_KEY"),
        ({"model": "mystery-7b"}, "where is model mystery-7b served"),
        ({"model": "openai/"}, "names a provider and no model"),
        ({"model": "m", "base_url": "localhost:8000"}, "no web address"),
        ({"model": "m", "base_url": "ftp://x/v1"}, "no web address"),
        ({"model": "m", "base_url": "http://[::1/v1"}, "no web address"),
        ({"model": "m", "base_url": "http://x:99999/v1"}, "no web address"),
        ({"model": "m", "base_url": "http://x/v1\nHost: y"}, "no web address"),
        ({"model": "m", "base_url": "https://me:sk-canary@x/v1"}, "bare address"),
        ({"model": "m", "base_url": "https://x/v1?key=sk-canary"}, "bare address"),
    ],
)
def test_what_makes_no_sense_is_told_in_one_line(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as told:
        choose_endpoint(LlmOptions(**options), {})
    assert message in str(told.value)
    assert "canary" not in str(told.value)
    assert len(str(told.value).splitlines()) == 1


@pytest.mark.parametrize("key", ["canary\nX-Evil: 1", "canary key", "canäry", "cana\x00ry"])
def test_a_key_that_cannot_be_one_is_told_without_showing_it(key: str) -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY does not hold a key") as told:
        choose_endpoint(LlmOptions(model="gpt-5"), {"OPENAI_API_KEY": key})
    assert "can" not in str(told.value).removeprefix("OPENAI_API_KEY")


def test_no_record_holds_a_key() -> None:
    endpoint = chosen(model="gpt-5")
    assert "canary" not in repr(endpoint) + str(endpoint) + endpoint.name + json.dumps(to_json(endpoint))


def test_the_table_is_well_formed() -> None:
    for name, provider in PROVIDERS.items():
        assert provider.name == name
        assert provider.base_url.startswith("http://localhost:" if provider.local else "https://")
        assert provider.local or provider.price_name
