"""The sanitizer child: runs a candidate once more under NVIDIA's compute-sanitizer.

compute-sanitizer must start the program it watches, so this child starts `roles.sanitized_run` under it, inside
the same walls and limits, and reads what the tool reports.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tilesmith.process.channel import Channel
from tilesmith.worker.roles.request_loop import Operation, answer_requests, explain_own_failure

_FINDING = re.compile(r"=========\s+((?:Invalid|Race|Potential|Error:|Misaligned|Barrier).*)")
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY:\s+(\d+)")


def serve(channel: Channel) -> None:
    operations: dict[str, Operation] = {"sanitize": sanitize}
    answer_requests(channel, operations, explain_own_failure)


def sanitize(tool: str, request: dict[str, Any], limit_s: float) -> dict[str, Any]:
    """{errors, report}: how many faults the tool saw and the first of them; null errors if it could not run."""
    Path("request.json").write_text(json.dumps(request))
    command = ["compute-sanitizer", "--tool", tool, "--print-limit", "3"]
    command += [sys.executable, "-m", "tilesmith.worker.roles.sanitized_run", "request.json"]
    # Without torch's cache every tensor is an allocation of its own, and its edges are real ones.
    environment = os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit_s, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return {"errors": None, "report": f"compute-sanitizer {tool} took longer than {limit_s:.0f} s"}
    output = done.stdout + done.stderr
    summary = _SUMMARY.search(output)
    if summary is None:
        last = output.strip().splitlines()[-1:] or ["no output"]
        return {"errors": None, "report": f"compute-sanitizer {tool} gave no summary: {last[0][:200]}"}
    found = [match.group(1).strip() for match in _FINDING.finditer(output)]
    return {"errors": int(summary.group(1)), "report": "; ".join(found[:3])}
