"""One scripted reply in the words of OpenAI's chat.completions protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from script import PROSE, WRONG_JSON, ChosenReply, Fault, Script

REFUSAL = "I cannot help with that."


class ScriptedReply:
    """One reply in the protocol's own words."""

    def __init__(self, script: Script, chosen: ChosenReply, body: dict[str, Any]) -> None:
        self._script = script
        self._model = body.get("model", "scripted")
        self._prompt_characters = sum(len(one["content"]) for one in body.get("messages", ()))
        self._wants_usage = bool((body.get("stream_options") or {}).get("include_usage")) or not body.get("stream")
        self._finish = "stop"
        self._part = "content"
        self._chunk_characters = script.chunk_characters
        self._text = self._said(chosen.text or "", chosen.fault)

    def _said(self, text: str, fault: Fault | None) -> str:
        kind = fault.kind if fault else None
        if fault and kind == "huge":
            self._chunk_characters = 8192
            return "# a very long reply\n" * (fault.characters // 20)
        if kind == "truncated":
            self._finish = "length"
            return text[: len(text) // 2]
        if kind == "refusal":
            self._part = "refusal"
            return REFUSAL
        return {"empty": "", "prose": PROSE, "wrong-json": WRONG_JSON}.get(kind or "", text)

    def events(self) -> Iterator[dict[str, Any]]:
        yield self._event({"role": "assistant", "content": ""})
        for piece in self._pieces(self._script.reasoning):
            yield self._event({"reasoning_content": piece})
        for piece in self._pieces(self._text):
            yield self._event({self._part: piece})
        yield self._event({}, self._finish)
        if self._wants_usage and self._script.usage is not None:
            yield {**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage()}

    def document(self) -> dict[str, Any]:
        message = {"role": "assistant", "content": None, self._part: self._text}
        choice = {"index": 0, "message": message, "finish_reason": self._finish}
        usage = {} if self._script.usage is None else {"usage": self._usage()}
        return {**self._head("chat.completion"), "choices": [choice], **usage}

    def _pieces(self, text: str) -> Iterator[str]:
        step = self._chunk_characters
        return (text[start : start + step] for start in range(0, len(text), step))

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": "chatcmpl-scripted", "object": kind, "created": 0, "model": self._model}

    def _event(self, delta: dict[str, str], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    def _usage(self) -> dict[str, Any]:
        if self._script.usage:
            return self._script.usage
        reasoning = -(-len(self._script.reasoning) // 4)
        given, written = -(-self._prompt_characters // 4), -(-len(self._text) // 4) + reasoning
        return {
            "prompt_tokens": given,
            "completion_tokens": written,
            "total_tokens": given + written,
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        }
