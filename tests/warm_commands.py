"""Commands in processes of their own, forked from one that has imported the command line and opened a judge.

Each has its own folder, environment and output, as a real `python -m tilesmith` has, without half a second for
imports and four for the fork servers. Of each command a few tests start the real one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache
from multiprocessing import context, get_context
from pathlib import Path

HERE = Path(__file__).parent


def run_warm(
    *words: object, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What `python -m tilesmith` with these words does, says and returns."""
    arguments = ["tilesmith", *map(str, words)]
    with tempfile.TemporaryDirectory(prefix="command-") as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        environment = dict(os.environ) if env is None else env
        started = _forking().Process(target=_be_command, args=(arguments, cwd or Path.cwd(), environment, out, err))
        started.start()
        started.join(180)
        if started.exitcode is None:
            started.kill()
            raise TimeoutError(arguments)
        return subprocess.CompletedProcess(arguments, started.exitcode, out.read_text(), err.read_text())


@cache
def _forking() -> context.ForkServerContext:
    """Its server imports this module as `warm_commands_server`, which lies beside it."""
    forking = get_context("forkserver")
    forking.set_forkserver_preload(["warm_commands_server"])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), *([before] if before else [])])
    try:
        forking.Process(target=os.getpid).start()
    finally:
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before
    return forking


def _be_command(words: list[str], folder: Path, environment: dict[str, str], out: Path, err: Path) -> None:
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = words
    from tilesmith.cli.main import main

    main()
