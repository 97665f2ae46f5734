"""An operator as tasks and kernels that the judge takes: files with Model, and files with ModelNew.

For accuracy one task calls the operator once for each dtype, shape, layout and other value of a float, so that a
single check judges them all; of empty results the judge compares shapes and dtypes. Other values of whole numbers,
booleans and words have tasks of their own, because a kernel may refuse them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tilesmith.operators.records import FLOATS, LEADING, Number, Operator, OperatorParameter, Sizes
from tilesmith.operators.sizes import (
    is_empty,
    is_free,
    ordinary_place,
    other_values,
    shape_of,
    size_text,
    traced_value,
    usual_value,
)
from tilesmith.operators.writing import LAYOUTS, make_inputs_text, render, render_text

MOST_HELD = 65536
"""Elements of a row that one program can hold."""


@dataclass(frozen=True)
class JudgedCall:
    """One call of the operator in a task."""

    label: str
    """`float16 M=37 N=53, strided`"""
    dtype: str
    sizes: Sizes
    scalars: tuple[tuple[str, Number], ...]
    layout: str = ""
    """One of LAYOUTS, or empty: contiguous."""

    @property
    def is_empty(self) -> bool:
        return is_empty(self.sizes)

    @property
    def arguments(self) -> dict[str, object]:
        """Of `make_inputs`, after the dtype."""
        return {"leading" if name == LEADING else name: size for name, size in self.sizes.items()}

    def written(self, place: int, tensors: Sequence[OperatorParameter]) -> str:
        """The arguments of the call, whose tensors are among `args`."""
        first = place * len(tensors)
        given = [f"args[{first + offset}]" for offset in range(len(tensors))]
        if self.layout:
            shapes = [shape_of(one, self.sizes) for one in tensors]
            given = [f"judged_view({one}, {shape})" for one, shape in zip(given, shapes, strict=True)]
        named = [f"{one.name}={value}" for one, value in zip(tensors, given, strict=True)]
        return ", ".join([*named, *(f"{name}={value!r}" for name, value in self.scalars)])


def accuracy_calls(operator: Operator) -> tuple[JudgedCall, ...]:
    return tuple(call for dtype in operator.dtypes for call in _calls_in(operator, dtype))


def _calls_in(operator: Operator, dtype: str) -> Iterator[JudgedCall]:
    yield from (single_call(operator, dtype, sizes) for sizes in operator.accuracy)
    ordinary = operator.accuracy[ordinary_place(operator)]
    if is_empty(ordinary):
        return
    for layout in LAYOUTS:
        call = single_call(operator, dtype, ordinary)
        yield replace(call, label=f"{call.label}, {layout}", layout=layout)
    for one in operator.scalars:
        if is_free(operator, one.name):
            yield from (_other_call(operator, dtype, one.name, n) for n in other_values(operator, one.name))


def single_call(operator: Operator, dtype: str, sizes: Sizes) -> JudgedCall:
    usual = tuple((one.name, usual_value(operator, one.name)) for one in operator.scalars)
    return JudgedCall(f"{dtype} {size_text(sizes)}".strip(), dtype, sizes, usual)


def _other_call(operator: Operator, dtype: str, name: str, value: Number) -> JudgedCall:
    """On ordinary sizes, with another value of one scalar."""
    call = single_call(operator, dtype, operator.accuracy[ordinary_place(operator)])
    scalars = tuple((one, value if one == name else usual) for one, usual in call.scalars)
    return replace(call, label=f"{call.label}, {name}={value!r}", scalars=scalars)


class OtherValue(NamedTuple):
    """Of a scalar that a kernel is written for one value of."""

    text: str
    """`causal=True`"""
    is_named: bool
    """The operator's definition has it."""
    calls: tuple[JudgedCall, ...]
    """One in each dtype."""


def refusable_values(operator: Operator) -> Iterator[OtherValue]:
    for one in operator.scalars:
        for value in other_values(operator, one.name):
            if not is_free(operator, one.name):
                calls = tuple(_other_call(operator, dtype, one.name, value) for dtype in operator.dtypes)
                yield OtherValue(f"{one.name}={value!r}", value in one.values, calls)


def accuracy_task(operator: Operator, baseline: str, calls: Sequence[JudgedCall]) -> str:
    sizes = json.dumps([(one.dtype, one.arguments, one.layout) for one in calls])
    inputs = make_inputs_text(operator, for_judge=True)
    names = [one.name for one in operator.tensors]
    return render(
        "accuracy_task", op=operator, baseline=baseline, make_inputs=inputs, calls=calls, tensors=names, sizes=sizes
    )


def accuracy_kernel(operator: Operator, triton: str, calls: Sequence[JudgedCall]) -> str:
    return render("accuracy_kernel", op=operator, triton=_as_on_gpu(triton), calls=calls)


def forged_call(operator: Operator, dtype: str) -> JudgedCall:
    """What a kernel is written for: the first shape for performance, or where rows are reduced that of the shortest
    rows, because what takes several rows can also take one; where a row is named that no program can hold, that of
    the longest. Leading sizes as one, and numbers that are like no others."""
    sizes = (operator.performance or operator.accuracy[-1:])[0]
    last = operator.tensors[0].shape[-1] if operator.tensors[0].shape else LEADING
    if operator.arithmetic == "reduction" and isinstance(last, str) and last != LEADING and operator.performance:
        by_length = sorted(operator.performance, key=lambda one: one[last])
        lengths = [
            size for one in (*operator.performance, *operator.accuracy) if isinstance(size := one[last], int)
        ]
        sizes = by_length[0] if max(lengths) <= MOST_HELD else {**by_length[-1], last: max(lengths)}
    flat = {name: (math.prod(size),) if isinstance(size, tuple) else size for name, size in sizes.items()}
    return JudgedCall(
        operator.name, dtype, flat, tuple((one.name, traced_value(operator, one.name)) for one in operator.scalars)
    )


def single_task(operator: Operator, baseline: str, call: JudgedCall) -> str:
    """One shape and dtype, called by the names of the parameters: what a kernel is written for and timed on."""
    inputs = make_inputs_text(operator, for_judge=True)
    sizes = ", ".join(f"{name}={size}" for name, size in call.arguments.items())
    values = repr(dict(call.scalars))
    facts = {"dtype": call.dtype, "sizes": sizes, "scalars": values if call.scalars else ""}
    return render("single_task", op=operator, baseline=baseline, make_inputs=inputs, **facts)


def single_kernel(operator: Operator, triton: str) -> str:
    return render("single_kernel", op=operator, triton=_as_on_gpu(triton))


def _as_on_gpu(triton: str) -> str:
    """Without what is there for Triton's own interpreter alone: the judge's has libdevice itself."""
    return triton.replace(render_text("libdevice.j2"), "")


def written_for(operator: Operator) -> tuple[tuple[str, ...], ...]:
    """Dtypes that one kernel serves, the one that it is written in first. What is widened when it is read and
    rounded when it is written serves all floats; products of float32 and whole numbers want their own kernels."""
    floats = [one for one in ("float16", "bfloat16", *FLOATS) if one in operator.dtypes]
    floats = list(dict.fromkeys(floats))
    own = [one for one in operator.dtypes if one not in FLOATS]
    if operator.arithmetic == "product" and "float32" in floats and len(floats) > 1:
        floats.remove("float32")
        own.insert(0, "float32")
    return (*([tuple(floats)] if floats else []), *((one,) for one in own))
