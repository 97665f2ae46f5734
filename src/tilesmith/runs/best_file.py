"""best.py: a kernel with what it is for and what was verified, which refuses every other call."""

from __future__ import annotations

import pprint
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from tilesmith.records import Evaluation, InputSpec, Interface

_ADDED = "# ---- added by tilesmith: what the kernel was verified for; every other call is refused ----"
_WIDTH = 110


@dataclass(frozen=True)
class BestKernel:
    """A kernel that passed, and what is told about it."""

    source: str
    told: str
    """One line: what it is worth."""
    task: str
    run: str
    number: int
    evaluation: Evaluation


def render_best(best: BestKernel) -> str:
    """The file as people get it. Its head is comments, because a module may begin with imports from the future."""
    head = f"# tilesmith, run {best.run}: {' '.join(best.told.split())}\n"
    interface = best.evaluation.interface
    if interface is None:
        return head + best.source
    added = [
        _ADDED,
        "import os as _os",
        "",
        "import torch as _torch",
        "",
        *_facts(best),
        "",
        "",
        *_guarded_model(interface, best.evaluation.limits),
    ]
    return f"{head}{_usage(best, interface)}\n{best.source.rstrip()}\n\n\n" + "\n".join(
        [*added, "", "", *_MAIN, ""]
    )


def _usage(best: BestKernel, interface: Interface) -> str:
    environment = best.evaluation.environment
    inputs = ", ".join(_shown(one) for one in interface.inputs) or "nothing"
    verified = environment.get("device", "unknown")
    lines = [
        "",
        "Use:    from best import ModelNew    # constructor arguments and state_dict of Model",
        f"For:    forward({inputs}){''.join(f'; {limit}' for limit in best.evaluation.limits)}",
        f"Where:  verified on {verified}, precision {environment.get('precision', 'default')}",
        "Check:  python best.py               # against its task; with TRITON_INTERPRET=1 it takes CPU tensors",
    ]
    return "\n".join(f"# {line}".rstrip() for line in lines)


def _shown(one: InputSpec) -> str:
    if one.dtype is None:
        return f"{one.name}={one.value!r}" if one.is_plain else one.name
    return f"{one.name}: {one.dtype} ({', '.join(map(str, one.shape))}{',' if len(one.shape) == 1 else ''})"


def _facts(best: BestKernel) -> list[str]:
    evaluation, interface = best.evaluation, best.evaluation.interface
    assert interface is not None
    environment = {
        key: evaluation.environment.get(key) for key in ("device", "torch", "triton", "precision", "seed")
    }
    speedups = evaluation.timing.speedup if evaluation.timing else {}
    facts = {
        "task": best.task,
        "run": best.run,
        "kernel": best.number,
        "verdict": str(evaluation.verdict),
        "inputs": {one.name: _fact(one) for one in interface.inputs},
        "training": interface.training,
        "limits": list(evaluation.limits),
        "errors": asdict(evaluation.errors) if evaluation.errors else None,
        "speedup": {kind: [one.value, one.low, one.high] for kind, one in speedups.items()} or None,
        "verified_on": environment,
    }
    return f"TILESMITH = {pprint.pformat(facts, width=_WIDTH, sort_dicts=False)}".splitlines()


def _fact(one: InputSpec) -> object:
    return [one.dtype, *one.shape] if one.dtype else one.value


def _guarded_model(interface: Interface, limits: tuple[str, ...]) -> list[str]:
    """A subclass of the same name whose forward looks at its arguments first."""
    checks = [*_argument_checks(interface), *_tensor_checks(interface), *_state_checks(interface, limits)]
    passed = ", ".join(f"{one.name}={one.name}" if one.keyword_only else one.name for one in interface.inputs)
    return [
        '_INTERPRETED = _os.environ.get("TRITON_INTERPRET") == "1"',
        "",
        "",
        "def _refuse(problem):",
        "    raise ValueError(f\"{TILESMITH['task']}: {problem}; see TILESMITH in {__file__}\")",
        "",
        "",
        "class ModelNew(ModelNew):",
        f"    def forward({', '.join(['self', *_parameters(interface)])}):",
        *(f"        {line}" for line in checks),
        f"        return super().forward({passed})",
    ]


def _parameters(interface: Interface) -> Iterator[str]:
    positional = [one.name for one in interface.inputs if not one.keyword_only]
    yield from positional
    yield from (f"{one.name}={one.default!r}" for one in interface.left_out if not one.keyword_only)
    named = [one.name for one in interface.inputs if one.keyword_only]
    named += [f"{one.name}={one.default!r}" for one in interface.left_out if one.keyword_only]
    yield from ["*", *named] if named else []


def _argument_checks(interface: Interface) -> Iterator[str]:
    for left_out in interface.left_out:
        yield from _check(
            _differs(left_out.name, left_out.default), f"{left_out.name} must be {left_out.default!r}"
        )
    for one in interface.inputs:
        if one.is_plain:
            yield from _check(_differs(one.name, one.value), f"{one.name} must be {one.value!r}")


def _differs(name: str, value: object) -> str:
    if value is None or isinstance(value, bool):
        return f"{name} is not {value}"
    return f"{name} != {value!r}"


def _tensor_checks(interface: Interface) -> Iterator[str]:
    first: dict[str, str] = {}
    for one in interface.inputs:
        if one.dtype is None:
            continue
        tests = [f"{one.name}.dtype is not _torch.{one.dtype}", f"{one.name}.dim() != {len(one.shape)}"]
        for dim, size in enumerate(one.shape):
            here = f"{one.name}.shape[{dim}]"
            known = str(size) if isinstance(size, int) else first.setdefault(size, here)
            if known != here:
                tests.append(f"{here} != {known}")
        wanted = _shown(one)
        yield from _check(
            " or ".join(tests), f"{wanted} is wanted, not {{{one.name}.dtype}} {{tuple({one.name}.shape)}}"
        )
        yield from _check(
            f"not ({one.name}.is_cuda or _INTERPRETED)",
            f"{one.name} must be on a GPU (TRITON_INTERPRET=1 before the import takes CPU tensors)",
        )


def _state_checks(interface: Interface, limits: tuple[str, ...]) -> Iterator[str]:
    needed = [f"{one.name}.requires_grad" for one in interface.inputs if one.dtype is not None]
    if any(limit.startswith("forward only") for limit in limits):
        needed.append("any(one.requires_grad for one in self.parameters())")
        yield from _check(
            f"_torch.is_grad_enabled() and ({' or '.join(needed)})", "forward only: call it under torch.no_grad()"
        )
    mode = "training" if interface.training else "eval"
    if f"{mode} mode only" in limits:
        yield from _check(f"self.training is not {interface.training}", f"{mode} mode only")


def _check(problem: str, told: str) -> list[str]:
    prefix = "f" if "{" in told else ""
    return [f"if {problem}:", f"    _refuse({prefix}{told!r})"]


_MAIN = (
    'if __name__ == "__main__":',
    "    try:",
    "        from tilesmith.cli.check import check_best",
    "    except ImportError:",
    '        raise SystemExit("to check this kernel against its task, install tilesmith") from None',
    "    check_best(__file__)",
)
