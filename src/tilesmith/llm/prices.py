"""What a call costs, by the price list that comes with genai_prices. Nothing is ever fetched."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from tilesmith.errors import UsageError
from tilesmith.llm.providers import Endpoint
from tilesmith.records import Usage


@dataclass(frozen=True)
class Price:
    """A user's own price, in dollars per million tokens."""

    input_per_million: float
    output_per_million: float


def parse_price(text: str) -> Price:
    """The price in an option like `--price 0.5,1.5`."""
    try:
        numbers = [float(one) for one in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 2 or not all(math.isfinite(one) and one >= 0 for one in numbers):
        raise UsageError(f"--price {text}: write dollars per million tokens in and out, like 0.5,1.5")
    return Price(*numbers)


def dollars(endpoint: Endpoint, usage: Usage, own: Price | None = None, spoke: str | None = None) -> float | None:
    """The cost of `usage`; null when nobody knows the price. `spoke` is the name the model gave itself, which a
    router may have chosen. Reasoning tokens are part of the output tokens already."""
    if own is not None:
        return (usage.input_tokens * own.input_per_million + usage.output_tokens * own.output_per_million) / 1e6
    provider = endpoint.served_by
    if provider is not None and provider.local:
        return 0.0
    names = (endpoint.model, spoke) if spoke else (endpoint.model,)
    known = (_listed(endpoint, name, usage) for name in names)
    return next((cost for cost in known if cost is not None), None)


def _listed(endpoint: Endpoint, model: str, usage: Usage) -> float | None:
    import genai_prices

    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=min(usage.cached_tokens, usage.input_tokens),
        output_tokens=usage.output_tokens,
    )
    provider = endpoint.served_by
    name = model.removeprefix("models/")
    try:
        if provider is not None and provider.price_name:
            found = genai_prices.calc_price(tokens, name, provider_id=provider.price_name)
        else:
            found = genai_prices.calc_price(tokens, name, provider_api_url=endpoint.base_url)
    except (LookupError, ValueError):
        return None
    # The list has models without any price. Those whose name does not say that they are free are unknown.
    listed = found.model_price.input_mtok is not None or found.model_price.output_mtok is not None
    return float(found.total_price) if listed or name.endswith(":free") else None


def price_source() -> str:
    """For people: which list, and how old."""
    return f"genai-prices {version('genai-prices')}, prices as of {price_date()}"


@cache
def price_date() -> str:
    """The newest day on which a price in the list came into force. The list has no date of its own."""
    today = datetime.now(UTC).date()
    return max((day for day in _price_days() if day <= today), default=date.min).isoformat()


def _price_days() -> Iterator[date]:
    from genai_prices.data import providers

    for provider in providers:
        for model in provider.models:
            dated: list[Any] = [
                *(model.prices if isinstance(model.prices, list) else ()),
                *(model.price_variants or ()),
            ]
            starts = (getattr(one.constraint, "start_date", None) for one in dated)
            yield from (start for start in starts if start is not None)
