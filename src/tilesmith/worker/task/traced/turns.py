"""When a pass would go another way than the one that was traced, told by the sizes of its inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tilesmith.tasks.graph import Graph
from tilesmith.tasks.numbers.size_expressions import explain
from tilesmith.tasks.numbers.varying import (
    goes_the_same_way,
    is_varying,
    make_varying,
    remember_varying,
    sizes_of_inputs,
    with_varying,
)
from tilesmith.worker.task.traced.watched_sizes import Question, Reading

_SYMBOLS = {"lt": ("<", ">="), "le": ("<=", ">"), "gt": (">", "<="), "ge": (">=", "<"), "eq": ("==", "!=")}
_SYMBOLS["ne"] = _SYMBOLS["eq"][::-1]


@dataclass(frozen=True)
class Traced:
    """A graph, or the reason why there is none."""

    graph: Graph | None
    reason: str | None
    questions: tuple[Question, ...] = ()
    """What the code asked of sizes on the way."""
    readings: tuple[Reading, ...] = ()
    """The sizes that it read."""


def with_turns(traced: Traced, elsewhere: Sequence[Traced]) -> Graph:
    """The graph, which says what its numbers are in other traces, and when the pass would go another way."""
    assert traced.graph is not None
    graph = with_varying(traced.graph, [one.graph for one in elsewhere if one.graph is not None])
    own, sizes = sizes_of_inputs(graph), remember_varying(graph).sizes
    alike = [one for one in elsewhere if one.graph is not None and goes_the_same_way(one.graph, graph)]
    conditions = _conditions(traced, alike, sizes)
    turning = {name: 0 for name in own if name in sizes} if conditions is None else {}
    told = conditions or {}
    others = [one for one in elsewhere if one not in alike and _first_turn(traced, one) not in told]
    for one in sorted(others, key=lambda other: len(_changed(own, other))):
        changed = _changed(own, one)
        if not turning.keys() & changed.keys() and one.graph is not None:
            grown, more = len(one.graph.nodes) - len(graph.nodes), set(changed.values())
            turning |= dict.fromkeys(changed, max(grown // more.pop(), 0) if len(more) == 1 else 0)
    return replace(graph, conditions=dict(told.values()), turning=turning)


def _changed(own: Mapping[str, int], other: Traced) -> dict[str, int]:
    """Sizes that are others there, and by how much."""
    there = sizes_of_inputs(other.graph) if other.graph is not None else {}
    return {name: size - own.get(name, 0) for name, size in there.items() if own.get(name) != size}


def _first_turn(traced: Traced, other: Traced) -> int | None:
    """The place of the first question that was answered otherwise."""
    for place, (one, there) in enumerate(zip(traced.questions, other.questions, strict=False)):
        if one.kind != there.kind:
            return None
        if one.answer != there.answer:
            return place
    return None


def _conditions(
    traced: Traced, alike: Sequence[Traced], sizes: Mapping[str, int]
) -> dict[int, tuple[str, str]] | None:
    """By the place of a question, when the pass goes another way and when it goes this one.

    What was answered otherwise in a trace that went the same way decides nothing. None where something was asked
    that nobody can say in words; `sizes` remember what they are in the `alike` traces.
    """
    kinds = [one.kind for one in traced.questions]
    if any([one.kind for one in other.questions] != kinds for other in alike):
        alike = ()
    texts = [_explained(place, traced, alike, sizes) for place in range(len(traced.readings))]
    found: dict[int, tuple[str, str]] = {}
    for place, one in enumerate(traced.questions):
        used = [int(i) for i in re.findall(r"{(\d+)}", "".join(one.texts))]
        if all(texts[i] == str(traced.readings[i].size) for i in used):
            continue
        if any(other.questions[place].answer != one.answer for other in alike):
            continue
        if any(texts[i] is None for i in used):
            return None
        left, right = (text.format(*texts) for text in one.texts)
        holds, fails = _SYMBOLS[one.kind][:: 1 if one.answer else -1]
        found[place] = (f"{left} {fails} {right}", f"{left} {holds} {right}")
    return found


def _explained(place: int, traced: Traced, alike: Sequence[Traced], sizes: Mapping[str, int]) -> str | None:
    """A size that was read, by those of the inputs; the number itself where it is the same in all traces."""
    size, expression = traced.readings[place]
    if expression is not None:
        return expression
    if any(len(other.readings) != len(traced.readings) for other in alike):
        return None
    number = make_varying([size, *(other.readings[place].size for other in alike)])
    found = explain(number, sizes) if is_varying(number) else None
    return found.write(str) if found else None if is_varying(number) else str(size)
