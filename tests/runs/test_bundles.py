"""Bundles as archives: the same for the same run, and refused with a name when anything in them is another."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sample_run import EVENTS, SURVEY, evaluation, make_run, manifest

from tilesmith.config import CheckConfig
from tilesmith.errors import RunError
from tilesmith.records import Event, FinishedEvent, SurveyEvent, Verdict, to_json
from tilesmith.runs import Manifest, Status
from tilesmith.runs.bundling import archives
from tilesmith.runs.bundling.bundles import Bundle, config_to_repeat, make_bundle, read_bundle, unpack
from tilesmith.runs.digest import text_digest
from tilesmith.runs.summary import summarize
from tilesmith.tasks.source import read_task
from tilesmith.tasks.user_code.task_name import TaskName

MEMBERS = (
    *("best.py", "bundle.json", "evaluation.json", "events.jsonl", "kernels/0004.py", "report.html", "run.json"),
    *("task.py", "task/layers.py"),
)


def head(**more: object) -> Manifest:
    configuration = {"check": to_json(CheckConfig(seed=5, device="cuda"))}
    return replace(manifest(), configuration=configuration, **more)  # type: ignore[arg-type]


def finished_run(parent: Path, head: Manifest, events: tuple[Event, ...] = EVENTS) -> Path:
    run = make_run(parent, events, head)
    for name in head.own_files:
        (run.path / "task" / name).parent.mkdir(parents=True, exist_ok=True)
        (run.path / "task" / name).write_text("")
    best = summarize(events).best
    if best is not None:
        run.write_best(best, "right")
    run.set_status(Status.FINISHED, "done")
    run.close()
    return run.path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = finished_run(tmp_path_factory.mktemp("runs"), head(own_files={"layers.py": text_digest("")}))
    (path / "report.html").write_text("<!doctype html>")
    return path


@pytest.fixture(scope="module")
def bundle(run: Path) -> Bundle:
    return make_bundle(run, run.parent / "claim.tilesmith.zip")


def files_of_archive(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def files_of(bundle: Bundle) -> dict[str, bytes]:
    return files_of_archive(bundle.path)


def rewritten(files: dict[str, bytes], path: Path) -> Path:
    archives.write_archive(path, files)
    return path


def resealed(files: dict[str, bytes], change: Callable[[dict], None] = lambda _: None) -> dict[str, bytes]:
    """With every hash as it would be if the files had been bundled like that."""
    fields = json.loads(files["bundle.json"])
    fields["files"] = {
        name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "bundle.json"
    }
    change(fields)
    del fields["sha256"]
    digest = hashlib.sha256((json.dumps(fields, indent=2) + "\n").encode()).hexdigest()
    return {**files, "bundle.json": (json.dumps({**fields, "sha256": digest}, indent=2) + "\n").encode()}


def test_it_holds_the_claim_and_everything_it_rests_on(bundle: Bundle) -> None:
    assert tuple(sorted(files_of(bundle))) == MEMBERS
    read = read_bundle(bundle.path)
    assert (read.manifest, read.evaluation) == (bundle.manifest, bundle.evaluation)
    assert read.evaluation == evaluation(Verdict.PASSED, 1.36), "the confirmation, not the first verdict"
    assert read.manifest.claim.speedup["eager"].value == 1.36
    assert (read.manifest.kernel, read.manifest.check.seed) == ("kernels/0004.py", 5)


def test_the_same_run_gives_the_same_bytes(run: Path, bundle: Bundle, tmp_path: Path) -> None:
    again = make_bundle(run, tmp_path / "again.zip")
    assert again.path.read_bytes() == bundle.path.read_bytes()


def test_it_is_judged_as_before_on_whatever_is_here(bundle: Bundle) -> None:
    assert config_to_repeat(bundle) == CheckConfig(seed=5, device="auto")
    assert config_to_repeat(bundle, seed=9).seed == 9
    lenient = replace(bundle.manifest.check, speed_only=True, timing=False, device="cpu")
    weak = replace(bundle, manifest=replace(bundle.manifest, check=lenient))
    assert config_to_repeat(weak) == CheckConfig(seed=5, device="cpu"), (
        "a claim of speed is timed, and not only that"
    )
    ampere = replace(bundle, evaluation=replace(bundle.evaluation, environment={"capability": "sm_80"}))
    assert config_to_repeat(ampere).target == "sm_80"


# What is refused


@pytest.mark.parametrize("name", MEMBERS)
def test_a_changed_byte_is_refused_by_name(name: str, bundle: Bundle, tmp_path: Path) -> None:
    files = files_of(bundle)
    for place in (0, len(files[name]) // 2, -1) if files[name] else ():
        changed = bytearray(files[name])
        changed[place] ^= 1
        with pytest.raises(RunError, match=f": {name}: (was changed|is damaged)"):
            read_bundle(rewritten({**files, name: bytes(changed)}, tmp_path / "changed.zip"))
    with pytest.raises(RunError, match=f": {name}: (was changed|is damaged)"):
        read_bundle(rewritten({**files, name: files[name] + b" "}, tmp_path / "longer.zip"))
    with pytest.raises(RunError, match=f": {name}: is missing"):
        read_bundle(rewritten({one: files[one] for one in files if one != name}, tmp_path / "less.zip"))


@pytest.mark.parametrize("name", [name for name in MEMBERS if name != "task/layers.py"])
def test_a_changed_byte_of_the_archive_is_refused_by_name(name: str, bundle: Bundle, tmp_path: Path) -> None:
    data = bytearray(bundle.path.read_bytes())
    with zipfile.ZipFile(bundle.path) as archive:
        entry = archive.getinfo(name)
    data[entry.header_offset + 30 + len(name) + entry.compress_size // 2] ^= 1
    (tmp_path / "changed.zip").write_bytes(data)
    with pytest.raises(RunError, match=f": {name}: "):
        read_bundle(tmp_path / "changed.zip")


def test_a_changed_byte_of_a_name_is_refused(bundle: Bundle, tmp_path: Path) -> None:
    name = "task/größe.py"
    data = rewritten({**files_of(bundle), name: b""}, tmp_path / "named.zip").read_bytes()
    before, header, directory = data.split(name.encode())
    for names in (
        (b"task/\xff" + name.encode()[6:], name.encode()),
        (name.encode(), b"task/\xff" + name.encode()[6:]),
    ):
        (tmp_path / "changed.zip").write_bytes(before + names[0] + header + names[1] + directory)
        with pytest.raises(RunError, match=r"changed\.zip: .*utf-8.*get it again"):
            read_bundle(tmp_path / "changed.zip")


def test_a_kernel_changed_with_its_hash_is_refused_by_the_hash_of_hashes(bundle: Bundle, tmp_path: Path) -> None:
    files = files_of(bundle) | {"best.py": b"class ModelNew: ...\n"}
    old, new = (hashlib.sha256(one["best.py"]).hexdigest().encode() for one in (files_of(bundle), files))
    files["bundle.json"] = files["bundle.json"].replace(old, new)
    with pytest.raises(RunError, match=r": bundle\.json: was changed"):
        read_bundle(rewritten(files, tmp_path / "changed.zip"))


@pytest.mark.parametrize("name", ["more.py", "task/more.py", "bundle.json.bak"])
def test_an_extra_file_is_refused_by_name(name: str, bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=f": {name}: does not belong"):
        read_bundle(rewritten({**files_of(bundle), name: b""}, tmp_path / "more.zip"))


@pytest.mark.parametrize(
    "name", ["../a.py", "/a.py", "task/../../a.py", "a\\..\\b", "C:a", "task/", "./a", "a\x1b[2J"]
)
def test_a_name_that_leads_out_is_refused(name: str, bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is no name of a file inside a bundle") as refused:
        read_bundle(rewritten({**files_of(bundle), name: b""}, tmp_path / "out.zip"))
    assert repr(name) in str(refused.value)


def test_a_name_that_is_there_twice_is_refused(bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "twice.zip").write_bytes(bundle.path.read_bytes())
    with zipfile.ZipFile(tmp_path / "twice.zip", "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("best.py", "")
    with pytest.raises(RunError, match=r": best\.py: is there twice"):
        read_bundle(tmp_path / "twice.zip")


def test_an_archive_that_would_fill_the_memory_is_refused(bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "bomb.zip").write_bytes(bundle.path.read_bytes())
    with (
        zipfile.ZipFile(tmp_path / "bomb.zip", "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("task/zeros.py", "w") as file,
    ):
        for _ in range(archives.MOST_BYTES // 2**24 + 1):
            file.write(bytes(2**24))
    assert (tmp_path / "bomb.zip").stat().st_size < 2**20
    with pytest.raises(RunError, match=r": task/zeros\.py: has 528 MiB"):
        read_bundle(tmp_path / "bomb.zip")


def test_an_archive_that_lies_about_a_size_is_refused(bundle: Bundle, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle.path) as archive:
        size = archive.getinfo("events.jsonl").file_size.to_bytes(4, "little")
    (tmp_path / "lie.zip").write_bytes(bundle.path.read_bytes().replace(size, (9).to_bytes(4, "little")))
    with pytest.raises(RunError, match=r": events\.jsonl: is damaged: Bad CRC"):
        read_bundle(tmp_path / "lie.zip")


def test_too_many_files_are_refused(bundle: Bundle, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(archives.MOST_FILES + 1):
            archive.writestr(f"{number}.py", "")
    with pytest.raises(RunError, match=r"has 2001 files, from 2000\.py on"):
        read_bundle(tmp_path / "many.zip")


def test_what_is_no_bundle_is_refused(bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("no zip")
    with pytest.raises(RunError, match=r"text\.zip: cannot be read as a zip archive"):
        read_bundle(tmp_path / "text.zip")
    with pytest.raises(RunError, match="no such file"):
        read_bundle(tmp_path / "none.zip")
    with pytest.raises(RunError, match="is a folder"):
        read_bundle(tmp_path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda fields: fields.update(format_version=99), r"bundle\.json: written by a newer tilesmith"),
        (lambda fields: fields["check"].update(precision="loose"), r"bundle\.json: is damaged: unknown precision"),
        (lambda fields: fields["task"].update(target="../../task.py"), r"bundle\.json: names '\.\./\.\./task\.py'"),
        (lambda fields: fields["task"].update(file="/tmp/task.py"), r"bundle\.json: names '/tmp/task\.py'"),
        (lambda fields: fields.update(kernel="kernels/0009.py"), r"kernels/0009\.py: is missing"),
        (lambda fields: fields.pop("claim"), r"bundle\.json: is damaged"),
        (
            lambda fields: fields["claim"]["speedup"]["eager"].update(value=9.0),
            r"evaluation\.json: is not what bundle\.json claims",
        ),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused_though_its_hashes_fit(
    change: Callable[[dict], None], problem: str, bundle: Bundle, tmp_path: Path
) -> None:
    with pytest.raises(RunError, match=problem):
        read_bundle(rewritten(resealed(files_of(bundle), change), tmp_path / "resealed.zip"))


def test_resealing_alone_changes_nothing(bundle: Bundle, tmp_path: Path) -> None:
    assert rewritten(resealed(files_of(bundle)), tmp_path / "a.zip").read_bytes() == bundle.path.read_bytes()


# Runs without a claim


def test_a_run_that_goes_on_or_has_no_winner_has_no_bundle(tmp_path: Path) -> None:
    stopped = make_run(tmp_path, EVENTS[:-1], head())
    stopped.set_status(Status.STOPPED, "no network")
    stopped.close()
    with pytest.raises(RunError, match="is stopped, and only a finished run has a claim; tilesmith forge --resume"):
        make_bundle(stopped.path, tmp_path / "a.zip")
    lost = finished_run(tmp_path, head(), (*EVENTS[:5], FinishedEvent(None, None, None, "no kernel passed, of 1")))
    with pytest.raises(RunError, match="has no winner to make a bundle of: done"):
        make_bundle(lost, tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()


def test_code_added_to_best_is_found(tmp_path: Path) -> None:
    path = finished_run(tmp_path, head())
    (path / "best.py").write_text((path / "best.py").read_text() + "import os\n")
    with pytest.raises(RunError, match=r"best\.py: is not what was judged"):
        make_bundle(path, tmp_path / "a.zip")


@pytest.mark.parametrize("name", ["task.py", "best.py", "kernels/0004.py", "task/layers.py"])
def test_a_run_whose_files_were_changed_has_no_bundle(name: str, tmp_path: Path) -> None:
    path = finished_run(tmp_path, head(own_files={"layers.py": text_digest("")}))
    (path / name).write_text("# another\n")
    with pytest.raises(RunError, match=f"{name}: is not what was judged"):
        make_bundle(path, tmp_path / "a.zip")
    (path / name).unlink()
    with pytest.raises(RunError, match=f"{name}: cannot be read"):
        make_bundle(path, tmp_path / "a.zip")


def test_a_place_that_cannot_be_written_is_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"a\.zip: cannot be written: No such file or directory; see --out"):
        make_bundle(run, tmp_path / "none" / "a.zip")


# The task finds what it imports

PACKAGES = {name: text_digest("") for name in ("net/__init__.py", "net/blocks/__init__.py", "net/blocks/norm.py")}


@pytest.mark.parametrize(
    ("task", "path", "own_files", "found"),
    [
        (TaskName("/home/a/relu.py"), "/home/a/relu.py", {}, "relu.py"),
        (TaskName("/home/net/relu.py:Model"), "/home/net/relu.py", {"b.py": text_digest("")}, "relu.py"),
        (None, "/a/net/blocks/relu.py", PACKAGES, "net/blocks/relu.py"),
        (TaskName("/a/net/relu.py:Model", "get_inputs"), "/a/net/relu.py", PACKAGES, "net/relu.py"),
        (TaskName("net.blocks.relu:Model"), "/a/net/blocks/relu.py", PACKAGES, "net/blocks/relu.py"),
        (TaskName("space.relu:Model"), "/a/space/relu.py", {}, "space/relu.py"),
        (TaskName("net.heads:Model"), "/a/net/heads/__init__.py", PACKAGES, "net/heads/__init__.py"),
    ],
)
def test_its_file_lies_where_its_imports_work(
    task: TaskName | None, path: str, own_files: dict[str, str], found: str, tmp_path: Path
) -> None:
    text = "import torch\n\nclass Model(torch.nn.Module): ...\n\ndef get_inputs(): return []\n"
    given = head(task_name=task, task_path=path, own_files=own_files)
    surveyed = SurveyEvent(replace(SURVEY, source=text))
    run = finished_run(tmp_path / "runs", given, (surveyed, *EVENTS[1:]))
    (run / "task.py").write_text(text)
    unpacked = unpack(make_bundle(run, tmp_path / "a.zip"), tmp_path / "unpacked")
    read = read_task(unpacked.task)
    place = (tmp_path / "unpacked/task").resolve()
    assert (read.path.resolve(), read.model_text, read.model_name) == (place / found, text, "Model")
    assert read.file.root.resolve() == place, "where its packages are looked for"
    assert unpacked.kernel.read_text() == "# kernel 4\n"
