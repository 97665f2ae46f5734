"""The kernel in a reply, however it was wrapped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tilesmith.forge.replies.code_blocks import (
    MOST_BLOCKS,
    CodeBlock,
    find_code_blocks,
    normalize_text,
    without_reasoning,
)
from tilesmith.forge.replies.loose_json import find_objects, parse_strict_json
from tilesmith.forge.replies.python_code import (
    MODEL_LINE,
    MOST_CHARACTERS,
    BudgetedParser,
    ParsedCode,
    join_needed_pieces,
)
from tilesmith.forge.replies.unusable_reply import UnusableReply

_TAG = re.compile(r"</?[A-Za-z_][\w:.-]{0,40}(?:\s[^<>\n]{0,200})?>|<!\[CDATA\[|\]\]>")
_DIFF = re.compile(r"^(?:@@ -\d|\+[ \t]{0,64}class ModelNew|<{5,9} ?SEARCH|\*{3} Begin Patch)", re.MULTILINE)
_FIRST_CODE = re.compile(r"^(?:import |from [\w.]{1,64} import |@triton|\"\"\"|class ModelNew)", re.MULTILINE)
_SEND = "send the whole file with `class ModelNew` in one python code block"


def extract_kernel(text: str) -> str:
    """The source of the kernel file in a reply, preferring the last whole one."""
    parser = BudgetedParser()
    problem = ""
    for reading in without_reasoning(normalize_text(text)):
        blocks = find_code_blocks(reading)[-MOST_BLOCKS:]
        if not _is_diff(blocks, reading):
            source = _kernel_among(blocks, reading, parser)
            if source is not None:
                return _check_length(source)
        problem = _describe_problem(blocks, reading)
    raise UnusableReply(problem)


def _kernel_among(blocks: list[CodeBlock], text: str, parser: BudgetedParser) -> str | None:
    if "ModelNew" not in text:
        return None
    found = _from_blocks(blocks, parser)
    if found is None and not any(MODEL_LINE.search(block.text) for block in blocks):
        found = _before_prose(text, parser)
    if found is None and blocks and not blocks[-1].closed:
        found = _before_prose(blocks[-1].text, parser)
    return found or _from_wrapping(blocks, text, parser) or _last_whole_block(blocks)


def _from_blocks(blocks: list[CodeBlock], parser: BudgetedParser) -> str | None:
    """The last block with a model and what it needs of the others; else all blocks as the parts of one file."""
    order = sorted(range(len(blocks)), key=lambda i: (MODEL_LINE.search(blocks[i].text) is None, -i))
    read: dict[int, ParsedCode] = {}
    for place in order:
        piece = parser.read(blocks[place].text)
        if piece is not None:
            read[place] = piece
    places = sorted(read)
    models = [place for place in places if read[place].defines_model]
    if models:
        return join_needed_pieces(places.index(models[-1]), [read[place] for place in places])
    parts = [block.text for block in blocks if block.language in ("", "python", "py", "python3", "triton")]
    joined = parser.read("\n".join(parts)) if len(parts) > 1 else None
    return joined.text if joined is not None and joined.defines_model else None


def _before_prose(text: str, parser: BudgetedParser) -> str | None:
    """Code without a fence, or without its end: from its first line on, up to where prose begins again."""
    first = _FIRST_CODE.search(text)
    if first is None or not MODEL_LINE.search(text):
        return None
    lines = text[first.start() :].split("\n")
    model = next((i for i, line in enumerate(lines) if MODEL_LINE.match(line)), 0)
    prose = next((i for i in range(model + 1, len(lines)) if _starts_prose(lines[i])), len(lines))
    for code in (text, "\n".join(lines), "\n".join(lines[:prose])):
        piece = parser.read(code)
        if piece is not None and piece.defines_model:
            return piece.text
    return None


def _starts_prose(line: str) -> bool:
    return line[:1].isupper() or line.startswith(("*", "-", "`", "~"))


def _from_wrapping(blocks: list[CodeBlock], text: str, parser: BudgetedParser) -> str | None:
    """Code in a field of a JSON object, or between the tags of a tool call."""
    values = [
        parse_strict_json(text.strip()),
        *(parse_strict_json(block.text) for block in blocks),
        *find_objects(text),
    ]
    parts = [*_strings_in(values, 6), *(_TAG.split(text) if "<" in text else [])]
    for part in reversed(parts):
        if not MODEL_LINE.search(part) or len(part) > MOST_CHARACTERS:
            continue
        within = [block.text for block in find_code_blocks(part)] or [part]
        for code in reversed(within):
            piece = parser.read(code.strip("\n"))
            if piece is not None and piece.defines_model:
                return piece.text
    return None


def _strings_in(value: Any, depth: int) -> Iterator[str]:
    """Strings anywhere in it; one that is itself JSON (the arguments of a tool call) is opened."""
    if isinstance(value, str):
        inner = parse_strict_json(value) if depth and value.lstrip().startswith("{") else None
        yield from _strings_in(inner, depth - 1) if inner is not None else (value,)
    elif isinstance(value, dict | list) and depth:
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings_in(part, depth - 1)


def _last_whole_block(blocks: list[CodeBlock]) -> str | None:
    """A whole block that is no Python goes to the judge all the same: it says where, and it can be repaired."""
    whole = [block.text for block in blocks if block.closed and MODEL_LINE.search(block.text)]
    return whole[-1] if whole else None


def _check_length(source: str) -> str:
    if len(source) > MOST_CHARACTERS:
        raise UnusableReply(
            f"The kernel file has {len(source):,} characters and at most {MOST_CHARACTERS:,} are accepted: "
            "send a shorter file."
        )
    return source.strip("\n").rstrip() + "\n"


def _is_diff(blocks: list[CodeBlock], text: str) -> bool:
    if not blocks:
        return _DIFF.search(text) is not None
    diffs = [block.language in ("diff", "patch") or _DIFF.search(block.text) is not None for block in blocks]
    models = [MODEL_LINE.search(block.text) is not None for block in blocks]
    return any(diffs) and not any(model and not diff for model, diff in zip(models, diffs, strict=True))


def _describe_problem(blocks: list[CodeBlock], text: str) -> str:
    if not text.strip():
        return f"The reply is empty: {_SEND}."
    if _is_diff(blocks, text):
        return f"The reply is a diff: {_SEND}, not a patch."
    if "class ModelNew" not in text:
        return f"The reply has no `class ModelNew`: {_SEND}."
    if len(text) > MOST_CHARACTERS:
        return f"The reply is too long to be a kernel file, of which {MOST_CHARACTERS:,} characters are accepted."
    if blocks and not blocks[-1].closed:
        return f"The code was cut off before its end: keep prose and comments short and {_SEND}."
    return f"`class ModelNew` is not in a code block that is Python: {_SEND}."
