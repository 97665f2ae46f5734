"""The gates on a GPU: values at the exact shape between guard pads, then timing alone, then other shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tilesmith.errors import MachineError
from tilesmith.judge.decisions.cheat_checks import answer_without_launches, refuse_idle, refuse_unjoined_streams
from tilesmith.judge.decisions.task_roofline import floor_on, gpu_at_hand
from tilesmith.judge.draws import DRAWS, FEW_DRAWS
from tilesmith.judge.examination import Examination
from tilesmith.judge.gates.other_shapes import generality
from tilesmith.judge.gates.sanitizer import sanitize
from tilesmith.judge.gates.timing import TimingRounds
from tilesmith.judge.gates.values import Values
from tilesmith.judge.machine.gpu_lock import GpuLock
from tilesmith.judge.reference.references import is_large
from tilesmith.judge.sessions import CandidateSession, Failed, ReferenceSession
from tilesmith.process import folders
from tilesmith.process.fork_server_client import Spawn
from tilesmith.records import KernelResources, Verdict

_VALUES_S = 120.0
_BELIEVABLE = 0.7
"""A median below this share of the memory-bound floor is not believed."""


def examine_on_gpu(exam: Examination, reference: ReferenceSession, spawn: Spawn) -> None:
    """Out of memory is retried once with the reference's memory given back: only then is it the candidate's."""
    try:
        _examine(exam, reference, spawn)
    except Failed as failed:
        if failed.verdict is not Verdict.OUT_OF_MEMORY:
            raise
        reference.ask("release")
        _examine(exam, reference, spawn)


def _examine(exam: Examination, reference: ReferenceSession, spawn: Spawn) -> None:
    lock = GpuLock()
    exam.roofline = floor_on(reference.profile, gpu_at_hand(exam.environment))
    candidate = CandidateSession(spawn("native", "candidate"), exam.config.timeout_s)
    exam.environment |= candidate.sandbox
    large = is_large(reference)
    values = Values(candidate, reference, exam.config, "cuda", lock.shared, explains=not large)
    try:
        with exam.gate("compile"):
            ghost = _compile_ahead(exam, reference, spawn, candidate.folder, lock)
        with exam.gate("load"):
            candidate.ask("load", **exam.load_request())
            values.construct("exact")
        with exam.gate("values"):
            report = values.check(
                "exact", _VALUES_S, exam.with_extra(FEW_DRAWS if large else DRAWS), watched=not large
            )
            exam.errors = report.errors
            exam.notes += report.notes
            refuse_idle(report.launches)
            if ghost is not None:
                raise ghost
        with exam.gate("determinism"):
            exam.launches = len(values.check_again("exact"))
        with exam.gate("resources"), lock.shared():
            _inspect(exam, reference, candidate)
        if exam.config.sanitize:
            with exam.gate("sanitizer"), lock.shared():
                sanitize(exam, reference, spawn)
        if exam.config.timing:
            with exam.gate("timing"):
                _time(exam, reference, candidate, lock)
        with exam.gate("other shapes"):  # last: a crash there must not cost what is known by now
            exam.generality = generality(exam, reference, values, _VALUES_S, watched=large)
    finally:
        candidate.close()


def _compile_ahead(
    exam: Examination, reference: ReferenceSession, spawn: Spawn, folder: Path, lock: GpuLock
) -> Failed | None:
    """Compile in a throwaway child, without the lock, and hand its cache over: launches are left out there, so
    whatever the kernel's host code makes of that must not stay. A failure here shows again in the first run.

    The same child then answers as a ghost, without any launch; returned is what to say if that is right.
    """
    ahead = CandidateSession(spawn("native", "candidate"), exam.config.timeout_s)
    try:
        ahead.ask("load", **exam.load_request())
        ahead.ask("construct", variant="exact", construction=reference.construction("exact"))
        ahead.ask("compile_ahead", variant="exact", inputs=reference.inputs("exact", "own"))
        return answer_without_launches(
            ahead, reference, exam.config, "exact", exam.with_extra(FEW_DRAWS), lock.shared
        ).accusation
    except (Failed, MachineError) as error:
        return error if isinstance(error, Failed) and error.verdict is Verdict.CHEATING else None
    finally:
        ahead.end()
        folders.copy_plain_files(ahead.folder / "triton", folder / "triton")
        ahead.close()


def _inspect(exam: Examination, reference: ReferenceSession, candidate: CandidateSession) -> None:
    seen = candidate.ask("inspect", variant="exact", inputs=reference.inputs("exact", "own"))
    exam.resources = tuple(KernelResources(**one) for one in seen["resources"])
    exam.triton_time_share = seen["triton_time_share"]
    refuse_unjoined_streams(seen["unjoined"])


def _time(exam: Examination, reference: ReferenceSession, candidate: CandidateSession, lock: GpuLock) -> None:
    race = TimingRounds(candidate, reference, exam.config)
    race.build_baselines()
    with lock.shared():
        race.warm_up()
    with lock.alone():
        timing = race.run(str(exam.environment["device"]))
    with lock.shared():
        race.check_timed_outputs()
        _refuse_impossible(timing.candidate_ms.p50, reference, exam.environment)
    exam.timing = timing
    exam.notes += timing.notes


def _refuse_impossible(median_ms: float, reference: ReferenceSession, environment: dict[str, Any]) -> None:
    """Nobody reads the inputs and writes the outputs faster than the memory allows."""
    gpu = gpu_at_hand(environment)
    if gpu is None:
        return
    moved = reference.ask("floor")["bytes"] - int(environment.get("l2_bytes") or 0)
    floor_ms = moved / (gpu.memory_gb_per_s * 1e9) * 1e3
    if median_ms < _BELIEVABLE * floor_ms:
        raise Failed(
            Verdict.CHEATING,
            f"{median_ms:.4f} ms is faster than {gpu.name} can move the {moved / 1e6:.0f} MB this task must move "
            f"({floor_ms:.4f} ms): the work is not done, or not inside the timed call",
        )
