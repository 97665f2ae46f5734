"""The sanitizer gate, when asked for: compute-sanitizer's memcheck and racecheck on a small shape."""

from __future__ import annotations

import shutil

from tilesmith.judge.examination import Examination
from tilesmith.judge.sessions import Failed, ReferenceSession
from tilesmith.process.fork_server_client import ChildGone, Spawn
from tilesmith.records import Verdict

TOOLS = {"memcheck": Verdict.UNSAFE_MEMORY, "racecheck": Verdict.NONDETERMINISTIC}
_TOOL_S = 180.0


def sanitize(exam: Examination, reference: ReferenceSession, spawn: Spawn) -> None:
    if shutil.which("compute-sanitizer") is None:
        exam.notes.append("not sanitized: compute-sanitizer is not installed here")
        return
    variant = "shrunk" if reference.plans else "exact"
    request = {
        "load": exam.load_request(),
        "construction": reference.construction(variant),
        "inputs": reference.inputs(variant, "own"),
    }
    for tool, verdict in TOOLS.items():
        child = spawn("native", "sanitizer")
        try:
            reply = child.ask("sanitize", _TOOL_S + 20, tool=tool, request=request, limit_s=_TOOL_S)
        except ChildGone as gone:
            reply = {"ok": {"errors": None, "report": f"compute-sanitizer {tool} ended: {gone.how}"}}
        finally:
            child.close()
        found = reply.get("ok", {"errors": None, "report": str(reply)[:200]})
        if found["errors"]:
            raise Failed(verdict, f"compute-sanitizer {tool}: {found['errors']} errors: {found['report']}")
        if found["errors"] is None:
            exam.notes.append(f"not sanitized: {found['report']}")
