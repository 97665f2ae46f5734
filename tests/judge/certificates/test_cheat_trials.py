"""Known cheats before the judge, with a reference that says what a test wants."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tilesmith.config import CheckConfig
from tilesmith.errors import MachineError
from tilesmith.judge.certificates.certification import certificate_of
from tilesmith.judge.certificates.cheat_trials import CheatTrials
from tilesmith.records import Certificate, Outcome
from tilesmith.tasks.draws import DRAWS, EXTRA_DRAWS, FEW_DRAWS
from tilesmith.tasks.source import parse_task

EMPTY_TASK = parse_task(Path("task.py"), "class Model: pass\ndef get_inputs(): return []\n")


class Reference:
    """Stands in for a reference: says of every cheat what it was told, fails on the one called 'poison'."""

    def __init__(self, kinds: dict[str, str], result: dict[str, Any], moved: int = 0) -> None:
        self.kinds, self.result, self.restarts = kinds, result, 0
        self.profile, self.plans, self.environment = {"bytes_moved": moved}, {"shrunk": "as is"}, {"torch": "2"}
        self.certificate: Certificate | None = None
        self.certifying = threading.Lock()
        self.tried: list[tuple[str, str]] = []
        self.parameters: list[bool] = []

    def move_parameters(self, strongly: bool) -> None:
        self.parameters.append(strongly)

    def inputs(self, variant: str, draw: str) -> str:
        return "file"

    def restart(self) -> None:
        self.restarts += 1

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        if op == "cheats":
            return {"kinds": self.kinds}
        self.tried.append((arguments["variant"], arguments["draw"]))
        if "poison" in arguments["names"]:
            raise MachineError("the reference ended")
        return {"results": dict.fromkeys(arguments["names"], self.result)}


def heard(kinds: dict[str, str], result: dict[str, Any]) -> tuple[Reference, list[Outcome]]:
    reference = Reference(kinds, result)
    hearing = CheatTrials(reference, 2.0, "shrunk", False)  # type: ignore[arg-type]
    hearing.hear(("own",))
    return reference, [trial.outcome for trial in hearing.trials()]


def test_a_cheat_that_brings_the_reference_down_does_not_take_the_others_along() -> None:
    reference, found = heard({"a": "wrong", "poison": "wrong", "b": "wrong"}, {"problem": "no tensor"})
    assert found == [Outcome.KILLED, Outcome.UNTRIED, Outcome.KILLED]
    assert reference.restarts == 2


FLOATS = {"kind": "float", "dtype": "float32", "numel": 9, "misplaced": 0, "max_abs": 1, "mean_abs": 1, "worst": []}


@pytest.mark.parametrize(
    ("eager", "effective", "truth", "outcome"),
    [
        (1e-3, 1e9, {}, Outcome.ALLOWED),
        (1e-5, 1e9, {}, Outcome.KILLED),
        (1e-5, 1.0, {}, Outcome.SURVIVED),
        (1e-3, 1e9, {"truth": "PyTorch's own result"}, Outcome.SURVIVED),
    ],
    ids=["PyTorch errs as much", "PyTorch errs less", "too few elements to tell", "no truth to tell by"],
)
def test_a_lower_precision_is_allowed_only_where_pytorch_is_no_better(
    eager: float, effective: float, truth: dict[str, str], outcome: Outcome
) -> None:
    errors = {"relative": 1e-3, "max_relative": 1e-3, "eager_relative": eager, "eager_max_relative": eager}
    result = {"outputs": [FLOATS | errors | {"effective": effective}], "identical": False, **truth}
    assert heard({"rounded": "rounding"}, result)[1] == [outcome]


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
    errors = {"relative": 0.0, "max_relative": 0.0, "eager_relative": 0.0, "eager_max_relative": 0.0}
    survives = {"outputs": [FLOATS | errors | {"effective": 0.0}], "identical": True}
    reference = Reference({"zeros": "wrong"}, survives, moved)
    certificate = certificate_of(EMPTY_TASK, reference, CheckConfig(), device)  # type: ignore[arg-type]
    assert (certificate.shape, certificate.blind_to) == (shape, ("zeros",))
    assert {variant for variant, _ in reference.tried} == {shape}
    draws = tuple(draw for _, draw in reference.tried)
    assert draws[: len(first)] == first
    assert sorted(draws) == sorted((*DRAWS, *EXTRA_DRAWS))
    assert True not in reference.parameters


def test_other_parameters_are_kept_only_if_they_tell_more(own_cache: Path) -> None:
    errors = {"relative": 1e-7, "max_relative": 1e-7, "eager_relative": 1e-7, "eager_max_relative": 1e-7}
    survives = {"outputs": [FLOATS | errors | {"effective": 9.0}], "identical": False}
    reference = Reference({"initial parameters": "parameters"}, survives)
    certificate = certificate_of(EMPTY_TASK, reference, CheckConfig(), "cpu")  # type: ignore[arg-type]
    assert reference.parameters == [False, True, False]
    assert not certificate.strong_parameters
    assert certificate.blind_to == ("initial parameters",)


def test_nothing_else_is_ever_allowed() -> None:
    errors = {"relative": 1e-3, "max_relative": 1e-3, "eager_relative": 1e-3, "eager_max_relative": 1e-3}
    result = {"outputs": [FLOATS | errors | {"effective": 1e9}], "identical": False}
    assert heard({"zeros": "wrong", "input 0": "echo"}, result)[1] == [Outcome.SURVIVED] * 2
