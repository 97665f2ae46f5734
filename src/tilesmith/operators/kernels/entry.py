"""The entry of a `<op>_triton.py`: what it refuses, how it finds sizes, and which kernel it calls.

It refuses what no kernel was written for: what is no tensor, other shapes, dtypes and whole numbers, tensors where
no kernel runs, and gradients, which would be lost without a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilesmith.errors import ProjectError
from tilesmith.operators.records import LEADING, Operator, OperatorParameter
from tilesmith.operators.sizes import is_free, usual_value
from tilesmith.operators.writing import contract, quoted, tuple_text

_WIDTH = 110


class Refusal(NamedTuple):
    """An `if` of the entry and what it raises, as texts of Python."""

    condition: str
    problem: str


def refusals(operator: Operator, waits: bool = False) -> list[Refusal]:
    """`waits`: whether programs of its kernel wait for one another; Triton's interpreter runs one at a time."""
    name, tensors = operator.name, [one.name for one in operator.tensors]
    first, needing = tensors[0], " or ".join(f"{one}.requires_grad" for one in tensors)
    numbers = "".join(f"; {one.name} {usual_value(operator, one.name)!r}" for one in fixed_scalars(operator))
    elsewhere = [f"{one}.device != {first}.device" for one in tensors[1:]]
    where = f"{name} takes tensors on one GPU, or on the CPU with TRITON_INTERPRET=1 set before its import"
    if waits:
        where = f"{name} takes tensors on one GPU: its programs wait for one another, and a CPU runs one at a time"
    gradient = f"{name} has no gradient: call it under torch.no_grad(), or export it with --to module"
    found = {
        _either(_other_call(operator)): f"{name} takes {contract(operator)}{numbers}",
        _either([*elsewhere, f"{first}.is_cpu" + " and not INTERPRETED" * (not waits)]): where,
        f"torch.is_grad_enabled() and {needing if len(tensors) == 1 else f'({needing})'}": gradient,
    }
    return [Refusal(condition, in_parentheses(quoted(problem))) for condition, problem in found.items()]


def in_parentheses(literal: str) -> str:
    """A long one has them already."""
    return literal if literal.startswith("(") else f"({literal})"


def _either(conditions: Sequence[str]) -> str:
    """On one line or on several."""
    line = " or ".join(conditions)
    return line if len(line) < _WIDTH - 8 else "(\n    " + "\n    or ".join(conditions) + "\n)"


def _other_call(operator: Operator) -> list[str]:
    """Conditions of a call that nobody wrote the kernel for, in an order in which each can be asked."""
    types = " and ".join(f"torch.is_tensor({one.name})" for one in operator.tensors)
    found = [f"not ({types})" if len(operator.tensors) > 1 else f"not {types}"]
    known: dict[str, str] = {}
    followers = [one for one in operator.tensors if one.dtype is None]
    for one in operator.tensors:
        found += _shape_conditions(one, known)
    for one in operator.tensors:
        if one.dtype:
            found.append(f"{one.name}.dtype != torch.{one.dtype}")
        elif one is followers[0]:
            found.append(f"{one.name}.dtype not in DTYPES")
        else:
            found.append(f"{one.name}.dtype != {followers[0].name}.dtype")
    for one in operator.scalars:
        if is_free(operator, one.name):
            found.append(f"not isinstance({one.name}, (float, int, torch.SymFloat))")
    return [*found, *(f"{one.name} != {usual_value(operator, one.name)!r}" for one in fixed_scalars(operator))]


def find_sizes(operator: Operator) -> list[str]:
    """How the entry finds each size, in the order of their names; of leading sizes, how many elements they are."""
    known: dict[str, str] = {}
    for one in operator.tensors:
        _shape_conditions(one, known)
    return [f"{known[name]}.numel()" if name == LEADING else known[name] for name in operator.size_names]


def _shape_conditions(one: OperatorParameter, known: dict[str, str]) -> list[str]:
    """`known` grows: how the size of each name is found."""
    leads = one.shape[:1] == (LEADING,)
    own = one.shape[1:] if leads else one.shape
    places = [place - len(own) if leads else place for place in range(len(own))]
    if all(size in known for size in one.shape if isinstance(size, str)):
        sizes = [known[size] if isinstance(size, str) else str(size) for size in one.shape]
        sizes = [f"*{size}" if name == LEADING else size for name, size in zip(one.shape, sizes, strict=True)]
        return [f"{one.name}.shape != {tuple_text(sizes)}"]
    found = [f"{one.name}.dim() {'<' if leads else '!='} {len(own)}"] if own or not leads else []
    if leads:
        where = f"{one.name}.shape[:-{len(own)}]" if own else f"{one.name}.shape"
        found += [f"{where} != {known[LEADING]}"] if LEADING in known else []
        known.setdefault(LEADING, where)
    for size, place in zip(own, places, strict=True):
        if isinstance(size, int) or size in known:
            found.append(f"{one.name}.shape[{place}] != {known[size] if isinstance(size, str) else size}")
        else:
            known[size] = f"{one.name}.shape[{place}]"
    return found


def fixed_scalars(operator: Operator) -> list[OperatorParameter]:
    """Scalars that a kernel is written for one value of: all but floats, and some of those."""
    found = [one for one in operator.scalars if not is_free(operator, one.name)]
    for one in found:
        if one.default is not None and usual_value(operator, one.name) != one.default:
            raise ProjectError(
                f"{one.name} is {one.values[0]!r} in tests and {one.default!r} by default, and a kernel is written "
                "for one of them: let its VALUES begin with the default"
            )
    return found
