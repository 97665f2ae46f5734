"""Tokens of a call, as the provider counts them; estimated where it does not."""

from __future__ import annotations

from typing import Any

from tilesmith.llm.streaming import StreamedReply
from tilesmith.records import Prompt, Usage

CHARACTERS_PER_TOKEN = 4


def count_tokens(prompt: Prompt, reply: StreamedReply) -> Usage:
    """Usage without its price."""
    reported = _reported(reply.usage) if reply.usage else None
    return reported or _estimated(prompt, reply)


def count_lost_tokens(prompt: Prompt, reply: StreamedReply) -> Usage:
    """Usage of a try that failed: nothing, unless the provider had begun to answer."""
    begun = reply.text or reply.refusal or reply.reasoning_characters or reply.usage
    return count_tokens(prompt, reply) if begun else Usage()


def _reported(usage: dict[str, Any]) -> Usage | None:
    """Some providers (Gemini, xAI) leave reasoning out of `completion_tokens`: the total gives it away."""
    given, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    unnamed = max(0, _count(usage, "total_tokens") - given - written)
    output = written + unnamed
    if given + output == 0:
        return None
    reasoning = _count(usage.get("completion_tokens_details"), "reasoning_tokens") or unnamed
    # DeepSeek has a field of its own for what it found in its cache.
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens") or _count(usage, "prompt_cache_hit_tokens")
    return Usage(given, output, min(reasoning, output), min(cached, given))


def _count(counts: object, name: str) -> int:
    value = counts.get(name) if isinstance(counts, dict) else None
    return max(0, value) if isinstance(value, int) else 0


def _estimated(prompt: Prompt, reply: StreamedReply) -> Usage:
    written = _tokens(len(reply.text) + len(reply.refusal))
    reasoning = _tokens(reply.reasoning_characters)
    return Usage(
        _tokens(len(prompt.system) + len(prompt.user)), written + reasoning, reasoning, dollars=0.0, estimated=True
    )


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)
