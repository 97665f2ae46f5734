"""One candidate, one forward, in a process of its own: what compute-sanitizer is pointed at.

python -m tilesmith.worker.roles.sanitized_run request.json
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

from tilesmith.process.channel import Channel
from tilesmith.worker.roles.candidate import Candidate


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text())
    ours, _ = socket.socketpair()
    candidate = Candidate(Channel(ours))
    candidate.load(**request["load"])
    candidate.construct("only", request["construction"])
    candidate.run("only", request["inputs"], "solo-output.pt")


if __name__ == "__main__":
    main()
