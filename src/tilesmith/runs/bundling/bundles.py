"""A bundle: one archive with all that is needed to check the claim of a run on another machine.

bundle.json        the claim, how it was judged, and the sha256 of every file and of itself
evaluation.json    the verdict that is claimed, with its raw samples and its environment
best.py            the kernel as people get it; kernels/NNNN.py as its author wrote it
task.py, task/     the task and the user's own files that it imports
run.json, events.jsonl, report.html    the run, where it has them (the command makes a missing report first)

The hashes show damage. They are no signature: whoever changes a file can change them all, and is found out by the
judge, because a claim is believed only as far as it can be repeated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from tilesmith import __version__
from tilesmith.config import TARGETS, CheckConfig
from tilesmith.errors import RunError, UsageError
from tilesmith.records import Attempt, Evaluation, from_json, to_json
from tilesmith.runs.bundling.archives import CURE, is_inside, read_archive, write_archive
from tilesmith.runs.bundling.claims import Claim, claim_of
from tilesmith.runs.digest import text_digest
from tilesmith.runs.journal import read_events
from tilesmith.runs.listing import read_run, require_whole
from tilesmith.runs.manifest import Manifest, Status
from tilesmith.runs.summary import RunSummary, summarize
from tilesmith.tasks.user_code.task_name import TaskName

FORMAT_VERSION = 1
ENDING = ".tilesmith.zip"
MANIFEST, EVALUATION, BEST, TASK = "bundle.json", "evaluation.json", "best.py", "task.py"
_KEPT_IF_THERE = ("run.json", "events.jsonl", "report.html")


@dataclass(frozen=True)
class BundledTask:
    """How the task is named once it is unpacked."""

    file: str
    """Where its file has to lie under `task/`, so that its imports work."""
    target: str
    """That file, with `:NAME` where one was named; or MODULE:NAME."""
    inputs: str | None


@dataclass(frozen=True)
class BundleManifest:
    """bundle.json, without its own sha256."""

    run: str
    tilesmith: str
    kernel: str
    """The file of the winner as its author wrote it."""
    claim: Claim
    check: CheckConfig
    task: BundledTask
    environment: dict[str, Any]
    files: dict[str, str]
    """The sha256 of every other file."""
    format_version: int = FORMAT_VERSION


@dataclass(frozen=True)
class Bundle:
    """What was read of an archive, every byte as it was when it was made."""

    path: Path
    manifest: BundleManifest
    evaluation: Evaluation
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class UnpackedBundle:
    """What the judge is asked about."""

    task: TaskName
    best: Path
    kernel: Path


def make_bundle(run: Path, out: Path) -> Bundle:
    """Of a run that is finished and has a winner."""
    found = read_run(run)
    manifest = require_whole(found)
    if found.status != Status.FINISHED:
        to_do = "wait for its end" if found.status == Status.RUNNING else f"tilesmith forge --resume {run}"
        raise RunError(f"{run}: is {found.status}, and only a finished run has a claim; {to_do}")
    summary = summarize(read_events(run / "events.jsonl"))
    if summary.best is None:
        raise RunError(f"{run}: has no winner to make a bundle of: {manifest.why}")
    files = _files_of(run, manifest, summary, summary.best)
    evaluation = _claimed(summary, summary.best)
    files[EVALUATION] = _json_bytes(to_json(evaluation))
    head = BundleManifest(
        run=run.resolve().name,
        tilesmith=__version__,
        kernel=_kernel_name(summary.best),
        claim=claim_of(evaluation),
        check=_config_of(run, manifest, evaluation),
        task=_bundled_task(manifest),
        environment=evaluation.environment,
        files={name: _sha256(data) for name, data in sorted(files.items())},
    )
    write_archive(out, {**files, MANIFEST: _sealed(to_json(head))})
    return Bundle(out, head, evaluation, files)


def read_bundle(path: Path) -> Bundle:
    """Raises RunError, with the name of the file, where anything is not as it was when the bundle was made."""
    files = read_archive(path)
    data = files.pop(MANIFEST, None)
    if data is None:
        raise RunError(f"{path}: {MANIFEST}: is missing, so this is no bundle; `tilesmith bundle RUN` makes one")
    head = _read_head(path, data)
    for name in sorted({*head.files, *files}):
        if name not in files:
            raise RunError(f"{path}: {name}: is missing; {CURE}")
        if name not in head.files:
            raise RunError(f"{path}: {name}: does not belong to the bundle; {CURE}")
        if _sha256(files[name]) != head.files[name]:
            raise RunError(f"{path}: {name}: was changed: its sha256 is not the one in {MANIFEST}; {CURE}")
    for name in (EVALUATION, TASK, BEST, head.kernel):
        if name not in files:
            raise RunError(f"{path}: {name}: is missing; {CURE}")
    return Bundle(path, head, _read_evaluation(path, files[EVALUATION], head.claim), files)


def unpack(bundle: Bundle, folder: Path) -> UnpackedBundle:
    """Into an empty folder. The task's file goes to its place among the files that it imports."""
    task, own = bundle.manifest.task, folder / "task"
    try:
        for name, data in {**bundle.files, f"task/{task.file}": bundle.files[TASK]}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
    except OSError as error:
        raise RunError(
            f"{bundle.path}: cannot be unpacked to {folder}: {error.strerror}; TMPDIR says where"
        ) from None
    target = str(own / task.target) if task.target.startswith(task.file) else task.target
    named = TaskName(target, task.inputs, (str(own),))
    return UnpackedBundle(named, folder / BEST, folder / bundle.manifest.kernel)


def config_to_repeat(bundle: Bundle, seed: int | None = None) -> CheckConfig:
    """The configuration of the claim on this machine, whatever GPU it has."""
    check, claimed = bundle.manifest.check, bundle.evaluation
    capability = claimed.environment.get("capability")
    return replace(
        check,
        device="cpu" if check.device == "cpu" else "auto",
        target=capability if capability in TARGETS else check.target,
        seed=check.seed if seed is None else seed,
        timing=check.timing or claimed.timing is not None,
        speed_only=False,
    )


def _claimed(summary: RunSummary, best: Attempt) -> Evaluation:
    """What the run ended with: the confirmation where that is a whole check with times, else the first verdict."""
    confirmed = (one.evaluation for one in summary.confirmations if one.candidate == best.candidate.number)
    return next((one for one in confirmed if one.timing is not None), best.evaluation)


def _kernel_name(best: Attempt) -> str:
    return f"kernels/{best.candidate.number:04}.py"


def _files_of(run: Path, manifest: Manifest, summary: RunSummary, best: Attempt) -> dict[str, bytes]:
    """Those of the run's folder, if they are still what was judged."""
    files = {name: _file(run, name) for name in (TASK, BEST, _kernel_name(best))}
    files |= {f"task/{name}": _file(run, f"task/{name}") for name in manifest.own_files}
    files |= {name: _file(run, name) for name in _KEPT_IF_THERE if (run / name).is_file()}
    texts = {_kernel_name(best): best.candidate.source} | ({TASK: summary.survey.source} if summary.survey else {})
    digests = {name: text_digest(text) for name, text in texts.items()}
    digests |= {f"task/{name}": digest for name, digest in manifest.own_files.items()}
    changed = [name for name, digest in digests.items() if _sha256(files[name]) != digest]
    is_best = best.candidate.source.rstrip().encode() in files[BEST]
    is_best &= manifest.best_sha256 in ("", _sha256(files[BEST]))
    changed += [] if is_best else [BEST]
    if changed:
        raise RunError(f"{run / changed[0]}: is not what was judged; put it back, or forge again")
    return files


def _file(run: Path, name: str) -> bytes:
    try:
        return (run / name).read_bytes()
    except OSError as error:
        raise RunError(f"{run / name}: cannot be read: {error.strerror}; the bundle needs it") from None


def _config_of(run: Path, manifest: Manifest, claimed: Evaluation) -> CheckConfig:
    try:
        check = from_json(CheckConfig, manifest.configuration["check"])
    except (KeyError, ValueError, UsageError) as error:
        raise RunError(f"{run / 'run.json'}: its configuration is damaged: {error}") from None
    return replace(check, seed=int(claimed.environment.get("seed", check.seed)))


def _bundled_task(manifest: Manifest) -> BundledTask:
    named = manifest.task_name or TaskName(manifest.task_path)
    path = PurePosixPath(manifest.task_path)
    before, _, name = named.target.rpartition(":")
    if before and not PurePosixPath(named.target).is_absolute():
        file = before.replace(".", "/") + ("/__init__.py" if path.name == "__init__.py" else ".py")
        return BundledTask(file, named.target, named.inputs)
    file = _place_in_package(path, manifest.own_files)
    return BundledTask(file, f"{file}:{name}" if before and name.isidentifier() else file, named.inputs)


def _place_in_package(path: PurePosixPath, own_files: Mapping[str, str]) -> str:
    """The file's path from the folder of its outermost package; all of its packages are among its own imports."""
    for depth in range(len(path.parts) - 1, 1, -1):
        place = PurePosixPath(*path.parts[-depth:])
        known = {*own_files, str(place)}
        if all(str(folder / "__init__.py") in known for folder in list(place.parents)[:-1]):
            return str(place)
    return path.name


def _read_head(path: Path, data: bytes) -> BundleManifest:
    try:
        fields = json.loads(data)
        version = int(fields["format_version"])
        if version > FORMAT_VERSION:
            raise RunError(f"{path}: {MANIFEST}: written by a newer tilesmith (format {version}); update tilesmith")
        if data != _sealed(fields):
            raise RunError(f"{path}: {MANIFEST}: was changed: its sha256 is not the one in it; {CURE}")
        head = from_json(BundleManifest, fields)
        outside = [
            name for name in (*head.files, head.task.file, head.task.target.split(":")[0]) if not is_inside(name)
        ]
        if outside:
            raise RunError(f"{path}: {MANIFEST}: names {outside[0]!r}, which is no file inside a bundle; {CURE}")
        return head
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError, UsageError) as error:
        raise RunError(f"{path}: {MANIFEST}: is damaged: {error}; {CURE}") from None


def _read_evaluation(path: Path, data: bytes, claim: Claim) -> Evaluation:
    try:
        evaluation = from_json(Evaluation, json.loads(data))
        is_claimed = _json_bytes(to_json(claim_of(evaluation))) == _json_bytes(to_json(claim))
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path}: {EVALUATION}: is damaged: {error}; {CURE}") from None
    if not is_claimed or not evaluation.passed:
        raise RunError(f"{path}: {EVALUATION}: is not what {MANIFEST} claims; {CURE}")
    return evaluation


def _sealed(fields: dict[str, Any]) -> bytes:
    """bundle.json with the sha256 over all the rest of it; there is one way to write it."""
    rest = {name: value for name, value in fields.items() if name != "sha256"}
    return _json_bytes({**rest, "sha256": _sha256(_json_bytes(rest))})


def _json_bytes(fields: dict[str, Any]) -> bytes:
    return (json.dumps(fields, indent=2) + "\n").encode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
