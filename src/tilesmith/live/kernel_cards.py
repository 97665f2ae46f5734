"""kernel.json: written beside a judged kernel, read when it is loaded, and why one may not be loaded here."""

from __future__ import annotations

import contextlib
import json
import types
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from tilesmith.errors import RunError, UsageError
from tilesmith.live.calls.call_description import class_name, describe_call
from tilesmith.live.calls.call_records import CARD_VERSION, CallSpec, KernelCard
from tilesmith.live.calls.kept_state import putting_back
from tilesmith.live.calls.nests import map_tensors
from tilesmith.live.captured.output_comparison import ROUNDING, same_outputs
from tilesmith.live.swaps.kernel_files import bind_tensors, file_digest, find_prefix, interprets
from tilesmith.records import Evaluation, Verdict, from_json, to_json
from tilesmith.runs.atomic_files import write_atomically
from tilesmith.runs.journal import read_events
from tilesmith.runs.summary import summarize
from tilesmith.tasks.source import read_task

CARD_NAME, KERNEL_NAME = "kernel.json", "best.py"


def make_card(spec: CallSpec, names: tuple[str, ...], kernel: Path, evaluation: Evaluation) -> KernelCard:
    """What is known of a kernel from its evaluation."""
    known = evaluation.environment
    timing = evaluation.timing
    return KernelCard(
        spec=spec,
        names=names,
        sha256=file_digest(kernel),
        verdict=evaluation.verdict.value,
        reason=evaluation.reason,
        gpu=timing.device if timing else None,
        versions={key: str(known[key]) for key in ("tilesmith", "python", "torch", "triton") if key in known},
        precision=str(known.get("precision", "default")),
        speedup=min(timing.speedup.values(), key=lambda one: one.value) if timing else None,
        errors=evaluation.errors,
        generality=evaluation.generality,
    )


def write_card(folder: Path, card: KernelCard) -> None:
    write_atomically(folder / CARD_NAME, json.dumps(to_json(card), indent=2) + "\n")


def read_card(path: Path) -> KernelCard:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format_version"] > CARD_VERSION:
            raise UsageError(f"{path}: written by a newer tilesmith; update tilesmith to read it")
        return from_json(KernelCard, data)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: is no description of a kernel: {error}") from None


def find_cards(folder: Path) -> list[Path]:
    """Of the kernels in a library."""
    cards = sorted({*folder.glob(CARD_NAME), *folder.glob(f"*/{CARD_NAME}")})
    if not cards:
        raise UsageError(f"{folder}: has no kernels (no {CARD_NAME} in it or one folder below)")
    return cards


class RunKernel(NamedTuple):
    """The best kernel of a run as it was judged, its card, and what ModelNew is made with."""

    kernel: Path
    card: KernelCard
    init: tuple[Any, ...]


def read_run(best_file: Path, module: nn.Module) -> RunKernel:
    """As if the run's kernel had been captured from `module`.

    Executes the run's own task, which says what the kernel was judged for: with the tensors of the module it must
    return what that returns, and all of it.
    """
    folder = best_file.parent
    best = summarize(read_events(folder / "events.jsonl")).best
    if best is None:
        raise RunError(f"{folder}: no kernel of this run passed")
    if best.candidate.source.rstrip() not in best_file.read_text(encoding="utf-8"):
        raise UsageError(f"{best_file}: changed since it was judged")
    kernel = folder / "kernels" / f"{best.candidate.number:04}.py"
    source = read_task(folder / "task.py")
    task = types.ModuleType("tilesmith_run_task")
    try:
        exec(compile(source.text, str(source.path), "exec"), vars(task))
        made = getattr(task, source.inputs_name)()
        init = tuple(getattr(task, source.init_name)()) if source.init_name else ()
        model = getattr(task, source.model_name)(*init)
    except Exception as error:
        raise UsageError(f"{source.path}: cannot be executed alone: {type(error).__name__}: {error}") from None
    device = next((one.device for one in module.parameters()), torch.device("cpu"))
    args, kwargs = ([], made) if isinstance(made, dict) else (made, {})
    if len(args) == 2 and isinstance(args[0], list | tuple) and isinstance(args[1], dict):
        args, kwargs = args
    args, kwargs = map_tensors([args, kwargs], lambda tensor: tensor.to(device))
    card = make_card(describe_call(module, args, kwargs), (), kernel, best.evaluation)
    bind_tensors(model, find_prefix(model, module), module)
    try:
        with torch.no_grad(), putting_back(module):
            same = same_outputs(model(*args, **kwargs), module(*args, **kwargs), ROUNDING)
    except Exception as error:
        raise UsageError(f"{source.path}: fails with the module: {type(error).__name__}: {error}") from None
    if not same:
        raise UsageError(f"{source.path}: returns something else than the module, so its kernel does, too")
    return RunKernel(kernel, card, init)


def why_not_here(card: KernelCard, kernel: Path) -> str | None:
    """Why a judged kernel must not be loaded on this machine; null where nothing speaks against it."""
    import triton

    if card.verdict != Verdict.PASSED:
        return f"it did not pass: {card.reason}"
    if file_digest(kernel) != card.sha256:
        return f"{kernel} changed since it was judged"
    for name, version in (("torch", torch.__version__), ("triton", triton.__version__)):
        judged = card.versions.get(name, "")
        if judged.split(".")[:2] != version.split(".")[:2]:
            return f"it was judged with {name} {judged or 'unknown'}, and this is {version}"
    if card.gpu is None:
        can_run = interprets() and card.spec.device == "cpu"
        return None if can_run else "it was judged without a GPU; forge it again where the model runs"
    here = None
    with contextlib.suppress(RuntimeError, AssertionError):
        here = torch.cuda.get_device_name()
    return None if here == card.gpu else f"it was judged on {card.gpu}, and this is {here or 'no GPU'}"


def why_not_for(spec: CallSpec, module: nn.Module) -> str | None:
    """Why a kernel for `spec` is none for this module, whatever it is called with."""
    if class_name(module) != spec.module_class:
        return f"it is a {class_name(module)}, and the kernel was made for {spec.module_class}"
    tensors = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    for one in spec.tensors:
        tensor = tensors.get(one.name)
        shape = list(tensor.shape) if tensor is not None else "missing"
        if shape != list(one.shape):
            return f"its {one.name} is {shape}, not {list(one.shape)}"
    return None
