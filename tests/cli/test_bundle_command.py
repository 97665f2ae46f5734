"""`tilesmith bundle` and `tilesmith replay` on a real run without a GPU, from one folder to another."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from sample_run import EVENTS, make_run
from test_bundles import files_of_archive, resealed
from warm_commands import run_warm

from tilesmith.records import Evaluation, from_json, to_json
from tilesmith.runs.bundling.archives import write_archive
from tilesmith.runs.bundling.claims import claim_of

RECORDED = Path(__file__).parents[2] / "benchmarks/results/2026-11-15-h200-forge-playbook.json"
MODEL = """
import torch
import torch.nn as nn

from .batches import make_batch


class Ramp(nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1.25


def get_inputs():
    return make_batch(2)
"""
BATCHES = "import torch\n\n\ndef make_batch(rows=64):\n    return [torch.randn(rows, 33)]\n"


def tilesmith(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TILESMITH_")}
    return run_warm(*words, cwd=cwd, env=kept)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made of a run whose task, a class in a package with inputs from another file, is gone by now."""
    home = tmp_path_factory.mktemp("maker")
    (home / "net").mkdir()
    for name, text in {"__init__": "", "model": MODEL, "batches": BATCHES}.items():
        (home / "net" / f"{name}.py").write_text(text)
    quick = ("--device", "cpu", "--effort", "quick", "--no-confirm", "--author", "playbook")
    forged = tilesmith("forge", "net/model.py:Ramp", "--inputs", "net.batches:make_batch", *quick, cwd=home)
    assert forged.returncode == 0, forged.stderr
    made = tilesmith("bundle", "last", "--json", cwd=home)
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    assert document["claim"]["verdict"] == "passed"
    assert {"task/net/batches.py", "task/net/__init__.py"} <= set(document["files"])
    shutil.rmtree(home / "net")
    return home / document["bundle"]


def test_its_claim_holds_in_another_folder(bundle: Path, tmp_path: Path) -> None:
    assert bundle.name.endswith("-Ramp-1.tilesmith.zip")
    shutil.copy(bundle, tmp_path / "claim.zip")
    done = tilesmith("replay", "claim.zip", "--seed", 3, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    first, claimed, here, judged, told = done.stdout.splitlines()
    assert first.startswith("claim.zip: all ")
    assert claimed.startswith("claimed  passed on CPU (Triton interpreter)")
    assert here.startswith("here     passed on CPU (Triton interpreter)")
    assert judged.startswith("judged   with seed 3, device cpu (usually auto)")
    assert told == "holds: the values are right here too, and no speed was claimed"
    assert [one.name for one in tmp_path.iterdir()] == ["claim.zip"], "nothing is left behind"


def test_a_speed_claimed_on_an_h200_is_not_repeatable_without_a_gpu(bundle: Path, tmp_path: Path) -> None:
    measured = json.loads(RECORDED.read_text())["results"][0]["confirmation"]
    files = files_of_archive(bundle)
    claimed = from_json(Evaluation, json.loads(files["evaluation.json"]) | {"timing": measured["timing"]})
    files["evaluation.json"] = (json.dumps(to_json(claimed), indent=2) + "\n").encode()
    claim = to_json(claim_of(claimed))
    write_archive(tmp_path / "claim.zip", resealed(files, lambda fields: fields.update(claim=claim)))
    done = tilesmith("replay", "claim.zip", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    *_, inputs, told = done.stdout.splitlines()
    assert inputs == "inputs   as they were where the claim was made, by their digests"
    assert told.startswith("the values are right here too; the speed, 2.08x eager (2.08 to 2.09), ")
    assert told.endswith(" is not repeatable: not timed: there is no GPU here")


def test_a_wrong_kernel_with_all_its_hashes_made_anew_fails(bundle: Path, tmp_path: Path) -> None:
    files = files_of_archive(bundle)
    for name in ("best.py", next(one for one in files if one.startswith("kernels/"))):
        assert b"relu + 1.25" in files[name]
        files[name] = files[name].replace(b"relu + 1.25", b"relu + 1.5")
    write_archive(tmp_path / "wrong.zip", resealed(files))
    done = tilesmith("replay", "wrong.zip", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert (done.returncode, document["outcome"]) == (1, "fails")
    assert document["evaluation"]["verdict"] == "wrong_values"
    assert document["told"].startswith("fails: wrong_values on CPU")
    assert document["claim"]["verdict"] == "passed"


def change_kernel(files: dict[str, bytes]) -> None:
    files["best.py"] += b"\n"


def lose_task(files: dict[str, bytes]) -> None:
    del files["task/net/batches.py"]


@pytest.mark.parametrize(
    ("change", "named"),
    [(change_kernel, "best.py: was changed"), (lose_task, "task/net/batches.py: is missing")],
)
def test_a_changed_bundle_is_refused_in_one_line(
    change: Callable[[dict[str, bytes]], None], named: str, bundle: Path, tmp_path: Path
) -> None:
    files = files_of_archive(bundle)
    change(files)
    write_archive(tmp_path / "changed.zip", files)
    done = tilesmith("replay", "changed.zip", "--json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"tilesmith: changed.zip: {named}")
    assert len(done.stderr.splitlines()) == 1
    assert named in json.loads(done.stdout)["error"]


def test_a_run_without_an_end_makes_no_bundle(tmp_path: Path) -> None:
    make_run(tmp_path / "runs", EVENTS[:8]).close()
    done = tilesmith("bundle", "last", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is interrupted, and only a finished run has a claim" in done.stderr
    assert not list(tmp_path.glob("*.zip"))


def test_a_report_that_is_missing_is_made_for_the_bundle(bundle: Path, tmp_path: Path) -> None:
    shutil.copytree(bundle.parent / "runs", tmp_path / "runs")
    (report,) = tmp_path.glob("runs/*/report.html")
    report.unlink()
    done = tilesmith("bundle", "last", "--out", "again.zip", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"Download best.py" in files_of_archive(tmp_path / "again.zip")["report.html"]


def test_the_page_in_a_bundle_has_no_dead_link(bundle: Path) -> None:
    page = files_of_archive(bundle)["report.html"].decode()
    links = re.findall(r'<a [^>]*href="([^"]+)"', page)
    assert any(one.startswith("data:text/x-python") for one in links)
    inside = [one for one in links if not one.startswith("data:")]
    assert [one for one in inside if f'id="{one.removeprefix("#")}"' not in page] == []
