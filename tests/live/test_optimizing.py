"""From a model to a faster one and back, in processes of their own, because Triton interprets since its import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from live_kernels import NORM, marked_card, passed
from sample_package import TinyModel
from sample_package.layers import RMSNorm
from torch import nn

import tilesmith as ts
from tilesmith.config import CheckConfig
from tilesmith.errors import TaskError, UsageError
from tilesmith.live.capturing import CapturedCalls
from tilesmith.live.forging import ForgeResult, in_python
from tilesmith.live.kernel_cards import read_card
from tilesmith.live.loading import KernelHandle
from tilesmith.live.optimization_report import KernelReport, Report
from tilesmith.live.optimizing import install_kernel, overlaps, refuse_hooks_inside, share_weights
from tilesmith.live.swaps.kernel_files import file_digest
from tilesmith.playbook import EVAL_ADVICE, LLM_ADVICE
from tilesmith.records import Quantiles, Speedup, Timing, Verdict

HERE = Path(__file__).parent
NORMS = ["blocks.0.norm1", "blocks.0.norm2", "blocks.1.norm1", "blocks.1.norm2"]


def run_script(name: str, folder: Path) -> str:
    paths = os.pathsep.join([str(Path(ts.__file__).parents[1]), str(HERE), str(HERE.parent)])
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": paths}
    command = [sys.executable, str(HERE / name), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Optimized(NamedTuple):
    folder: Path
    facts: dict[str, Any]

    @property
    def kernel(self) -> Path:
        return next((self.folder / "kernels").glob("rmsnorm_*/best.py"))


@pytest.fixture(scope="session")
def optimized(tmp_path_factory: pytest.TempPathFactory) -> Optimized:
    folder = tmp_path_factory.mktemp("optimized")
    run_script("optimize_script.py", folder)
    return Optimized(folder, json.loads((folder / "facts.json").read_text()))


def test_what_is_judged_is_swapped_in(optimized: Optimized) -> None:
    facts = optimized.facts
    by_first = {names[0]: rest for names, *rest in facts["kernels"]}
    verdict, reason, swapped, guard = by_first["blocks.0.norm1"]
    assert (verdict, swapped) == ("passed", True)
    assert "right in Triton's interpreter" in reason
    assert "hidden.dtype is not _float32" in guard
    assert facts["hits"] == dict.fromkeys(NORMS, 1)
    assert facts["error"] < 1e-5
    assert facts["undone"]
    assert "swapped in: RMSNorm(hidden [2, 3, 64] float32)" in facts["text"]


def test_what_no_recipe_fits_is_told(optimized: Optimized) -> None:
    reports = {names[0]: rest for names, *rest in optimized.facts["kernels"]}
    verdict, reason, swapped, _ = reports["head"]
    assert (verdict, swapped) == ("none", False)
    assert "no recipe" in reason


def test_the_outermost_modules_are_taken_and_what_is_inside_them_left_alone(optimized: Optimized) -> None:
    kernels = {tuple(names): swapped for names, swapped, _ in optimized.facts["gated"]}
    assert kernels[("gates.0",)]
    assert kernels[("squash",)]
    assert optimized.facts["gated hits at first"] == dict.fromkeys(["squash", "gates.0", "gates.1", "gates.2"], 0)
    assert optimized.facts["gated hits"] == dict.fromkeys(["squash", "gates.0", "gates.1", "gates.2"], 1)
    assert not any(optimized.facts["gated misses"].values())
    assert optimized.facts["gated error"] < 1e-5


def test_a_number_that_forward_does_not_read_makes_no_other_task(optimized: Optimized) -> None:
    assert len(list((optimized.folder / "runs").glob("*numberedgate*/best.py"))) == 1
    assert "NumberedGate(x [2, 16] float32) at gates.0, gates.1, gates.2: kernel 1" in optimized.facts["gated text"]


def test_what_cannot_be_asked_about_is_told_and_stops_nothing(optimized: Optimized) -> None:
    reasons = {tuple(names): reason for names, _, reason in optimized.facts["gated"]}
    assert "whole numbers only" in reasons[("whole",)]
    assert "kept PyTorch: remembering: argument cache is a KVCache" in optimized.facts["gated text"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("raise RuntimeError('no GPU')", "fails in this process: RuntimeError: no GPU"),
        ("return hidden * 1.5", "returns something else than norm"),
    ],
)
def test_a_kernel_that_does_not_do_in_this_process_is_not_kept(tmp_path: Path, body: str, why: str) -> None:
    norm, x = RMSNorm(TinyModel().config).to(torch.bfloat16), torch.randn(2, 3, 64).to(torch.bfloat16)
    text = NORM[: NORM.index("        scale")] + f"        {body}\n"
    card = marked_card(norm, tmp_path, x, text=text)
    with pytest.raises(UsageError, match=why):
        install_kernel(
            CapturedCalls(card.spec, (x,), {}, {"norm": norm}), card, tmp_path / "best.py", "", "fallback"
        )
    assert "forward" not in vars(norm)


@pytest.mark.parametrize(("shape", "fails"), [((64, 2, 3), True), ((2, 3, 64), False)], ids=["other", "same"])
def test_a_kernel_whose_strides_the_model_does_not_take_is_not_kept(
    tmp_path: Path, shape: tuple[int, ...], fails: bool
) -> None:
    norm, x = RMSNorm(TinyModel().config).eval(), torch.randn(2, 3, 64)
    order = [shape.index(size) for size in (2, 3, 64)]
    laid_out = f"hidden.new_empty({shape}).permute({order}).copy_((hidden.float() * scale) * self.weight)"
    text = NORM[: NORM.index("        return")] + f"        return {laid_out}\n"
    card = marked_card(norm, tmp_path, x, text=text)
    group = CapturedCalls(card.spec, (x,), {}, {"norm": norm})
    arguments = (group, card, tmp_path / "best.py", "", "fallback", lambda: norm(x).view(-1))
    if fails:
        with pytest.raises(UsageError, match="other strides, with which the model fails: RuntimeError: view size"):
            install_kernel(*arguments)
    else:
        install_kernel(*arguments)
    assert ("forward" in vars(norm)) != fails


def test_what_is_faster_is_saved_once(tmp_path: Path) -> None:
    norm, x = RMSNorm(TinyModel().config), torch.randn(2, 3, 64)
    card = marked_card(norm, tmp_path, x)
    slower = KernelReport(
        ("norm",), "RMSNorm(...)", "passed", "NOT faster", False, card=card, kernel=tmp_path / "best.py"
    )
    slower = replace(slower, speedup=Speedup(0.9, 0.89, 0.91))
    with pytest.raises(UsageError, match="no kernel to save: NOT faster"):
        Report((slower,), KernelHandle([], {}), {}).save(tmp_path / "kernels")
    swapped = replace(slower, swapped=True)
    others = replace(swapped, card=replace(card, spec=replace(card.spec, settings={"eps": 0.5})))
    report = Report((swapped, others), KernelHandle([], {}), {})
    assert len(set(report.save(tmp_path / "kernels"))) == 2, "one kernel for calls of two kinds"
    (first, _) = report.save(tmp_path / "kernels")
    assert read_card(first / "kernel.json").sha256 == file_digest(first / "best.py")
    checked = subprocess.run([sys.executable, str(first / "best.py")], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr.count("task.py: is empty")) == (2, 1), "it was saved without a task"
    with pytest.raises(UsageError, match="cannot be a folder"):
        report.save(tmp_path / "best.py")
    assert len(list((tmp_path / "kernels").glob("*/kernel.json"))) == 2, "a second save replaces"


def test_what_a_kernel_must_beat() -> None:
    times = Quantiles(1.0, 1.0, 1.0)
    speedups = {"eager": Speedup(4.0, 3.9, 4.1), "compile": Speedup(1.0, 0.99, 1.01)}
    timing = Timing("GPU", times, times, None, times, {}, speedups, {}, 9)
    result = ForgeResult("right, but no faster", None, passed(timing=timing), False, None)
    assert result.beats("eager")
    assert not result.beats("all")
    assert not ForgeResult("not timed", None, passed(), None, None).beats("eager")


def test_without_a_gpu_nothing_is_swapped_unless_asked_for(optimized: Optimized) -> None:
    assert "not timed, because there is no GPU here; nothing was swapped in" in optimized.facts["untimed"]
    assert optimized.facts["twin shares weights"]


def test_the_library_serves_a_fresh_process(optimized: Optimized) -> None:
    assert run_script("load_script.py", optimized.folder).endswith("done\n")


def test_a_kernel_is_checked_against_a_live_module(lent: None, optimized: Optimized, tmp_path: Path) -> None:
    norm, x = RMSNorm(TinyModel().config), torch.randn(2, 3, 64)
    config = CheckConfig(device="cpu", timeout_s=30)
    assert ts.check(norm, optimized.kernel, (x,), config=config).verdict is Verdict.PASSED
    norm.eps = 0.5
    with_init = tmp_path / "with_init.py"
    with_init.write_text(optimized.kernel.read_text().replace("(self, size_64=64)", "(self, size_64, eps)"))
    evaluation = ts.check(norm, with_init, (x,), init=(64, 1e-5), config=config)
    assert evaluation.verdict in (Verdict.WRONG_VALUES, Verdict.INACCURATE)
    assert ts.lint(optimized.kernel).kernel_type != "unknown"


def test_a_run_is_loaded_by_its_task(optimized: Optimized, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    (best,) = (optimized.folder / "runs").glob("*rmsnorm*/best.py")
    model = TinyModel().eval().requires_grad_(False)
    handle = ts.load_(model, {"norm": best}, strict=True)
    assert [one.name for one in handle.installed] == ["norm"]
    (best.parent / "changed").mkdir(exist_ok=True)
    for name in ("run.json", "events.jsonl", "task.py"):  # the kernel itself is changed
        (best.parent / "changed" / name).write_bytes((best.parent / name).read_bytes())
    (best.parent / "changed/best.py").write_text(best.read_text().replace("tl.rsqrt", "tl.sqrt"))
    assert "changed since" in ts.load_(model, {"norm": best.parent / "changed"}).skipped["norm"]


def test_what_lies_inside_or_around_a_kernel_is_left_alone() -> None:
    model = TinyModel()
    covered = [model.encoder.rnn, model.blocks[1]]
    assert overlaps(model, covered)
    assert overlaps(model.encoder, covered)
    assert overlaps(model.blocks[1].norm1, covered)
    assert not any(overlaps(one, covered) for one in (model.encoder.rnn, model.blocks[0], model.norm))
    model.blocks[0].norm1 = model.blocks[1].norm1
    assert overlaps(model.blocks[0], [model.blocks[1].norm1]), "the same module in two places"


def test_an_interrupted_optimization_leaves_no_kernels(optimized: Optimized) -> None:
    assert optimized.facts["interrupted"] == [True, False], "one was swapped in, and taken out"


def test_a_module_with_hooks_inside_is_refused() -> None:
    model = TinyModel()
    refuse_hooks_inside(model.norm)
    model.blocks[0].norm1.register_forward_hook(lambda *_: None)
    refuse_hooks_inside(model.blocks[0].norm1)
    with pytest.raises(UsageError, match="its norm1 has hooks"):
        refuse_hooks_inside(model.blocks[0])


def test_advice_is_in_the_words_of_the_api() -> None:
    told = in_python(f"no recipe for batch norm in training mode; {EVAL_ADVICE}; else {LLM_ADVICE}")
    assert "model.eval()" in told
    assert "Config(model=...)" in told
    assert "--" not in told
    with pytest.raises(UsageError, match=r"name one with model=$"):
        ts.Config(base_url="http://localhost:1").author()


def test_progress_is_told_on_a_terminal_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ts.Config().tell("to a file")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    ts.Config().tell("kernel 1 is right\n" + "word " * 99)
    told: list[str] = []
    ts.Config(notify=told.append).tell("to the user's own")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tilesmith: kernel 1 is right word ")
    assert len(line) <= 110
    assert told == ["to the user's own"]


def test_every_setting_is_in_the_guide() -> None:
    guide = (HERE.parents[1] / "docs/your-own-model.md").read_text()
    named = "".join(line.split("|")[1] for line in guide.splitlines() if line.startswith("| `"))
    assert [one.name for one in fields(ts.Config) if f"`{one.name}`" not in named] == []


def test_a_twin_shares_every_tensor() -> None:
    model = TinyModel()
    twin = share_weights(model)
    assert all(a is b for a, b in zip(model.parameters(), twin.parameters(), strict=True))
    assert not set(model.modules()) & set(twin.modules())
    model.lock = threading.Lock()
    with pytest.raises(UsageError, match=r"cannot be copied: cannot pickle '_thread.lock' object; optimize_"):
        share_weights(model)


def test_wrong_use_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(UsageError, match="TRITON_INTERPRET=1"):
        ts.Config(interpret=True)
    with pytest.raises(UsageError, match="name the modules"):
        ts.Config(model="gpt-5")
    with pytest.raises(UsageError, match="use fallback or recompute"):
        ts.Config(grad="both")
    wrong: Any = [("effort", "fast"), ("precision", "bf16"), ("where", 3), ("timeout_s", 0), ("timeout_s", "a")]
    for name, value in wrong:
        with pytest.raises(UsageError, match=f"{value}'?: use "):
            ts.Config(**{name: value})
    one_argument: Any = lambda name: True  # noqa: E731
    with pytest.raises(UsageError, match="function of name and module, and this one is not: too many positional"):
        ts.Config(where=one_argument)
    settings: Any = {"where": "norm"}
    with pytest.raises(UsageError, match=r"config is a dict: write config=Config\("):
        ts.optimize_(nn.ReLU(), (torch.ones(2),), config=settings)
    lone: Any = torch.ones(2)
    with pytest.raises(UsageError, match=r"write \(x,\), not x, a Tensor"):
        ts.check(nn.ReLU(), "kernel.py", lone)
    for function in (ts.optimize_, ts.scan, ts.capture):
        with pytest.raises(UsageError, match=r"does not fit ReLU.forward: missing a required argument"):
            function(nn.ReLU())
    with pytest.raises(UsageError, match="use all or eager"):
        ts.Config(beat="graph")
    with pytest.raises(UsageError, match=r"name another with Config\(model="):
        ts.Config(playbook=False)
    assert not ts.Config(playbook=False, model="m", base_url="http://localhost:9/v1", where="*").settings().playbook
    with pytest.raises(UsageError, match="no setting seeds"):
        ts.forge(__file__, seeds=3)
    with pytest.raises(TaskError, match=r"nothing.py: no such file"):
        ts.forge("nothing.py")
    with pytest.raises(TaskError, match="Dropout: it draws random numbers"):
        ts.check(nn.Dropout().train(), "kernel.py", (torch.ones(2, 2),))
    with pytest.raises(TaskError, match="only hold numbers"):
        ts.check(nn.ReLU(), "kernel.py", (torch.ones(2, 2),), init=(object(),))
    with pytest.raises(AttributeError, match="no attribute 'optimise'"):
        _ = ts.optimise


def test_a_compiled_model_uses_the_library(optimized: Optimized) -> None:
    assert run_script("compile_script.py", optimized.folder).endswith("done\n")
