"""best.py: a kernel with what it is for and what was verified, which refuses every other call."""

from __future__ import annotations

import pprint
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from tilesmith.records import ArgumentSpec, Evaluation, Interface
from tilesmith.tasks.calls.call_tests import (
    CallTest,
    argument_tests,
    bindings,
    gradient_test,
    mode_test,
    write_tests,
)

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
        *bindings(one.dtype for one in interface.inputs),
        *_facts(best),
        "",
        "",
        *_guarded_model(interface, best.evaluation.limits),
    ]
    return f"{head}{_usage(best, interface)}\n{best.source.rstrip()}\n\n\n" + "\n".join(
        [*added, "", "", *SELF_CHECK, ""]
    )


def _usage(best: BestKernel, interface: Interface) -> str:
    environment = best.evaluation.environment
    inputs = ", ".join(one.describe() for one in _given(interface)) or "nothing"
    verified = environment.get("device", "unknown")
    lines = [
        "",
        "Use:    from best import ModelNew    # constructor arguments and state_dict of Model",
        f"For:    forward({inputs}){''.join(f'; {limit}' for limit in best.evaluation.limits)}",
        f"Where:  verified on {verified}, precision {environment.get('precision', 'default')}",
        "Check:  python best.py               # against its task; with TRITON_INTERPRET=1 it takes CPU tensors",
    ]
    return "\n".join(f"# {line}".rstrip() for line in lines)


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
        "inputs": {
            one.expression: [one.dtype, *one.shape] if one.dtype else one.value for one in _given(interface)
        },
        "training": interface.training,
        "limits": list(evaluation.limits),
        "errors": asdict(evaluation.errors) if evaluation.errors else None,
        "speedup": {kind: [one.value, one.low, one.high] for kind, one in speedups.items()} or None,
        "verified_on": environment,
    }
    return f"TILESMITH = {pprint.pformat(facts, width=_WIDTH, sort_dicts=False)}".splitlines()


def _given(interface: Interface) -> list[ArgumentSpec]:
    """What the task hands over, nests by what is in them."""
    given = [one for one in interface.arguments if one.path[0] not in interface.left_out]
    return [one for one in given if one.kind not in ("tuple", "list", "dict")]


def _guarded_model(interface: Interface, limits: tuple[str, ...]) -> list[str]:
    """The model's forward behind one that looks at its arguments first. The class stays the one that its own
    `super(ModelNew, self)` means."""
    tests = [*argument_tests(interface), *_limit_tests(interface, limits)]
    refusals = write_tests(
        tests, lambda _, one: f"_refuse({', '.join([repr(one.told or one.reason), *one.found])})"
    )
    parameters, passed = ["self"], []
    for one in interface.arguments:
        name = one.path[0]
        left_out = name in interface.left_out
        if "*" not in parameters and (name in interface.keyword_only or (not left_out and "=" in parameters[-1])):
            parameters.append("*")
        if len(one.path) == 1:
            parameters.append(f"{name}={one.value!r}" if left_out else name)
            passed += [] if left_out else [f"{name}={name}" if "*" in parameters else name]
    return [
        '_interpreted = _os.environ.get("TRITON_INTERPRET") == "1"',
        "",
        "",
        "def _refuse(problem, *found):",
        '    found = "".join(f", not {one.dtype} {tuple(one.shape)}" for one in found)',
        "    raise ValueError(f\"{TILESMITH['task']}: {problem}{found}; see TILESMITH in {__file__}\")",
        "",
        "",
        "_unchecked_forward = ModelNew.forward",
        "",
        "",
        f"def _checked_forward({', '.join(parameters)}):",
        *(f"    {line}" for line in refusals),
        f"    return _unchecked_forward({', '.join(['self', *passed])})",
        "",
        "",
        "ModelNew.forward = _checked_forward",
    ]


def _limit_tests(interface: Interface, limits: tuple[str, ...]) -> Iterator[CallTest]:
    """What the kernel was found not to take, where its arguments do not show it."""
    batch = next((f"{one.expression}.shape[0]" for one in interface.inputs if one.shape), "")
    for limit in limits:
        kind, _, number = limit.rpartition(" ")
        if limit.startswith("forward only"):
            yield gradient_test(interface, ["any(one.requires_grad for one in self.parameters())"])
        elif limit in ("eval mode only", "training mode only"):
            yield mode_test(bool(interface.training), ["self"])
        elif kind in ("batch above", "batch up to") and batch:
            yield CallTest(f"{batch} {'<=' if kind == 'batch above' else '>'} {number}", limit)


SELF_CHECK = (
    'if __name__ == "__main__":',
    "    try:",
    "        from tilesmith.cli.check import check_best",
    "    except ImportError:",
    '        raise SystemExit("to check this kernel against its task, install tilesmith") from None',
    "    check_best(__file__)",
)
