"""The page of an operator's check: a row for every call, and sense without a GPU."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tilesmith.cli.op.check_page import write_check_page
from tilesmith.operators.checking import AccuracyResult, MeasuredCall, OperatorCheck, PerformanceResult
from tilesmith.operators.records import Operator, OperatorParameter, Project
from tilesmith.records import OutputErrors, from_json

if TYPE_CHECKING:
    from playwright.sync_api import Page

RECORDED = Path(__file__).parents[2] / "benchmarks/results/2026-11-16-h200-operator-workshop-f37b60e-part.json"
KERNEL = "def bias_add(x, bias):\n    return x  # <b>\n"
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
    parameters = (OperatorParameter("x", shape=("M", "N")), OperatorParameter("bias", shape=("N",)))
    project = Project(folder, Operator(found.operator, parameters))
    write_check_page(found, project, folder / "page.html")
    return (folder / "page.html").read_text()


def test_every_call_has_its_row(tmp_path: Path) -> None:
    page = page_of(CHECK, tmp_path)
    for told in ("1.50×", "1.40 – 1.60", "0.0200", "0.0300", "3,360", "70%", "PyTorch is kept"):
        assert told in page
    assert "4.0\u00a0×\u00a010⁻⁸" in page
    assert page.count("<svg") == 1
    assert "&lt;b&gt;8&lt;/b&gt;" in page


def test_without_a_gpu_nothing_is_said_about_speed(tmp_path: Path) -> None:
    untimed = PerformanceResult((), None, 1.2, None, "not measured: no GPU here")
    page = page_of(replace(CHECK, performance=untimed), tmp_path)
    assert "Not timed" in page
    assert "not measured: no GPU here" in page
    assert "<svg" not in page


def test_what_only_programs_read_is_not_on_the_page(tmp_path: Path) -> None:
    judged = replace(ACCURACY, environment={"precision": "ieee", "input_digests": [[18.294, 52.366]] * 30})
    page = page_of(replace(CHECK, accuracy=judged), tmp_path)
    assert "ieee: no TF32" in page
    assert "18.294" not in page


def test_a_wrong_operator_says_why(tmp_path: Path) -> None:
    wrong = replace(ACCURACY, verdict="wrong_values", reason="output 0 is off by 3", cases=(), errors=None)
    page = page_of(replace(CHECK, accuracy=wrong, performance=None), tmp_path)
    assert "Wrong values: output 0 is off by 3" in page
    assert "Only operators that are right are timed." in page


def test_what_an_h200_measured_can_be_looked_at_and_taken(tmp_path: Path, opened: Callable[..., Page]) -> None:
    rows = json.loads(RECORDED.read_text())["rows"]
    step = next(row["steps"][1] for row in rows if row["operator"] == "layer_norm")
    found = from_json(OperatorCheck, {name: value for name, value in step["found"].items() if name != "passed"})
    (tmp_path / "layer_norm_triton.py").write_text(KERNEL)
    (tmp_path / "history.md").write_text("| BLOCK | geometric mean |\n| 1024 | 1.9 |\n")
    page_of(found, tmp_path)
    page = opened(tmp_path / "page.html", width=390)
    assert page.locator(".answers strong").first.text_content() == "1.92×"
    assert page.locator("#speed tbody tr").count() == 9
    assert "from layer_norm_triton import layer_norm" in (page.locator("#kernel code").first.text_content() or "")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("button[data-copy]")
    page.wait_for_selector("button:text-is('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == KERNEL
    assert "| 1024 | 1.9 |" in (page.locator("#history pre").text_content() or "")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
