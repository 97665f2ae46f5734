"""Every prompt word for word. After a change of wording: `python tests/llm/renew_goldens.py`, and read the diff."""

from __future__ import annotations

from dataclasses import replace

import pytest
from renew_goldens import GOLDENS, wanted
from sample_requests import requests

from tilesmith.llm.prompts import write_prompt
from tilesmith.records import AuthorRequest, Phase, Survey, TaskProfile

TEXTS = wanted()


@pytest.mark.parametrize("name", TEXTS)
def test_the_prompt_is_the_golden_one(name: str) -> None:
    assert TEXTS[name] == (GOLDENS / f"{name}.md").read_text(encoding="utf-8")


def test_no_golden_is_left_over() -> None:
    assert {path.stem for path in GOLDENS.glob("*.md")} == set(TEXTS)


def product_seed(precision: str, seed: int = 1) -> str:
    survey = Survey(
        "product",
        "",
        "cuda",
        TaskProfile({"aten.mm": 1}, dtype="float32"),
        None,
        None,
        None,
        {"precision": precision},
    )
    return write_prompt(AuthorRequest(1, Phase.SEED, survey, seed=seed, seeds=seed)).user


def test_products_are_worded_by_the_precision_of_the_baseline() -> None:
    allowed = '`input_precision="tf32"` is within the error budget'
    refused = '`input_precision="tf32"` fails the error budget'
    assert allowed in product_seed("tf32")
    assert refused not in product_seed("tf32")
    for precision in ("default", "ieee"):
        assert refused in product_seed(precision)
        assert allowed not in product_seed(precision)


def test_lessons_that_are_untrue_under_a_precision_are_left_out() -> None:
    assert "float32-on-tensor-cores" in product_seed("default")
    assert "float32-on-tensor-cores" not in product_seed("tf32")


def test_angles_keep_their_names_when_combined() -> None:
    combined = product_seed("default", seed=2 * 7).partition("Combine it with this: ")[2].split("\n")[0]
    assert combined.startswith("A tiled `tl.dot` kernel")


def test_kernels_that_wait_are_never_told_to_autotune() -> None:
    gru = requests()["seed_recurrent"]
    texts = [write_prompt(replace(gru, seed=seed, seeds=12)).user for seed in range(1, 13)]
    assert not any("@triton.autotune" in text.partition("## Your angle")[2].partition("## ")[0] for text in texts)
