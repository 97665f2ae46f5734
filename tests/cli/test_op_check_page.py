"""The page of an operator's check: a row for every call, and sense without a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tilesmith.cli.op.check_page import write_check_page
from tilesmith.operators.checking import AccuracyResult, MeasuredCall, OperatorCheck, PerformanceResult
from tilesmith.records import OutputErrors

ACCURACY = AccuracyResult(
    "passed", "right", ("float32 M=4 N=<b>8</b>",), OutputErrors(1e-6, 1e-7, 4e-8, 2e-8, 2.0), (), ()
)
CALLS = (
    MeasuredCall("float16", "M=4096 N=4096", 1.5, 1.4, 1.6, 0.02, 0.03, 3360.0, 0.7),
    MeasuredCall("float32", "M=1 N=7", kept_pytorch=True),
)
CHECK = OperatorCheck(
    "bias_add", "all are new", ACCURACY, PerformanceResult(CALLS, 1.5, 1.2, True, "1.50x, above the target")
)


def page_of(found: OperatorCheck, folder: Path) -> str:
    write_check_page(found, folder / "page.html")
    return (folder / "page.html").read_text()


def test_every_call_has_its_row(tmp_path: Path) -> None:
    page = page_of(CHECK, tmp_path)
    for told in ("1.50×", "1.40 – 1.60", "0.0200", "0.0300", "3,360", "70%", "PyTorch is kept", "4.0 × 10⁻⁸"):
        assert told in page
    assert page.count("<svg") == 1
    assert "&lt;b&gt;8&lt;/b&gt;" in page


def test_without_a_gpu_nothing_is_said_about_speed(tmp_path: Path) -> None:
    untimed = PerformanceResult((), None, 1.2, None, "not measured: no GPU here")
    page = page_of(replace(CHECK, performance=untimed), tmp_path)
    assert "Not timed" in page
    assert "not measured: no GPU here" in page
    assert "<svg" not in page


def test_a_wrong_operator_says_why(tmp_path: Path) -> None:
    wrong = replace(ACCURACY, verdict="wrong_values", reason="output 0 is off by 3", cases=(), errors=None)
    page = page_of(replace(CHECK, accuracy=wrong, performance=None), tmp_path)
    assert "Wrong values: output 0 is off by 3" in page
    assert "Only operators that are right are timed." in page
