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

from tilesmith.process.channel import Channel
from tilesmith.process.protocol.codec import encode
from tilesmith.process.protocol.machine import SanitizeKernel, SanitizerReport
from tilesmith.worker.roles.request_loop import answer_requests, explain_own_failure

_FINDING = re.compile(r"=========\s+((?:Invalid|Race|Potential|Error:|Misaligned|Barrier).*)")
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY:\s+(\d+)")


def serve(channel: Channel) -> None:
    answer_requests(channel, SanitizerRole(), explain_own_failure)


class SanitizerRole:
    """Its one public method answers the one request."""

    def sanitize(self, request: SanitizeKernel) -> SanitizerReport:
        return sanitize(request)


def sanitize(request: SanitizeKernel) -> SanitizerReport:
    """How many faults the tool saw, and the first of them."""
    tool, limit_s = request.tool, request.limit_s
    Path("request.json").write_text(json.dumps(encode(request)))
    command = ["compute-sanitizer", "--tool", tool, "--print-limit", "3"]
    command += [sys.executable, "-m", "tilesmith.worker.roles.sanitized_run", "request.json"]
    # Without torch's cache every tensor is an allocation of its own, and its edges are real ones.
    environment = os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit_s, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return SanitizerReport(None, f"compute-sanitizer {tool} took longer than {limit_s:.0f} s")
    output = done.stdout + done.stderr
    summary = _SUMMARY.search(output)
    if summary is None:
        last = output.strip().splitlines()[-1:] or ["no output"]
        return SanitizerReport(None, f"compute-sanitizer {tool} gave no summary: {last[0][:200]}")
    found = [match.group(1).strip() for match in _FINDING.finditer(output)]
    return SanitizerReport(int(summary.group(1)), "; ".join(found[:3]))
