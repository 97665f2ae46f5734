"""`load_`: kernels that were judged before, put into a model; nothing is forged and nothing is judged again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from tilesmith.errors import TilesmithError, UsageError
from tilesmith.live.calls.call_records import KernelCard
from tilesmith.live.captured.module_tasks import refuse_other_code
from tilesmith.live.kernel_cards import (
    CARD_NAME,
    KERNEL_NAME,
    find_cards,
    read_card,
    read_run,
    why_not_for,
    why_not_here,
)
from tilesmith.live.swaps.kernel_files import build_kernel, find_prefix
from tilesmith.live.swaps.swapping import GuardedKernel, swap_in
from tilesmith.live.user_arguments import require_gradients, require_model


class Installed(NamedTuple):
    """A kernel in its place."""

    name: str
    module: nn.Module
    kernel: GuardedKernel


class KernelHandle:
    """Kernels in a model: how their calls went, what was not loaded and why, and the way back."""

    def __init__(self, installed: list[Installed], skipped: dict[str, str]) -> None:
        self.installed, self.skipped = installed, skipped

    def undo(self) -> None:
        """Every module has its own forward again."""
        for one in self.installed:
            one.kernel.remove()
        self.installed = []

    @property
    def hits(self) -> dict[str, int]:
        """Calls that a kernel answered, by module."""
        return _summed((one.name, one.kernel.hits[0]) for one in self.installed)

    @property
    def misses(self) -> dict[str, dict[str, int]]:
        """Calls that went to PyTorch, by module and reason."""
        names = dict.fromkeys(one.name for one in self.installed)
        return {
            name: _summed(
                pair for one in self.installed if one.name == name for pair in one.kernel.misses_by_reason().items()
            )
            for name in names
        }

    def __str__(self) -> str:
        lines = []
        for name, hits in self.hits.items():
            why = "; ".join(f"{count} x {reason}" for reason, count in self.misses[name].items())
            lines.append(
                f"{name or 'the model'}: {hits} calls by the kernel" + (f", by PyTorch: {why}" if why else "")
            )
        lines += [f"{name or 'the model'}: not loaded: {why}" for name, why in self.skipped.items()]
        return "\n".join(lines) or "no kernels"


def load_(
    model: nn.Module,
    kernels: str | Path | Mapping[str, str | Path],
    *,
    strict: bool = False,
    grad: str = "fallback",
) -> KernelHandle:
    """Puts the kernels of a folder (or of files, by module name) into `model`, in place.

    What does not fit this machine or this model is left out with a reason, or raised with `strict`.
    """
    require_model(model)
    given = kernels.values() if isinstance(kernels, Mapping) else [kernels]
    if not all(isinstance(one, str | Path) for one in given):
        raise UsageError("kernels are a folder, or files by the names of modules: {'norm': 'runs/.../best.py'}")
    require_gradients(grad)
    installed: list[Installed] = []
    skipped: dict[str, str] = {}
    modules = dict(model.named_modules(remove_duplicate=False))
    for name, kernel, card, init in _found(modules, kernels, skipped):
        module = modules.get(name)
        try:
            if module is None:
                raise UsageError("the model has no such module")
            why = why_not_here(card, kernel) or why_not_for(card.spec, module)
            if why is not None:
                raise UsageError(why)
            same = [
                one.kernel.card for one in installed if one.module is module and one.kernel.card.spec == card.spec
            ]
            if same and same[0].sha256 == card.sha256:
                continue
            if same:
                raise UsageError(f"{kernel.parent} is for the same calls as a kernel before it: delete one of them")
            task = kernel.parent / "task.py"
            if card.flat and not task.exists():
                raise UsageError(f"{task} is missing, so nobody knows what the kernel was judged on")
            if card.flat:
                refuse_other_code(module, card.spec, task.read_text(encoding="utf-8"), card.prefix)
            built = build_kernel(kernel, init)
            guarded = swap_in(module, built, replace(card, prefix=find_prefix(built, module)), grad)
            installed.append(Installed(name, module, guarded))
        except TilesmithError as error:
            skipped[name] = str(error)
    if strict and skipped:
        KernelHandle(installed, {}).undo()
        name, why = next(iter(skipped.items()))
        raise UsageError(f"{name or 'the model'}: {why}")
    return KernelHandle(installed, skipped)


class _Found(NamedTuple):
    name: str
    kernel: Path
    card: KernelCard
    init: tuple[Any, ...]


def _found(
    modules: Mapping[str, nn.Module], kernels: str | Path | Mapping[str, str | Path], skipped: dict[str, str]
) -> Iterator[_Found]:
    """Each kernel with each module that it is meant for."""
    if not isinstance(kernels, Mapping):
        for path in find_cards(Path(kernels)):
            card = read_card(path)
            yield from (_Found(name, path.parent / KERNEL_NAME, card, ()) for name in card.names)
        return
    for name, given in kernels.items():
        kernel = Path(given) / KERNEL_NAME if Path(given).is_dir() else Path(given)
        module = modules.get(name)
        try:
            if (kernel.parent / CARD_NAME).exists():
                yield _Found(name, kernel, read_card(kernel.parent / CARD_NAME), ())
            elif module is not None and (kernel.parent / "run.json").exists():
                yield _Found(name, *read_run(kernel, module))
            elif module is None:
                skipped[name] = "the model has no such module"
            elif not kernel.exists():
                skipped[name] = f"{kernel}: no such file"
            else:
                skipped[name] = (
                    f"{kernel} has neither {CARD_NAME} nor run.json beside it, so nobody knows what it was judged "
                    "for: try it with tilesmith.check, or forge it"
                )
        except TilesmithError as error:
            skipped[name] = str(error)


def _summed(pairs: Iterator[tuple[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for key, count in pairs:
        total[key] = total.get(key, 0) + count
    return total
