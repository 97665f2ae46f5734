"""`Config`: every setting of `optimize_`, once. No torch here."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilesmith.authors.author_choice import AuthorChoice, choose_author
from tilesmith.config import CheckConfig
from tilesmith.errors import UsageError
from tilesmith.forge.settings import DEFAULT_EFFORT, ForgeSettings, settings_for
from tilesmith.live.user_arguments import require_gradients, require_where
from tilesmith.llm.endpoint_choice import LlmOptions
from tilesmith.runs.event_text import one_line

_TOLD_WIDTH = 110


@dataclass(frozen=True)
class Config:
    """What to optimize, who writes the kernels, and how much is tried."""

    where: str | Sequence[str] | Callable[[str, Any], bool] | None = None
    """Patterns over qualified names (`blocks.*.norm?`), or a function of name and module. None lets the playbook
    choose: recurrent layers, then the outermost modules it has a recipe for."""
    model: str | None = None
    """The LLM that writes kernels, as `tilesmith forge --model` takes it; without one the playbook does."""
    provider: str | None = None
    base_url: str | None = None
    playbook: bool = True
    """Whether a model starts from the playbook's kernel and plan, which cost nothing."""
    effort: str = DEFAULT_EFFORT
    max_cost: float | None = None
    """Dollars per kernel."""
    max_minutes: float | None = None
    """Per kernel."""
    grad: str = "fallback"
    """What a call that needs gradients gets: PyTorch (fallback), or the kernel with a recomputed backward pass
    (recompute)."""
    beat: str = "all"
    """What a kernel must be faster than to be swapped in: all baselines (eager, a CUDA graph, torch.compile), or
    eager alone, which is what a model that is not compiled runs."""
    precision: str = CheckConfig.precision
    timeout_s: float = CheckConfig.timeout_s
    interpret: bool = False
    """Swap in kernels that were judged by Triton's interpreter: for tests, in a process with TRITON_INTERPRET=1."""
    measure: bool | None = None
    """Time the whole model with and without kernels. None does so where there is a GPU."""
    runs: str | Path | None = None
    """The folder that runs are kept in; TILESMITH_RUNS, else ./runs."""
    notify: Callable[[str], None] | None = None
    """Is told in one line what goes on. None writes short lines to stderr where that is a terminal."""

    def __post_init__(self) -> None:
        require_where(self.where)
        require_gradients(self.grad)
        if self.beat not in ("all", "eager"):
            raise UsageError(f"beat='{self.beat}': use all or eager")
        if self.interpret and os.environ.get("TRITON_INTERPRET") != "1":
            raise UsageError("interpret=True needs TRITON_INTERPRET=1 in the environment before triton is imported")
        if self.model is not None and self.where is None:
            raise UsageError("a model is paid per kernel: name the modules with Config(where=...)")
        if not self.playbook and (self.model, self.provider, self.base_url) == (None, None, None):
            raise UsageError("playbook=False: the playbook is the author here; name another with Config(model=...)")
        if not isinstance(self.timeout_s, int | float) or not self.timeout_s > 0:
            raise UsageError(f"timeout_s={self.timeout_s!r}: use a number greater than zero")
        self.check()  # these two refuse what they do not know
        self.settings()

    def author(self) -> AuthorChoice:
        options = LlmOptions(self.model, self.provider, self.base_url)
        try:
            return choose_author("playbook" if options == LlmOptions() else "llm", options, os.environ)
        except UsageError as error:  # it speaks of options of the command line
            words = {"--model": "model=", "--provider": "provider=", "--base-url": "base_url="}
            told = functools.reduce(lambda text, word: text.replace(*word), words.items(), str(error))
            raise UsageError(told) from None

    def check(self) -> CheckConfig:
        device = "cpu" if self.interpret else CheckConfig.device
        return CheckConfig(device=device, precision=self.precision, timeout_s=self.timeout_s)

    def settings(self) -> ForgeSettings:
        return settings_for(
            self.effort, playbook=self.playbook, max_cost=self.max_cost, max_minutes=self.max_minutes
        )

    @property
    def runs_folder(self) -> Path:
        return Path(self.runs or os.environ.get("TILESMITH_RUNS") or "runs")

    def tell(self, line: str) -> None:
        if self.notify is not None:
            self.notify(line)
        elif sys.stderr.isatty():
            print(one_line(f"tilesmith: {line}", _TOLD_WIDTH), file=sys.stderr)
