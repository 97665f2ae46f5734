"""Second values of scalars."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tilesmith.errors import ProjectError
from tilesmith.operators.definition import define_expression, parse_definition, parse_shapes, with_shapes
from tilesmith.operators.judged_task import forged_call
from tilesmith.operators.sizes import other_value, other_values, shape_of, traced_value, usual_value


def test_named_values_are_tried_and_one_more() -> None:
    definition = (
        "VALUES = {'a': [2, -3], 'b': [False]}\ndef f(x, a: float, b: bool, k: int = 3, w: str = ''): return x\n"
    )
    operator = parse_definition(definition, "f").operator
    assert [usual_value(operator, name) for name in "abkw"] == [2.0, False, 3, ""]
    assert [other_values(operator, name) for name in "abkw"] == [(-3.0, 3.25), (True,), (4,), ()]


def test_no_two_floats_are_alike_to_who_writes_a_kernel() -> None:
    definition = "def f(x, k: int, a: float, b: float, c: float = 0.5, d: float = 0.0, e: float = 0.0): return x\n"
    operator = parse_definition(definition, "f").operator
    assert [usual_value(operator, name) for name in "kab"] == [2, 0.5, 0.75]
    assert len({traced_value(operator, name) for name in "abcde"}) == 5


@pytest.mark.parametrize(("values", "said"), [("[]", "VALUES names none for it"), ("[2, 0.5]", "0.5 is no int")])
def test_values_are_of_their_kind(values: str, said: str) -> None:
    with pytest.raises(ProjectError, match=f"k: {said}"):
        parse_definition(f"VALUES = {{'k': {values}}}\ndef f(x, k: int): return x\n", "f")


@pytest.mark.parametrize("value", [-2.0, -0.5, 0.0, 1e-12, 1e-5, 0.25, 0.75, 1.0, 3.0])
def test_another_value_differs_and_keeps_its_sign_and_its_range(value: float) -> None:
    other = other_value(value)
    assert isinstance(other, float)
    assert abs(other - value) > 0.1, "half types must tell them apart"
    assert not 0 < value < 1 or 0 < other < 1
    assert value == 0 or other * value > 0


@pytest.mark.parametrize("shape", ["N", "B, M, N", "B, 8, H, W", "..., M, N", "B, M, N, K, L"])
def test_every_tensor_fits_on_a_gpu_several_times(shape: str) -> None:
    found = with_shapes(define_expression("own", "x + 1"), {"x": parse_shapes(f"x={shape}")["x"]})
    for sizes in found.operator.performance:
        assert 1 << 18 <= math.prod(shape_of(found.operator.tensors[0], sizes)) <= 1 << 28


def test_a_kernel_is_written_for_short_rows_unless_some_do_not_fit_into_a_program() -> None:
    operator = parse_definition("def softmax(x): return x.softmax(-1)", "softmax").operator
    assert forged_call(operator, "float16").sizes == {"M": 65536, "N": 512}
    long = replace(operator, accuracy=(*operator.accuracy, {"M": 2, "N": 70001}))
    assert forged_call(long, "float16").sizes == {"M": 1024, "N": 70001}
