"""The analysis in a reply: one JSON object, read kindly."""

from __future__ import annotations

from typing import Any

from tilesmith.forge.replies.analysis_fields import FIELDS, find_fields, read_complexity, read_speedup, read_text
from tilesmith.forge.replies.code_blocks import MOST_BLOCKS, find_code_blocks, normalize_text, without_reasoning
from tilesmith.forge.replies.loose_json import find_objects, parse_strict_json
from tilesmith.forge.replies.unusable_reply import UnusableReply
from tilesmith.records import Analysis


def extract_analysis(text: str) -> Analysis:
    """The analysis in a reply. Every field must be there and make sense."""
    best: dict[str, Any] = {}
    for reading in without_reasoning(normalize_text(text)):
        found = [parse_strict_json(block.text) for block in find_code_blocks(reading)[-MOST_BLOCKS:]]
        for known in (find_fields(value) for value in [*found, *find_objects(reading)]):
            best = known if known and len(known) >= len(best) else best
        if best:
            return _analysis(best)
    raise UnusableReply(f"The reply has no JSON object with the keys {', '.join(FIELDS)}.")


def _analysis(known: dict[str, Any]) -> Analysis:
    missing = [name for name in FIELDS if name not in known]
    if missing:
        raise UnusableReply(f"The JSON object lacks {', '.join(missing)}.")
    texts = {name: read_text(known[name]) for name in FIELDS}
    prose = [name for name in FIELDS if name not in ("expected_speedup", "implementation_complexity")]
    wrong = [f"{name} must be text that says something" for name in prose if not texts[name]]
    complexity, speedup = read_complexity(texts["implementation_complexity"]), None
    if complexity is None:
        wrong.append("implementation_complexity must be low, medium, high or persistent")
    try:
        speedup = read_speedup(known["expected_speedup"])
    except ValueError as error:
        wrong.append(str(error))
    if wrong or complexity is None:
        raise UnusableReply(f"The JSON object is wrong: {'; '.join(wrong)}.")
    return Analysis(
        bottleneck=texts["bottleneck"],
        method=texts["optimization_method"],
        plan=texts["modification_plan"],
        expected_speedup=speedup,
        complexity=complexity,
        kernel_type=texts["kernel_type"],
        fallback=texts["fallback_strategy"],
    )
