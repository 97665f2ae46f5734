"""Operators that several tests start from."""

from __future__ import annotations

from tilesmith.operators.records import Operator, OperatorParameter

BIAS_ADD = Operator(
    name="bias_add",
    parameters=(OperatorParameter("x", shape=("M", "N")), OperatorParameter("bias", shape=("N",))),
    summary="x plus a bias for each column",
    accuracy=({"M": 1, "N": 1}, {"M": 37, "N": 53}),
    performance=({"M": 4096, "N": 4096},),
)
EVERY_FIELD = Operator(
    name="pick",
    parameters=(
        OperatorParameter("x", shape=("...", "C", 4)),
        OperatorParameter("target", shape=("...",), dtype="int64", below="C"),
        OperatorParameter("count", "int", "scalar", value=(3, 5)),
        OperatorParameter("alpha", "float", "scalar", default=1.5),
        OperatorParameter("flag", "bool", "scalar", default=False),
        OperatorParameter("reduction", "str", "scalar", default='me"an'),
    ),
    summary='said "so"',
    returns="tuple[torch.Tensor, torch.Tensor]",
    dtypes=("float32",),
    arithmetic="reduction",
    target=1.25,
    history="tried.md",
    accuracy=({"...": (), "C": 5}, {"...": (2, 3), "C": 7}),
    performance=({"...": (4096,), "C": 1024},),
    baseline="0" * 64,
)
