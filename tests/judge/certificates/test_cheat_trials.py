"""Known cheats before the judge, with a reference that says what a test wants."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tilesmith.config import CheckConfig
from tilesmith.errors import MachineError
from tilesmith.judge.certificates.certification import certificate_of
from tilesmith.judge.certificates.cheat_trials import CheatTrials
from tilesmith.judge.machine.gpu_lock import GpuLock
from tilesmith.process.protocol.comparison import CheatResult, Comparison, FloatStatistics
from tilesmith.process.protocol.reference import CheatKinds, CheatResults, Environment, ListCheats, TryCheats
from tilesmith.records import Certificate, Outcome
from tilesmith.tasks.draws import DRAWS, EXTRA_DRAWS, FEW_DRAWS
from tilesmith.tasks.roofline import TaskProfile
from tilesmith.tasks.source import parse_task

EMPTY_TASK = parse_task(Path("task.py"), "class Model: pass\ndef get_inputs(): return []\n")


class Reference:
    """Stands in for a reference: says of every cheat what it was told, fails on the one called 'poison'."""

    k = 2.0

    def __init__(self, kinds: dict[str, str], result: CheatResult, moved: int = 0) -> None:
        self.kinds, self.result, self.restarts = kinds, result, 0
        self.profile, self.plans = TaskProfile(bytes_moved=moved), {"shrunk": "as is"}
        self.environment = Environment("0", "3", "2", "3", "a GPU")
        self.certificate: Certificate | None = None
        self.certifying = threading.Lock()
        self.tried: list[tuple[str, str]] = []
        self.parameters: list[bool] = []

    def move_parameters(self, strongly: bool) -> None:
        self.parameters.append(strongly)

    def accepts(self, variant: str, draw: str) -> bool:
        return True

    def restart(self) -> None:
        self.restarts += 1

    def ask(self, request: ListCheats | TryCheats) -> CheatKinds | CheatResults:
        if isinstance(request, ListCheats):
            return CheatKinds(self.kinds)
        self.tried.append((request.variant, request.draw))
        if "poison" in request.names:
            raise MachineError("the reference ended")
        return CheatResults(dict.fromkeys(request.names, self.result))


def tried(kinds: dict[str, str], result: CheatResult) -> tuple[Reference, list[Outcome]]:
    reference = Reference(kinds, result)
    trials = CheatTrials(reference, 2.0, "shrunk", False)  # type: ignore[arg-type]
    trials.try_on(("own",))
    return reference, [trial.outcome for trial in trials.trials()]


def test_a_cheat_that_brings_the_reference_down_does_not_take_the_others_along() -> None:
    killed = CheatResult(Comparison(layout_problem="no tensor"))
    reference, found = tried({"a": "wrong", "poison": "wrong", "b": "wrong"}, killed)
    assert found == [Outcome.KILLED, Outcome.UNTRIED, Outcome.KILLED]
    assert reference.restarts == 2


def measured(
    error: float, eager: float, effective: float, identical: bool = False, truth: str | None = None
) -> CheatResult:
    """One output of nine numbers with the same error everywhere."""
    errors = (error, error, eager, eager)
    floats = FloatStatistics("float", "float32", 9, 0, *errors, 1.0, 1.0, effective, ())
    return CheatResult(Comparison((floats,), truth_note=truth), identical)


@pytest.mark.parametrize(
    ("eager", "effective", "truth", "outcome"),
    [
        (1e-3, 1e9, None, Outcome.ALLOWED),
        (1e-5, 1e9, None, Outcome.KILLED),
        (1e-5, 1.0, None, Outcome.SURVIVED),
        (1e-3, 1e9, "PyTorch's own result", Outcome.SURVIVED),
    ],
    ids=["PyTorch errs as much", "PyTorch errs less", "too few elements to tell", "no truth to tell by"],
)
def test_a_lower_precision_is_allowed_only_where_pytorch_is_no_better(
    eager: float, effective: float, truth: str | None, outcome: Outcome
) -> None:
    result = measured(1e-3, eager, effective, truth=truth)
    assert tried({"rounded": "rounding"}, result)[1] == [outcome]


@pytest.mark.parametrize(
    ("device", "moved", "shape", "first"),
    [
        ("cpu", 2**40, "shrunk", DRAWS),
        ("cuda", 2**20, "exact", DRAWS),
        ("cuda", 2**40, "shrunk", (*FEW_DRAWS, "own again")),
    ],
    ids=["no GPU", "GPU", "large on a GPU"],
)
def test_cheats_see_the_shape_and_the_draws_that_candidates_see(
    own_cache: Path, device: str, moved: int, shape: str, first: tuple[str, ...]
) -> None:
    reference = Reference({"zeros": "wrong"}, measured(0.0, 0.0, 0.0, identical=True), moved)
    certificate = certificate_of(EMPTY_TASK, reference, CheckConfig(), device, GpuLock())  # type: ignore[arg-type]
    assert (certificate.shape, certificate.blind_to) == (shape, ("zeros",))
    assert {variant for variant, _ in reference.tried} == {shape}
    draws = tuple(draw for _, draw in reference.tried)
    assert draws[: len(first)] == first
    assert sorted(draws) == sorted((*DRAWS, *EXTRA_DRAWS))
    assert True not in reference.parameters


def test_other_parameters_are_kept_only_if_they_tell_more(own_cache: Path) -> None:
    reference = Reference({"initial parameters": "parameters"}, measured(1e-7, 1e-7, 9.0))
    certificate = certificate_of(EMPTY_TASK, reference, CheckConfig(), "cpu", GpuLock())  # type: ignore[arg-type]
    assert reference.parameters == [False, True, False]
    assert not certificate.strong_parameters
    assert certificate.blind_to == ("initial parameters",)


def test_nothing_else_is_ever_allowed() -> None:
    result = measured(1e-3, 1e-3, 1e9)
    assert tried({"zeros": "wrong", "input 0": "echo"}, result)[1] == [Outcome.SURVIVED] * 2
