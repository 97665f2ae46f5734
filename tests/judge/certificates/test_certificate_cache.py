"""Certificates on disk: a cache that is never trusted further than it can be read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tilesmith.config import CheckConfig
from tilesmith.judge.certificates.cache import certificate_key, read_certificate, write_certificate
from tilesmith.process.protocol.reference import Environment
from tilesmith.records import Certificate, Outcome, Trial, from_json, to_json
from tilesmith.tasks.roofline import TaskProfile
from tilesmith.tasks.source import parse_task

CERTIFICATE = Certificate(
    "softmax", "0123abcd", "cpu", "shrunk", (Trial("zeros", Outcome.KILLED, "own", "relative error 1"),), ("large",)
)


def test_a_certificate_survives_json_and_the_disk(own_cache: Path) -> None:
    assert from_json(Certificate, json.loads(json.dumps(to_json(CERTIFICATE)))) == CERTIFICATE
    assert read_certificate(CERTIFICATE.key) is None
    write_certificate(CERTIFICATE)
    assert read_certificate(CERTIFICATE.key) == CERTIFICATE
    assert [path.name for path in own_cache.iterdir()] == [f"{CERTIFICATE.key}.json"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "\0",
        "{}",
        '{"trials": 3}',
        json.dumps(to_json(CERTIFICATE) | {"key": "another"}),
        json.dumps(to_json(CERTIFICATE) | {"format_version": 99}),
        json.dumps(to_json(CERTIFICATE) | {"extra_draws": ["unheard of"]}),
        json.dumps(to_json(CERTIFICATE) | {"trials": [{"cheat": "zeros"}]}),
        json.dumps(
            to_json(CERTIFICATE) | {"trials": [{"cheat": "zeros", "outcome": "loved", "by": "", "detail": ""}]}
        ),
    ],
)
def test_a_damaged_or_foreign_file_is_as_good_as_none(own_cache: Path, text: str) -> None:
    own_cache.mkdir(parents=True)
    (own_cache / f"{CERTIFICATE.key}.json").write_text(text)
    assert read_certificate(CERTIFICATE.key) is None
    write_certificate(CERTIFICATE)
    assert read_certificate(CERTIFICATE.key) == CERTIFICATE


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    write_certificate(CERTIFICATE)
    assert read_certificate(CERTIFICATE.key) is None


def test_what_a_failing_machine_left_untried_is_not_kept(own_cache: Path) -> None:
    failed = Trial("zeros", Outcome.UNTRIED, None, "the reference ended")
    write_certificate(Certificate("softmax", "ff", "cpu", "shrunk", (failed,)))
    assert not own_cache.exists()


@pytest.mark.parametrize("change", [{"k": 3.0}, {"precision": "ieee"}, {"seed": 1}])
def test_another_budget_is_another_certificate(change: dict[str, Any]) -> None:
    task = parse_task(Path("task.py"), "class Model: pass\ndef get_inputs(): return []\n")

    def key(config: CheckConfig, device: str = "cpu", **other: str) -> str:
        reference = SimpleNamespace(
            environment=Environment("0", "3", "2", "3", "CPU"),
            profile=TaskProfile(bytes_moved=3),
            plans={},
            k=config.k or 2.0,
        )
        return certificate_key(replace(task, **other), reference, config, device)  # type: ignore[arg-type]

    usual = key(CheckConfig())
    assert key(CheckConfig(**change)) != usual
    assert key(CheckConfig(timeout_s=3)) == usual
    assert key(CheckConfig(), "cuda") != usual
    names = {"model_name": "Net", "inputs_name": "make", "init_name": "args", "own_digest": "ab", "mode": "eval"}
    others = {key(CheckConfig(), **{field: value}) for field, value in names.items()}
    assert len(others | {usual}) == len(names) + 1
