"""What `python best.py` does: the file is judged against the task that lies beside it, and one line is printed."""

from __future__ import annotations

import sys
from pathlib import Path

from tilesmith.config import CheckConfig
from tilesmith.errors import TilesmithError
from tilesmith.judge import Judge


def check_best(file: str) -> None:
    """Exits as `tilesmith check` does: 0 where the kernel passes, 1 where it fails, 2 where it cannot be judged."""
    kernel = Path(file).resolve()
    task = kernel.parent / "task.py"
    if not task.exists():
        print(
            f"{kernel.name}: its task, task.py, is not beside it; run `tilesmith check TASK {kernel.name}`",
            file=sys.stderr,
        )
        raise SystemExit(2)
    try:
        with Judge(CheckConfig()) as judge:
            evaluation = judge.check(task, kernel)
    except TilesmithError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    print(f"{kernel.name}: {evaluation.verdict}: {evaluation.reason}")
    raise SystemExit(0 if evaluation.passed else 1)
