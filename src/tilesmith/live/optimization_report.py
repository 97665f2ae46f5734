"""What `optimize_` did with a model, group of calls by group of calls, and the way back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tilesmith.errors import UsageError
from tilesmith.live.calls.call_records import KernelCard
from tilesmith.live.capturing import shown_names
from tilesmith.live.kernel_cards import KERNEL_NAME, write_card
from tilesmith.live.loading import KernelHandle
from tilesmith.live.swaps.kernel_files import file_digest
from tilesmith.live.user_arguments import make_folder
from tilesmith.records import OutputErrors, Speedup
from tilesmith.runs.atomic_files import write_atomically
from tilesmith.runs.best_file import SELF_CHECK


@dataclass(frozen=True)
class KernelReport:
    """One group of equal calls, and what became of it."""

    names: tuple[str, ...]
    call: str
    verdict: str
    """passed, or none where no kernel was written."""
    reason: str
    swapped: bool
    speedup: Speedup | None = None
    """Over its best baseline."""
    speedups: Mapping[str, Speedup] = field(default_factory=dict)
    """Over each baseline: eager, graph (eager in a CUDA graph), compile."""
    errors: OutputErrors | None = None
    guard: str | None = None
    """The text of the guard, which says what the kernel is asked for."""
    card: KernelCard | None = None
    kernel: Path | None = None
    task: str | None = None
    run: Path | None = None


class Report:
    """What `optimize_` did, and the way back."""

    def __init__(self, kernels: tuple[KernelReport, ...], handle: KernelHandle, refused: Mapping[str, str]) -> None:
        self.kernels, self._handle, self.refused = kernels, handle, dict(refused)
        self.end_to_end: Speedup | None = None

    @property
    def swapped(self) -> tuple[KernelReport, ...]:
        return tuple(one for one in self.kernels if one.swapped)

    @property
    def hits(self) -> dict[str, int]:
        return self._handle.hits

    @property
    def misses(self) -> dict[str, dict[str, int]]:
        return self._handle.misses

    def undo(self) -> None:
        """Every module has its own forward again."""
        self._handle.undo()

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """A folder for each kernel that passed, unless it was timed and not worth swapping in: best.py, kernel.json
        and task.py. `load_` reads them. A kernel for the same calls that was saved before is replaced."""
        written = []
        for one in self.kernels:
            if one.card is None or one.kernel is None or (one.speedup and not one.swapped):
                continue
            name = one.card.spec.module_class.rpartition(".")[2].lower()
            made_for = repr((one.card.spec, one.card.names, one.card.gpu))
            path = Path(folder) / f"{name}_{hashlib.sha256(made_for.encode()).hexdigest()[:8]}"
            make_folder(path)
            text = "\n".join([one.kernel.read_text(encoding="utf-8").rstrip(), "", "", *SELF_CHECK, ""])
            write_atomically(path / KERNEL_NAME, text)
            write_atomically(path / "task.py", one.task or "")
            card = replace(one.card, sha256=file_digest(path / KERNEL_NAME))
            write_card(path, card)  # last: until then the checksum of an older card refuses the kernel
            written.append(path)
        if not written:
            raise UsageError(
                "there is no kernel to save: " + (self.kernels[0].reason if self.kernels else "nothing fits")
            )
        return tuple(written)

    def __str__(self) -> str:
        told: dict[tuple[str, str], list[str]] = {}
        for one in self.kernels:
            told.setdefault((f"{_outcome(one)}: {one.call} at ", one.reason), []).extend(one.names)
        for name, why in self.refused.items():
            told.setdefault(("kept PyTorch: ", why), []).append(name)
        lines = [f"{what}{shown_names(names)}: {why}" for (what, why), names in told.items()]
        if self.end_to_end is not None:
            lines.append(f"whole model: {self.end_to_end.describe()}")
        calls = str(self._handle)
        return "\n".join([*lines, *([calls] if self._handle.installed else [])]) or "nothing to optimize"


def _outcome(one: KernelReport) -> str:
    state = "swapped in" if one.swapped else "kept PyTorch"
    return f"{state}, {one.speedup.describe()}" if one.speedup else state
