"""One interface in all four files: who lags is named, with what to change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from softmax_project import DEFINITION, complaint, written

from tilesmith.operators.interface import describe_change, require_one_interface, require_own_tests


def test_what_is_written_together_agrees() -> None:
    project, texts = written()
    require_one_interface(project, texts)
    require_own_tests(project, texts)
    assert describe_change(project, texts) == "nothing changed since the last check that passed"


OTHERS = {
    "triton": "operator.toml, softmax_baseline.py, softmax_accuracy.py and softmax_performance.py",
    "baseline": "operator.toml, softmax_triton.py, softmax_accuracy.py and softmax_performance.py",
    "accuracy": "operator.toml, softmax_triton.py, softmax_baseline.py and softmax_performance.py",
    "performance": "operator.toml, softmax_triton.py, softmax_baseline.py and softmax_accuracy.py",
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (", temperature: float = 2.0)", ")", "softmax(x) has no parameter 'temperature': {} have it"),
        ("2.0)", "2.0, k: int = 1)", "softmax(x, temperature, k) has a parameter 'k' that {} have not"),
        ("float = 2.0", "float = 3.0", "the default of 'temperature' is 3.0; in {} it is 2.0"),
        ("temperature: float", "temperature: int", "the annotation of 'temperature' is int; in {} it is float"),
        (
            "x: torch.Tensor, temperature: float = 2.0",
            "temperature: float, x: torch.Tensor",
            "softmax(temperature, x) has its parameters in another order than softmax(x, temperature) in {}",
        ),
        (") -> torch.Tensor", ") -> list", "softmax(x, temperature) returns list; in {} it is torch.Tensor"),
        (
            "x [M, N]; float32",
            "x [N]; float32",
            'shapes and dtypes are "x [N]; float32, float16, bfloat16"; in {} they are '
            '"x [M, N]; float32, float16, bfloat16"',
        ),
    ],
)
def test_drift_names_the_file_that_lags(kind: str, old: str, new: str, said: str) -> None:
    project, texts = written()
    place = texts[kind].rindex(old, 0, texts[kind].find("make_inputs") if "make_inputs" in texts[kind] else None)
    if kind == "triton":
        place = texts[kind].index(old, texts[kind].index("def softmax"))
    changed = texts[kind][:place] + texts[kind][place:].replace(old, new, 1)
    told = complaint(require_one_interface, project, texts | {kind: changed})
    leader = "softmax_baseline.py" if kind == "baseline" else "operator.toml"
    remedy = f"mend that, or let all files follow {leader} with  tilesmith op new softmax --update"
    assert told == f"softmax_{kind}.py: {said.format(OTHERS[kind])}; {remedy}"


def test_files_that_moved_together_lead() -> None:
    """Two of five have a new parameter, and both moved since all agreed: the others lag."""
    project, texts = written()
    _, moved = written(DEFINITION.replace("2.0)", "2.0, scale: float = 1.0)"))
    told = complaint(
        require_one_interface,
        project,
        texts | {"triton": moved["triton"], "baseline": moved["baseline"]},
    )
    for name in ("operator.toml", "softmax_accuracy.py", "softmax_performance.py"):
        assert f"{name}: softmax(x, temperature) has no parameter 'scale': softmax_triton.py and" in told


def test_dtypes_of_a_test_that_differ_are_drift() -> None:
    project, texts = written()
    fewer = texts["accuracy"].replace("DTYPES = [torch.float32, ", "DTYPES = [")
    told = complaint(require_one_interface, project, texts | {"accuracy": fewer})
    assert told.startswith("softmax_accuracy.py: DTYPES are float16, bfloat16; in operator.toml, ")


def test_an_entry_that_is_gone_is_missed() -> None:
    project, texts = written()
    told = complaint(require_one_interface, project, texts | {"baseline": "import torch\n"})
    assert told == "softmax_baseline.py: there is no function softmax, the operator's entry; add it"


def test_a_file_that_does_not_parse_is_named() -> None:
    project, texts = written()
    told = complaint(require_one_interface, project, texts | {"triton": "def softmax(:\n"})
    assert told.startswith("softmax_triton.py, line 1: ")
    told = complaint(require_one_interface, project, texts | {"triton": "\0"})
    assert told == "softmax_triton.py: source code string cannot contain null bytes; Python cannot read it"


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("accuracy", "allowed = 2 *", "allowed = 2000 *"),
        ("accuracy", "    dict(M=37, N=53),\n", ""),
        ("performance", "TARGET = 1.0", "TARGET = 0.1"),
    ],
)
def test_a_test_that_was_tampered_with_is_named(kind: str, old: str, new: str) -> None:
    project, texts = written(folder=Path("some/where"))
    assert old in texts[kind]
    told = complaint(require_own_tests, project, texts | {kind: texts[kind].replace(old, new)})
    assert told.startswith(f"softmax_{kind}.py is not the test that operator.toml makes")
    assert told.endswith("tilesmith op new softmax --update --out some/where")


def test_a_baseline_that_computes_something_else_is_named() -> None:
    project, texts = written()
    other = texts["baseline"].replace("x / temperature", "x * temperature")
    told = complaint(require_own_tests, project, texts | {"baseline": other})
    assert told.startswith("softmax_baseline.py was changed, and with it what softmax computes")


def test_comments_and_layout_are_no_change() -> None:
    project, texts = written()
    require_own_tests(project, {kind: f"# mine\n{text}" for kind, text in texts.items()})


def test_the_two_kinds_of_change_are_told_apart() -> None:
    project, texts = written()
    faster = texts | {"triton": texts["triton"].replace("return launch(x, temperature)", "return launch(x, 3)")}
    assert describe_change(project, faster).startswith("the kernel alone: softmax_triton.py changed")
    _, other = written(DEFINITION.replace("x / temperature", "x * temperature"))
    assert describe_change(project, other).startswith("interface or maths: softmax_baseline.py changed")
    assert describe_change(replace(project, passed={}), texts) == "no check has passed yet"
