"""The sanitizer gate, when asked for: compute-sanitizer's memcheck and racecheck on a small shape."""

from __future__ import annotations

import shutil

from tilesmith.judge.examination import CheckFindings, Examination
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.process.fork_server_client import ChildGone
from tilesmith.process.protocol.codec import Malformed, RequestFailed
from tilesmith.process.protocol.machine import SanitizeKernel, SanitizerReport
from tilesmith.records import Verdict

TOOLS = {"memcheck": Verdict.UNSAFE_MEMORY, "racecheck": Verdict.NONDETERMINISTIC}
_TOOL_S = 180.0


def sanitize(exam: Examination) -> CheckFindings:
    found = exam.findings
    if shutil.which("compute-sanitizer") is None:
        return found.noting("not sanitized: compute-sanitizer is not installed here")
    for tool, verdict in TOOLS.items():
        seen = _run(exam, tool)
        if seen.errors:
            raise GateFailed(verdict, f"compute-sanitizer {tool}: {seen.errors} errors: {seen.report}")
        if seen.errors is None:
            found = found.noting(f"not sanitized: {seen.report}")
    return found


def _run(exam: Examination, tool: str) -> SanitizerReport:
    variant = "shrunk" if exam.reference.plans else "exact"
    inputs = exam.reference.inputs_file(variant, "own")
    child = exam.spawn("native", "sanitizer")
    try:
        with exam.lock.shared():
            request = SanitizeKernel(tool, exam.load, exam.reference.construction(variant), inputs, _TOOL_S)
            return child.ask(request, _TOOL_S + 20)
    except ChildGone as gone:
        return SanitizerReport(None, f"compute-sanitizer {tool} ended: {gone.how}")
    except (RequestFailed, Malformed) as error:
        return SanitizerReport(None, f"compute-sanitizer {tool} failed: {str(error)[:200]}")
    finally:
        child.close()
