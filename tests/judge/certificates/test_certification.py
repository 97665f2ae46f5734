"""The judge tries known cheats on every task first, and says where it cannot tell them from the truth."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tilesmith.judge import Judge
from tilesmith.judge.certificates.cheat_trials import CheatTrials
from tilesmith.records import Certificate, Outcome, Trial, to_json

ROOT = Path(__file__).parents[3]
SLOW = {"vgg16"}
"""Its float64 truth alone takes a minute without a GPU."""
TASKS = [
    path
    for folder in (ROOT / "tests" / "fixtures" / "tasks", ROOT / "examples")
    for path in sorted(folder.glob("*.py"))
    if path.stem not in SLOW
]
TASK = """
import torch
import torch.nn as nn
import torch.nn.functional as F
ROWS = 64
COLS = {cols}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self, {arguments}):
        {forward}
def get_inputs():
    return [{inputs}]
"""
COPY = """
import torch
import triton
import triton.language as tl
@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        copy[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
"""
Certify = Callable[..., Certificate]


@pytest.fixture
def certify(judge: Judge, tmp_path: Path) -> Certify:
    """The certificate of a task that is given by its forward."""

    def made(
        forward: str,
        inputs: str = "torch.randn(ROWS, COLS)",
        init: str = "pass",
        arguments: str = "x",
        cols: int = 512,
    ) -> Certificate:
        path = tmp_path / "task.py"
        path.write_text(TASK.format(forward=forward, inputs=inputs, init=init, arguments=arguments, cols=cols))
        return judge.certify(path)

    return made


def outcomes(certificate: Certificate) -> dict[str, Outcome]:
    return {trial.cheat: trial.outcome for trial in certificate.trials}


def trial(certificate: Certificate, cheat: str) -> Trial:
    return next(trial for trial in certificate.trials if trial.cheat == cheat)


# What the judge can tell


@pytest.mark.parametrize("path", TASKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_task_of_ours_is_blind_to_a_cheat(judge: Judge, path: Path) -> None:
    certificate = judge.certify(path)
    assert certificate.blind_to == ()
    assert certificate.notes == ()
    assert not certificate.count(Outcome.UNTRIED)
    assert certificate.count(Outcome.KILLED) >= 8
    assert all(trial.by for trial in certificate.trials if trial.outcome is Outcome.KILLED)


def test_a_softmax_over_long_rows_is_nearly_zero_and_zeros_are_still_killed(certify: Certify) -> None:
    certificate = certify("return torch.softmax(x, -1)", cols=16384)
    assert certificate.blind_to == ()
    assert trial(certificate, "zeros").by == "own"
    assert trial(certificate, "row means").by == "own"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_normalization_of_normal_data_is_nearly_the_identity_and_the_input_is_still_killed(
    certify: Certify, dtype: str
) -> None:
    certificate = certify(
        "return F.layer_norm(x, (COLS,))", f"torch.randn(ROWS, COLS, dtype=torch.{dtype})", cols=8192
    )
    assert certificate.blind_to == ()
    assert trial(certificate, "input 0 returned unchanged").outcome is Outcome.KILLED


def test_a_tiny_scale_hides_nothing(certify: Certify) -> None:
    assert certify("return x * 1e-25").blind_to == ()


def test_several_outputs_and_integers(certify: Certify) -> None:
    certificate = certify("return x.sum(-1), x.max(-1).values, x.argmax(-1)")
    assert certificate.blind_to == ()
    assert outcomes(certificate)["only the first output right"] is Outcome.KILLED


def test_one_scalar_is_right_on_one_draw_by_its_own_mean_and_dies_on_the_next(certify: Certify) -> None:
    certificate = certify("return x.mean()")
    assert certificate.blind_to == ()
    assert trial(certificate, "a constant").by == "own again"
    assert outcomes(certificate)["second half left out"] is Outcome.INAPPLICABLE


# What takes stronger inputs or other parameters


def test_a_clamp_that_no_usual_input_reaches_gets_heavier_inputs(certify: Certify) -> None:
    certificate = certify("return x.clamp(-400, 400)")
    assert certificate.extra_draws == ("heavy",)
    assert trial(certificate, "input 0 returned unchanged").by == "heavy"
    assert certificate.blind_to == ()


def test_a_kernel_that_only_copies_is_caught_because_of_that(
    judge: Judge, certify: Certify, tmp_path: Path
) -> None:
    certify("return x.clamp(-400, 400)")
    (tmp_path / "kernel.py").write_text(COPY)
    evaluation = judge.check(tmp_path / "task.py", tmp_path / "kernel.py")
    assert evaluation.verdict == "wrong_values"
    assert "on the heavy inputs" in evaluation.reason
    assert evaluation.certificate is not None
    assert evaluation.certificate.extra_draws == ("heavy",)
    assert "certificate" in [gate.gate for gate in evaluation.gates]


def test_parameters_too_small_to_matter_are_made_to_matter(certify: Certify) -> None:
    certificate = certify(
        "return x + self.scale * torch.tanh(x)", init="self.scale = nn.Parameter(torch.full((COLS,), 1e-7))"
    )
    assert certificate.strong_parameters
    assert certificate.blind_to == ()


def test_a_candidate_gets_those_parameters_too(judge: Judge, certify: Certify, tmp_path: Path) -> None:
    """A copy of the input passes for a residual branch that starts at 1e-7, unless its scale is moved."""
    certify("return x + self.scale * torch.tanh(x)", init="self.scale = nn.Parameter(torch.full((COLS,), 1e-7))")
    (tmp_path / "kernel.py").write_text(COPY)
    evaluation = judge.check(tmp_path / "task.py", tmp_path / "kernel.py")
    assert (evaluation.verdict, "on the own inputs" in evaluation.reason) == ("wrong_values", True)


# What it cannot tell


def test_a_constant_output_cannot_tell_anything_and_says_so(certify: Certify) -> None:
    certificate = certify("return torch.ones_like(x)")
    assert {"a constant", "yesterday's output", "the first call cached"} <= set(certificate.blind_to)
    assert "zeros" not in certificate.blind_to
    assert len(certificate.notes) == 1
    assert certificate.notes[0].startswith("this task cannot tell 'a constant', ")


def test_inputs_that_never_change_hide_a_cached_answer(certify: Certify) -> None:
    certificate = certify(
        "return self.table(i)", "torch.arange(ROWS)", "self.table = nn.Embedding(ROWS, COLS)", "i"
    )
    assert certificate.blind_to == ("yesterday's output", "the first call cached")


def test_blindness_is_in_the_verdict(judge: Judge, certify: Certify, tmp_path: Path) -> None:
    certificate = certify("return x - x + 1")
    (tmp_path / "kernel.py").write_text(COPY.replace("tl.load(x + at, mask=at < n, other=0.0)", "1.0"))
    evaluation = judge.check(tmp_path / "task.py", tmp_path / "kernel.py")
    assert evaluation.passed, evaluation.reason
    assert certificate.notes[0] in evaluation.notes
    assert evaluation.certificate == certificate.summary()
    assert "a constant" in evaluation.certificate.blind_to


def test_an_input_of_little_weight_cannot_be_seen(certify: Certify) -> None:
    certificate = certify(
        "return x + 1e-9 * y", "torch.randn(ROWS, COLS), torch.randn(ROWS, COLS)", arguments="x, y"
    )
    assert "only the first input used" in certificate.blind_to


# What is no cheat


@pytest.mark.parametrize(
    ("forward", "init"), [("return x", "pass"), ("return self.drop(x)", "self.drop = nn.Dropout(0.5)")]
)
def test_where_the_task_is_a_copy_a_copy_is_no_cheat(certify: Certify, forward: str, init: str) -> None:
    certificate = certify(forward, init=init)
    assert outcomes(certificate)["input 0 returned unchanged"] is Outcome.INAPPLICABLE
    assert certificate.blind_to == ()


def test_parameters_that_do_not_reach_the_output_may_be_ignored(certify: Certify) -> None:
    certificate = certify("return x * 2", init="self.unused = nn.Parameter(torch.rand(COLS))")
    assert certificate.blind_to == ()
    assert outcomes(certificate)["initial parameters"] is Outcome.INAPPLICABLE


def test_a_model_without_parameters_cannot_ignore_them(certify: Certify) -> None:
    assert outcomes(certify("return x * 2"))["parameters all zero"] is Outcome.INAPPLICABLE


def test_a_precision_that_pytorch_itself_does_not_have_is_allowed_not_blind(judge: Judge) -> None:
    """The GRU's own TF32 errs by more than half precision would."""
    certificate = judge.certify(ROOT / "examples" / "gru.py")
    found = trial(certificate, "output rounded to half precision")
    assert found.outcome is Outcome.ALLOWED
    assert "within the error budget" in found.detail


# Made once, kept on disk


def test_many_threads_make_one_certificate(judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    usual = CheatTrials.__init__

    def counted(self: CheatTrials, *arguments: Any) -> None:
        made.append(threading.get_ident())
        usual(self, *arguments)

    monkeypatch.setattr(CheatTrials, "__init__", counted)
    task = tmp_path / "task.py"
    task.write_text(TASK.format(forward="return x * 7", inputs="torch.randn(9)", init="", arguments="x", cols=1))
    with ThreadPoolExecutor(4) as pool:
        certificates = list(pool.map(judge.certify, [task] * 8))
    assert len(made) == 1
    assert all(certificate is certificates[0] for certificate in certificates)
    assert judge.certify(task, renew=True) == certificates[0]
    assert len(made) == 2


def test_it_is_read_from_disk_for_the_same_text_elsewhere(judge: Judge, own_cache: Path, tmp_path: Path) -> None:
    forward = "return x + self.scale * torch.tanh(x) * 1"
    init = "self.scale = nn.Parameter(torch.full((COLS,), 1e-7))"
    here, there = tmp_path / "here.py", tmp_path / "there.py"
    for path in (here, there):
        path.write_text(TASK.format(forward=forward, inputs="torch.randn(9, 8)", init=init, arguments="x", cols=8))
    made = judge.certify(here)
    stored = own_cache / f"{made.key}.json"
    stored.write_text(json.dumps(to_json(made) | {"notes": ["read from disk"]}))
    assert judge.certify(there).notes == ("read from disk",)
    (tmp_path / "kernel.py").write_text(COPY)
    assert made.strong_parameters
    assert judge.check(there, tmp_path / "kernel.py").verdict == "wrong_values"
    assert judge.certify(there, renew=True).notes == ()
