"""`tilesmith doctor`: what this machine can do, in plain lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import typer
from rich.console import Console

from tilesmith.cli.output_options import command_help
from tilesmith.judge.machine.diagnosis import Diagnosis
from tilesmith.llm.providers import KEY_VARIABLES, OPENAI_BASE_URL, find_keys
from tilesmith.process.protocol.machine import LibraryInternals
from tilesmith.process.sandbox import WALLS
from tilesmith.records import to_json

HELP = """Say in plain lines what this machine can do.

Examples:

    tilesmith doctor

    tilesmith doctor --json | jq .gpu

Exit code 0: kernels can be checked here; 2: they cannot, and the last line says what is missing.
"""


def register(app: typer.Typer) -> None:
    app.command(help=command_help(HELP))(doctor)


def doctor(as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout.")) -> None:
    from tilesmith.judge.machine.diagnosis import diagnose

    with Console(stderr=True).status("looking at this machine"):
        found = diagnose(find_keys(os.environ))
    if as_json:
        document = to_json(found)
        if found.gpu is not None:
            document["gpu"] |= {"gpu": True, "works": found.gpu_problem is None}
        print(json.dumps(document, indent=2))
    else:
        print("\n".join(_lines(found)))
    raise typer.Exit(0 if found.can_check else 2)


def _lines(found: Diagnosis) -> Iterator[str]:
    yield f"python       {found.python} on {found.platform}"
    yield "packages     " + ", ".join(f"{name} {version or 'MISSING'}" for name, version in found.packages.items())
    yield "internals    " + ("; ".join(map(_internals, found.internals)) or "unknown: torch or triton is not there")
    yield "gpu          " + _gpu(found)
    yield "counters     " + _counters(found)
    yield "compilers    " + ", ".join(f"{name} {'yes' if path else 'no'}" for name, path in found.compilers.items())
    yield "targets      kernels can be compiled for " + (", ".join(found.targets) or "nothing")
    yield from _sandbox(found)
    yield f"llm keys     {_keys(found)}"
    yield ""
    yield _conclusion(found)


def _internals(found: LibraryInternals) -> str:
    library = f"{found.library} {'.'.join(found.version.split('.')[:2])}"
    if not found.missing:
        return f"{library}: all {found.found} internal names found"
    missing = ", ".join(f"{one.name} (for {one.use})" for one in found.missing)
    return f"{library}: {found.found} internal names found, MISSING {missing}"


def _keys(found: Diagnosis) -> str:
    keys = ", ".join(found.llm_keys) or f"none of {', '.join(KEY_VARIABLES)}"
    return f"{keys}; any OpenAI-compatible endpoint works without one through --base-url or {OPENAI_BASE_URL}"


def _gpu(found: Diagnosis) -> str:
    if found.gpu_problem:
        return found.gpu_problem
    if not found.gpu:
        return "none: values are checked in Triton's interpreter, speed is not measured"
    gpu, memory = found.gpu, (found.gpu.memory_bytes or 0) / 2**30
    return f"{gpu.device}, {gpu.capability}, {memory:.0f} GiB, CUDA {gpu.cuda}"


def _counters(found: Diagnosis) -> str:
    if found.counters_allowed is None:
        return "not applicable without a GPU" if not found.gpu else "unknown"
    return "allowed" if found.counters_allowed else "not allowed for this user: ask for RmProfilingAdminOnly=0"


def _sandbox(found: Diagnosis) -> Iterator[str]:
    """Every wall, with what it means for a candidate or what would put it up."""
    yield f"sandbox      {found.sandbox_level}; what stands around a candidate:"
    for wall, meaning in WALLS.items():
        missing = found.sandbox_missing.get(wall)
        yield (
            f"             {wall:<10} {meaning}"
            if missing is None
            else f"             {wall:<10} NO WALL: {missing}"
        )


def _conclusion(found: Diagnosis) -> str:
    if not found.can_check:
        missing = " ".join(name for name in ("torch", "triton") if not found.packages[name])
        return f"tilesmith check cannot work here yet: pip install {missing}"
    return "tilesmith check works here" + (", with timing" if found.gpu else ", without timing")
