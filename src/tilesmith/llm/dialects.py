"""How to ask an endpoint: which optional fields it understands and how long a reply it allows, learned from its
refusals. A refusal costs nothing, so a limit that is still too high is only one more lesson, while one that is
too low would cut every reply to come."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from tilesmith.llm.providers import Endpoint
from tilesmith.llm.retry import CallLimits
from tilesmith.records import Prompt

LIMIT_FIELDS = ("max_completion_tokens", "max_tokens")
LEAST_LIMIT = 100
"""No kernel fits into less. Smaller numbers in a refusal are the low end of a range, or part of a date."""
LONGEST_REFUSAL = 4000
"""Characters searched for numbers: a whole web page must not keep us busy."""
_STATUSES = (400, 422)
"""They stand in every refusal and limit nothing."""
_NAME_OR_DATE = r"(?<![A-Za-z_])[A-Za-z_][\w.]*(?:-[\w.]+)+|\d+-\d+-\d[\w-]*"
"""The 0613 of a model's name is no limit."""
_NUMBER = r"(?<![\w.])(\d{1,3}(?:,\d{3})+(?!\w)|\d{1,9}(?!\w|\.\d))"
_CONTEXT = r"\bcontext (?:length|window|limit|size)"
_ABOUT_THE_LIMIT = rf"max_tokens|max_completion_tokens|max_new_tokens|{_CONTEXT}"
_TOO_HIGH = rf"too (large|high|big)|at most|maximum|range|less than|exceed|be greater than|<=|\d > \d|{_CONTEXT}"
_BOUND_LEFT_OUT = r"exclusive|less than (?!or equal)|\[\d+, ?\d+\)"
_WINDOW = (
    rf"\+ \S+ (?:must be <=|>) {_NUMBER}",
    rf"{_CONTEXT}[^.,;'\"]{{0,40}}?{_NUMBER}",
    rf"{_NUMBER}(?: tokens?)?(?: maximum)? {_CONTEXT}",
)


@dataclass(frozen=True)
class ContextWindow:
    """What prompt and reply may take together, and what one prompt took of it."""

    tokens: int
    prompt_tokens: int
    prompt_characters: int

    def room(self, prompt: Prompt) -> int:
        """Tokens left for the reply: by the provider's count for that same prompt, in proportion for others."""
        taken = -(-self.prompt_tokens * _characters(prompt) // self.prompt_characters)
        return self.tokens - taken


@dataclass(frozen=True)
class Dialect:
    """How to ask. The fields left are those nobody has refused yet."""

    limit_fields: tuple[str, ...] = LIMIT_FIELDS
    """Names for the limit on output tokens, the first of which is used; none: the provider's own limit holds."""
    stream_options: bool = True
    temperature: bool = True
    most_output: int | None = None
    """The highest limit this model accepts, once it said so."""
    window: ContextWindow | None = None

    def arguments(self, endpoint: Endpoint, prompt: Prompt, limits: CallLimits) -> dict[str, Any]:
        """What `chat.completions.create` is given."""
        asked: dict[str, Any] = {"model": endpoint.model, "messages": _messages(prompt), "stream": True}
        if self.stream_options:
            asked["stream_options"] = {"include_usage": True}
        if self.limit_fields:
            asked[self.limit_fields[0]] = self.limit(prompt, limits)
        if self.temperature and limits.temperature is not None:
            asked["temperature"] = limits.temperature
        return asked

    def limit(self, prompt: Prompt, limits: CallLimits) -> int:
        """Output tokens to ask for. Where there seems to be no room at all, the provider shall say so itself."""
        room = self.window.room(prompt) if self.window else 0
        known = (self.most_output, room if room >= LEAST_LIMIT else None)
        return min([limits.max_output_tokens, *(one for one in known if one is not None)])

    def after(self, refusal: str, prompt: Prompt, limits: CallLimits) -> Dialect | None:
        """The dialect to try next when this prompt was refused with these words; none if there is no other."""
        if self.stream_options and re.search(r"stream_options|include_usage", refusal):
            return replace(self, stream_options=False)
        if self.temperature and "temperature" in refusal:
            return replace(self, temperature=False)
        if not self.limit_fields or not _says(_ABOUT_THE_LIMIT, refusal):
            return None
        if not _says(_TOO_HIGH, refusal):
            return replace(self, limit_fields=self.limit_fields[1:])
        told = re.sub(_NAME_OR_DATE, "", refusal[:LONGEST_REFUSAL])
        return self._with_a_lower_limit(told, prompt, self.limit(prompt, limits))

    def _with_a_lower_limit(self, refusal: str, prompt: Prompt, asked: int) -> Dialect | None:
        window = _named_window(refusal, prompt, asked)
        if window is not None:
            return replace(self, window=window) if window.room(prompt) >= LEAST_LIMIT else None
        most = _named_most(refusal, asked)
        if most is not None:
            return replace(self, most_output=most)
        # A limit that is too high is too high under either name.
        return replace(self, limit_fields=())


def first_dialect(endpoint: Endpoint) -> Dialect:
    """What an endpoint most probably speaks: `max_tokens`, unless its provider is known to want the newer name."""
    provider = endpoint.served_by
    first = provider.limit_field if provider else "max_tokens"
    return Dialect(tuple(sorted(LIMIT_FIELDS, key=lambda name: name != first)))


def _messages(prompt: Prompt) -> list[dict[str, str]]:
    said = (("system", prompt.system), ("user", prompt.user))
    return [{"role": role, "content": content} for role, content in said if content]


def _characters(prompt: Prompt) -> int:
    return max(1, len(prompt.system) + len(prompt.user))


def _says(pattern: str, refusal: str) -> bool:
    return re.search(pattern, refusal, re.IGNORECASE) is not None


def _numbers(refusal: str) -> list[int]:
    found = (_number(one) for one in re.findall(_NUMBER, refusal))
    return [one for one in found if one not in _STATUSES]


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))


def _named_most(refusal: str, asked: int) -> int | None:
    """The number nearest below what was asked. Should it be another's, the next refusal leads further down."""
    left_out = 1 if _says(_BOUND_LEFT_OUT, refusal) else 0
    below = (one - left_out for one in _numbers(refusal) if one != asked)
    return max((one for one in below if LEAST_LIMIT <= one < asked), default=None)


def _named_window(refusal: str, prompt: Prompt, asked: int) -> ContextWindow | None:
    named = (re.search(pattern, refusal, re.IGNORECASE) for pattern in _WINDOW)
    tokens = next((_number(one[1]) for one in named if one), None)
    taken = None if tokens is None else _taken_by_prompt(refusal, tokens, asked)
    if tokens is None or taken is None:
        return None
    if "at least" in refusal:
        # vLLM counts only up to the first token too many: taken at its word, it would be asked thousands of times.
        taken = max(taken, tokens - asked * 3 // 4)
    return ContextWindow(tokens, taken, _characters(prompt))


def _taken_by_prompt(refusal: str, window: int, asked: int) -> int | None:
    """The number that is too much for the window together with what was asked, else the whole less what was asked;
    one that is too much by itself is a prompt that never fits."""
    numbers = [one for one in _numbers(refusal) if one != asked]
    part = max((one for one in numbers if one < window < one + asked), default=None)
    if part is not None:
        return part
    whole = re.search(rf"requested (?:about |a total of )?{_NUMBER}", refusal, re.IGNORECASE)
    if whole and _number(whole[1]) > max(window, asked):
        return _number(whole[1]) - asked
    return max((one for one in numbers if one > window), default=None)
