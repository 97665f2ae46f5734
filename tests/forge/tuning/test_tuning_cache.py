"""Winners are kept for one machine and one version, and whatever cannot be read is as good as none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from written_parts import part, tuning

from tilesmith.forge.tuning.cache import TuningCache
from tilesmith.playbook.recipe import Tuning
from tilesmith.records import Survey, TaskProfile

PART = part("a", 16, 32)
ENVIRONMENT = {"device": "H200", "capability": "sm_90", "torch": "2.11", "triton": "3.6", "precision": "default"}


def survey(**changed: str) -> Survey:
    return Survey("task", "", "cuda", TaskProfile({}), None, None, None, ENVIRONMENT | changed)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tilesmith" / "tunings"


def test_what_is_written_is_read_again(folder: Path) -> None:
    choices = (tuning(A_BLOCK=32), Tuning(()), tuning(A_BLOCK=16))
    TuningCache(survey()).write(PART, choices)
    assert TuningCache(survey()).read(PART) == choices
    assert [file.suffix for file in folder.iterdir()] == [".json"]


def test_the_same_kernel_is_known_under_other_names(folder: Path) -> None:
    TuningCache(survey()).write(PART, (tuning(A_BLOCK=32),))
    other = replace(part("b", 16, 32), key=PART.key)
    assert TuningCache(survey()).read(other) == (tuning(B_BLOCK=32),)


@pytest.mark.parametrize("name", ENVIRONMENT)
def test_another_machine_or_version_is_tuned_anew(folder: Path, name: str) -> None:
    TuningCache(survey()).write(PART, PART.choices)
    assert TuningCache(survey(**{name: "another"})).read(PART) == ()


def test_what_the_recipe_would_write_otherwise_is_tuned_anew(folder: Path) -> None:
    TuningCache(survey()).write(PART, PART.choices)
    assert TuningCache(survey()).read(replace(PART, key="another")) == ()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"format": 1}', '{"format": 1, "key": "?", "choices": [{"BLOCK": 32}]}', "\udcff"],
)
def test_a_damaged_file_is_as_good_as_none(folder: Path, text: str) -> None:
    TuningCache(survey()).write(PART, PART.choices)
    (file,) = folder.iterdir()
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert TuningCache(survey()).read(PART) == ()


@pytest.mark.parametrize("choice", [{"BLOCK": "32"}, {"BLOCK": 0}, {"BLOCK": True}, {"WARPS": 4}, 7])
def test_constants_of_another_kind_are_not_taken(folder: Path, choice: object) -> None:
    TuningCache(survey()).write(PART, PART.choices)
    (file,) = folder.iterdir()
    file.write_text(json.dumps(json.loads(file.read_text()) | {"choices": [choice]}))
    assert TuningCache(survey()).read(PART) == ()


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    TuningCache(survey()).write(PART, PART.choices)
    assert TuningCache(survey()).read(PART) == ()
