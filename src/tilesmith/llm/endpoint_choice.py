"""Which LLM a run uses: from the options first, then from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urlsplit

from tilesmith.errors import UsageError
from tilesmith.llm.providers import KEY_VARIABLES, OPENAI_BASE_URL, OWN_KEY, PROVIDERS, Endpoint, Provider, read_key

MODEL = "TILESMITH_MODEL"
PROVIDER = "TILESMITH_PROVIDER"
BASE_URL = "TILESMITH_BASE_URL"


@dataclass(frozen=True)
class LlmOptions:
    """What the command line says about the LLM."""

    model: str | None = None
    provider: str | None = None
    base_url: str | None = None


@dataclass(frozen=True)
class EndpointChoice:
    """The endpoint to use; without one, perhaps a hint at what is missing."""

    endpoint: Endpoint | None
    hint: str | None = None


def choose_endpoint(options: LlmOptions, environment: Mapping[str, str]) -> EndpointChoice:
    """An LLM is configured when a model is named. Where it is served is said by the options or, if they say
    nothing about it, by the environment: the two never mix, so that no key goes where it does not belong."""
    model = _stripped(options.model) or _stripped(environment.get(MODEL))
    if model is None:
        return _nothing_chosen(options, environment)
    provider, base_url = _stripped(options.provider), _stripped(options.base_url)
    if provider is None and base_url is None:
        provider, base_url = _stripped(environment.get(PROVIDER)), _stripped(environment.get(BASE_URL))
    if base_url is not None:
        endpoint = _at_address(model, base_url, provider)
    elif provider is not None:
        endpoint = _at_provider(model, _known(provider))
    else:
        endpoint = _by_model_name(model, environment)
    _require_key(endpoint, environment)
    return EndpointChoice(endpoint)


def _stripped(text: str | None) -> str | None:
    return (text or "").strip() or None


def _nothing_chosen(options: LlmOptions, environment: Mapping[str, str]) -> EndpointChoice:
    for option, value in (("--base-url", options.base_url), ("--provider", options.provider)):
        if _stripped(value):
            raise UsageError(f"{option} {value} says where, not which model: name one with --model")
    variables = (*KEY_VARIABLES, BASE_URL, PROVIDER, OPENAI_BASE_URL)
    present = next((one for one in variables if _stripped(environment.get(one))), None)
    return EndpointChoice(None, f"{present} is set: name a model with --model to use it" if present else None)


def _at_provider(model: str, provider: Provider) -> Endpoint:
    return Endpoint(model, provider.base_url, provider.name, provider.key_variable)


def _at_address(model: str, base_url: str, provider: str | None) -> Endpoint:
    """The address counts: a provider's own key goes to its own address only, whatever `provider` says."""
    parts = _checked(base_url)
    here = next((one for one in PROVIDERS.values() if one.needs_key and _same_place(parts, one)), None)
    named = _known(provider) if provider else here
    return Endpoint(model, base_url, named.name if named else None, here.key_variable if here else OWN_KEY)


def _by_model_name(model: str, environment: Mapping[str, str]) -> Endpoint:
    """Models that no other provider claims by their name are served at OPENAI_BASE_URL, if that is set; as for
    other clients OPENAI_API_KEY goes there, unless there is a key of the user's own for such addresses."""
    openai_url, openai = _stripped(environment.get(OPENAI_BASE_URL)), PROVIDERS["openai"]
    first, slash, rest = model.partition("/")
    if slash and first in PROVIDERS:
        if not rest:
            raise UsageError(f"--model {model} names a provider and no model: write {first}/MODEL")
        return _at_provider(rest, PROVIDERS[first])
    provider = next((one for one in PROVIDERS.values() if model.startswith(one.model_prefixes)), None)
    if openai_url is not None and provider in (None, openai):
        endpoint = _at_address(model, openai_url, None)
        takes_openai_key = endpoint.key_variable == OWN_KEY and not _stripped(environment.get(OWN_KEY))
        return replace(endpoint, key_variable=openai.key_variable) if takes_openai_key else endpoint
    if provider is None:
        raise UsageError(f"where is model {model} served? Add --provider ({', '.join(PROVIDERS)}) or --base-url")
    return _at_provider(model, provider)


def _known(name: str) -> Provider:
    if name not in PROVIDERS:
        raise UsageError(f"unknown provider {name}: take one of {', '.join(PROVIDERS)}, or --base-url URL")
    return PROVIDERS[name]


def _checked(base_url: str) -> SplitResult:
    """Secrets in an address would end up in every record, so there must be none."""
    try:
        parts = urlsplit(base_url)
        well_formed = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        well_formed = False
    if not well_formed or not base_url.isprintable() or " " in base_url:
        raise UsageError("--base-url is no web address: write it like http://localhost:8000/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(f"--base-url must be a bare address: no user, no '?', no '#'; put the key in {OWN_KEY}")
    return parts


def _same_place(parts: SplitResult, provider: Provider) -> bool:
    own = urlsplit(provider.base_url)
    return (parts.scheme, parts.hostname, parts.port or 443) == (own.scheme, own.hostname, own.port or 443)


def _require_key(endpoint: Endpoint, environment: Mapping[str, str]) -> None:
    """Reading the key also checks that it can be one. Addresses of the user's own may do without."""
    key = read_key(endpoint, environment)
    provider = endpoint.served_by
    if key is None and provider and provider.needs_key and endpoint.key_variable == provider.key_variable:
        raise UsageError(f"{provider.name} needs a key: set {endpoint.key_variable}")
