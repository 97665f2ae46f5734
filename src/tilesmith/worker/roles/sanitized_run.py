"""One candidate, one forward, in a process of its own: what compute-sanitizer is pointed at.

python -m tilesmith.worker.roles.sanitized_run request.json
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

from tilesmith.process.channel import Channel
from tilesmith.process.protocol.candidate import ConstructModel, RunForward
from tilesmith.process.protocol.codec import decode
from tilesmith.process.protocol.machine import SanitizeKernel
from tilesmith.worker.roles.candidate import CandidateRole


def main() -> None:
    request = decode(SanitizeKernel, json.loads(Path(sys.argv[1]).read_text()))
    ours, _ = socket.socketpair()
    role = CandidateRole(Channel(ours))
    role.load(request.load)
    role.construct(ConstructModel("only", request.construction))
    role.run(RunForward("only", request.inputs, "sanitized-output.tensors"))


if __name__ == "__main__":
    main()
