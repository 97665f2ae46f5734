"""The interface gate: which calls of forward that Model takes the kernel does not. It records, and fails nobody."""

from __future__ import annotations

from dataclasses import replace

from tilesmith.errors import MachineError
from tilesmith.judge.examination import CheckFindings, Examination
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.gates.other_shapes import GENERAL, other_shapes
from tilesmith.judge.reference.references import is_large
from tilesmith.process.protocol.interface import DescribeInterface, ListProbes
from tilesmith.records import Verdict

_SLOW_S = 20.0
"""Where one call takes longer, no others are tried."""
_DEADLY = (Verdict.CRASHED, Verdict.TIMEOUT, Verdict.OUT_OF_MEMORY)


def examine_interface(exam: Examination) -> CheckFindings:
    """The call that was verified, and the limits beside it. Last of all: a probe may kill the candidate."""
    other = next(iter(other_shapes(exam.reference)), None)
    is_general = exam.findings.generality == GENERAL
    try:
        described = exam.reference.ask(DescribeInterface(other if is_general else None))
        found = replace(exam.findings, interface=described.interface)
        if exam.device == "cpu" and exam.values.seconds > _SLOW_S:
            return found.noting(
                f"no other calls were tried: one takes {exam.values.seconds:.0f} s in the interpreter"
            )
        return _with_limits(exam, found)
    except MachineError as error:
        return exam.findings.noting(f"its interface was not examined: {error}")


def _with_limits(exam: Examination, found: CheckFindings) -> CheckFindings:
    own_shape = exam.device == "cuda" and not is_large(exam.reference)
    variant = "exact" if own_shape else "shrunk"
    if exam.device == "cuda" and not own_shape:
        exam.values.construct(variant)
    with exam.reference.on_gpu(exam.values.gpu):
        probes = exam.reference.ask(ListProbes(variant)).probes
    limits: dict[str, None] = {}
    for number, probe in enumerate(probes):
        try:
            if not exam.values.takes(variant, probe):
                limits[probe.limit] = None
        except GateFailed as failed:
            if failed.is_conclusive:
                raise
            limits[probe.limit] = None
            if failed.verdict in _DEADLY:
                left = len(probes) - number - 1
                found = found.noting(f"{left} other calls were not tried: it did not survive '{probe.limit}'")
                break
    return replace(found, limits=tuple(limits))
