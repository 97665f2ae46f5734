"""Say why a kernel does not compile in a few lines that help to repair it.

Triton counts lines from the kernel's `def` and prints everything above the fault; the
readers of this message have the file, so they get the file's line, the text and a caret.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from tilesmith.worker.compat.triton_names import CompilationError
from tilesmith.worker.compile.jit_functions import def_line, reachable
from tilesmith.worker.compile.recorded_launch import RecordedLaunch

MAX_LINES = 12
MAX_CHARACTERS = 1500
INDEXING_ADVICE = (
    "unsupported tensor index: a block held in registers can be indexed only with None and `:`; "
    "load the wanted elements through pointers, or use tl.gather"
)
"""Triton stumbles while it formats its own message and then asks about a missing @triton.jit."""


class CompileFailure(Exception):
    """The kernel cannot run on the target; the message is for whoever repairs it."""


def explain(error: BaseException, launch: RecordedLaunch, log: str) -> str:
    """From what triton raised and printed."""
    chain = list(_causes(error))
    located = [link for link in chain if isinstance(link, CompilationError)]
    if located:
        return _shortened(_explain_source(located, chain, launch))
    reason = _first_error(str(error)) or _first_error(log) or _plain(error)
    return _shortened(f"{launch.kernel} (line {launch.line}): {reason}")


def explain_on_gpu(error: BaseException, fn: Any) -> str:
    """The same for a launch on a real GPU, of which only the exception and the jit function are left."""
    nothing: dict[Any, Any] = {}
    launch = RecordedLaunch(fn.__name__, fn, (0, 0, 0), nothing, nothing, nothing, nothing, def_line(fn))
    return explain(error, launch, "")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _explain_source(located: list[Any], chain: list[BaseException], launch: RecordedLaunch) -> str:
    """The innermost place that is the author's own, the innermost reason, then how one got there."""
    functions = {fn.src: fn for fn in reachable([launch.fn, *launch.constexprs.values()])}
    places = [_place(link, functions[link.src]) for link in located if link.src in functions]
    lines = list(places[-1].splitlines()) if places else [f"{launch.kernel} (line {launch.line}):"]
    lines.append(_reason(located, chain))
    lines += [f"called from {place.splitlines()[0].rstrip(':')}" for place in reversed(places[:-1])]
    return "\n".join(lines)


def _place(link: Any, fn: Any) -> str:
    """Line, text and caret in the file the function was written in."""
    if not hasattr(link.node, "lineno"):
        return f"line {def_line(fn)}, in {fn.__name__}:"
    lines = link.src.splitlines()
    text = lines[link.node.lineno - 1] if link.node.lineno <= len(lines) else ""
    column = max(0, link.node.col_offset - (len(text) - len(text.lstrip())))
    where = f"line {def_line(fn) + link.node.lineno - 1}, in {fn.__name__}:"
    return f"{where}\n    {text.strip()}\n    {' ' * column}^"


def _reason(located: list[Any], chain: list[BaseException]) -> str:
    """Triton leaves the message empty on the way out of each call; the innermost one has it."""
    messages = [str(link.error_message) for link in located if link.error_message]
    if isinstance(located[-1].node, ast.Subscript) and any("Did you forget" in text for text in messages):
        return INDEXING_ADVICE
    if messages:
        return _unquoted(messages[-1])
    return _plain(chain[-1]) if chain[-1] is not located[-1] else "the compiler gave no reason"


def _unquoted(message: str) -> str:
    """`ValueError('text')`, as repr() leaves it, to `ValueError: text`."""
    match = re.fullmatch(r"(\w+)\((['\"])(.*)\2,?\)", message, re.DOTALL)
    if match is None:
        return message
    text = match[3].replace("\\n", "\n").replace("\\'", "'")
    return f"{match[1]}: {text}"


def _plain(error: BaseException) -> str:
    text = re.sub(r"<function (\S+) at 0x\w+>", r"\1 (not a @triton.jit function)", str(error))
    return f"{type(error).__name__}: {text}"


def _first_error(log: str) -> str | None:
    """ptxas and MLIR put `error` before the one line that matters and pages of code after it."""
    for line in log.splitlines():
        match = re.search(r"\b(?:error|fatal)\s*:\s*(.+)", line, re.IGNORECASE)
        if match is None or line.startswith("PTXAS error:"):
            continue
        place = re.search(r'([^\s"]+\.py)"?:(\d+)(?::\d+)?', line[: match.start()])
        return f"line {place[2]}: {match[1]}" if place else match[1].strip()
    return None


def _shortened(message: str) -> str:
    lines = message.splitlines()
    if len(lines) > MAX_LINES:
        lines = [*lines[: MAX_LINES - 1], "..."]
    text = "\n".join(lines)
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 3] + "..."
