"""Finds results that depend on the order in which programs run.

Per launch and storage, two lazily zeroed arrays hold who wrote and who read each element.
Reported: an element that one program changes and another reads, or to which two write
different values. Benign: the same value from several programs, a value written over itself,
a program's own reads and writes. Atomics (and volatile loads) order programs in ways this log
does not follow, so a launch that uses any is not judged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.kernel_faults import DataRace
from tilesmith.worker.engines.interpreter.memory.extents import MemoryRegion

_NOBODY, _SEVERAL, _FIRST_PROGRAM = 0, 1, 2


class StorageLog:
    """Who touched each element. Programs are held as number + 2; writers carry a bit for 'changed it'."""

    def __init__(self, nbytes: int, itemsize: int) -> None:
        count = nbytes // itemsize + 1
        self.itemsize = itemsize
        self.is_read = self.is_written = False
        self.writer: Any = np.zeros(count, np.int32)
        self.changed: Any = np.zeros(count, np.bool_)
        self.reader: Any = np.zeros(count, np.int32)


class RaceLog:
    """The accesses of one launch; the first conflict is kept and raised when the launch ends."""

    def __init__(self, active: bool) -> None:
        self.active = active
        self.conflict: DataRace | None = None
        self._storages: dict[int, StorageLog | None] = {}

    def stop(self) -> None:
        """An atomic ran: programs now order themselves, and nothing found before counts either."""
        self.active = False
        self.conflict = None
        self._storages.clear()

    def read(self, region: MemoryRegion, index: Any, dtype: Any) -> None:
        """A program reads these elements of a region."""
        located = self._locate(region, index, dtype)
        if located is None:
            return
        log, places = located
        me = state.launch().programs.current.number + _FIRST_PROGRAM
        if log.is_written:
            writers = log.writer[places]
            clash = (writers >= _FIRST_PROGRAM) & (writers != me) & log.changed[places]
            if clash.any():
                self._found(region, index, clash, writers, "is read here but written by")
                return
        readers = log.reader[places]
        log.is_read = True
        is_first = not readers.any()
        log.reader[places] = me if is_first else np.where((readers == _NOBODY) | (readers == me), me, _SEVERAL)

    def write(self, region: MemoryRegion, index: Any, dtype: Any, changes: Any) -> None:
        """A program is about to write these elements; `changes` says where the value differs."""
        located = self._locate(region, index, dtype)
        if located is None:
            return
        log, places = located
        me = state.launch().programs.current.number + _FIRST_PROGRAM
        if log.is_read:
            readers = log.reader[places]
            if (clash := changes & (readers != _NOBODY) & (readers != me)).any():
                self._found(region, index, clash, readers, "is written here but read by")
                return
        writers = log.writer[places]
        log.is_written = True
        if not writers.any():
            log.writer[places], log.changed[places] = me, changes
            return
        foreign = (writers != _NOBODY) & (writers != me)
        if (clash := changes & foreign).any():
            self._found(region, index, clash, writers, "is written here and, with another value, by")
            return
        log.writer[places] = np.where(foreign, _SEVERAL, me)
        log.changed[places] |= changes

    def disagreement(self, region: MemoryRegion, index: Any, lanes_lost: Any) -> None:
        """Two lanes of one store wrote different values to one element: either may win."""
        place = state.current_location()
        element = _element(region, index[lanes_lost][0])
        self.conflict = DataRace(
            f"race within one store: several lanes write different values to element {element} "
            f"of argument {region.name}",
            place,
        )
        self.active = False

    def _locate(self, region: MemoryRegion, index: Any, dtype: Any) -> tuple[StorageLog, Any] | None:
        if region.storage not in self._storages:
            reach = max(r.start + r.nbytes - region.storage for r in self._regions_of(region))
            sizes = {r.itemsize for r in self._regions_of(region)}
            self._storages[region.storage] = StorageLog(reach, sizes.pop()) if len(sizes) == 1 else None
        log = self._storages[region.storage]
        if log is None or log.itemsize != dtype.itemsize:
            return None  # one storage seen with several element sizes: not followed
        return log, index + (region.start - region.storage) // log.itemsize

    def _regions_of(self, region: MemoryRegion) -> list[MemoryRegion]:
        known = state.launch().memory.regions
        return [r for r in [region, *known] if r.storage == region.storage]

    def _found(self, region: MemoryRegion, index: Any, clash: Any, others: Any, relation: str) -> None:
        launch = state.launch()
        other = int(others[clash][0]) - _FIRST_PROGRAM
        named = f"program {launch.programs.index_of(other)}" if other >= 0 else "several other programs"
        element = _element(region, index[clash][0])
        self.conflict = DataRace(
            f"race between programs of one launch: element {element} of argument {region.name} "
            f"{relation} {named}; the result depends on their order",
            state.current_location(),
        )
        self.active = False


def _element(region: MemoryRegion, index: Any) -> int:
    return int(index) - (region.pointer - region.start) // region.itemsize
