"""Zip archives that are the same for the same files, and that are read without trust.

Refused are names that lead out of the folder or stand twice, damaged data, and archives that would fill the memory;
nothing is written to disk. Not looked at: who made the archive, and whether its files are the right ones.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from tilesmith.errors import RunError
from tilesmith.runs.atomic_files import replacing

MOST_FILES = 2_000
MOST_BYTES = 512 * 2**20
"""Of all files together, unpacked."""
_CHUNK_BYTES = 2**20
_BEGINNING_OF_TIME = (1980, 1, 1, 0, 0, 0)
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    struct.error,
    UnicodeDecodeError,
)
CURE = "get it again from whoever made it"


def write_archive(path: Path, files: Mapping[str, bytes]) -> None:
    """In one step; files by name, sorted, without dates."""
    if sum(map(len, files.values())) > MOST_BYTES or len(files) > MOST_FILES:
        raise RunError(
            f"{path}: would hold more than {MOST_BYTES >> 20} MiB or {MOST_FILES} files; nobody could read it"
        )
    try:
        with replacing(path) as beside, zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(files):
                entry = zipfile.ZipInfo(name, _BEGINNING_OF_TIME)
                entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
                archive.writestr(entry, files[name])
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}; see --out") from None


def read_archive(path: Path) -> dict[str, bytes]:
    """Every file by name. A RunError names the one that is at fault."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _refuse_names(path, entries)
            _refuse_sizes(path, entries)
            return {entry.filename: _read(path, archive, entry) for entry in entries}
    except FileNotFoundError:
        raise RunError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise RunError(f"{path}: is a folder; `tilesmith bundle RUN` makes a bundle of a run") from None
    except _DAMAGE as error:
        raise RunError(f"{path}: cannot be read as a zip archive: {error}; {CURE}") from None


def is_inside(name: str) -> bool:
    """Whether a name stays in the folder that it is unpacked to, on any system."""
    parts = name.split("/")
    return name.isprintable() and not set(name) & {"\\", ":"} and not set(parts) & {"", ".", ".."}


def _refuse_names(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    names = set()
    for entry in entries:
        name = entry.orig_filename
        if not is_inside(name):
            raise RunError(f"{path}: {name!r}: is no name of a file inside a bundle; {CURE}")
        if name in names:
            raise RunError(f"{path}: {name}: is there twice; {CURE}")
        names.add(name)


def _refuse_sizes(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > MOST_FILES:
        raise RunError(f"{path}: has {len(entries)} files, from {entries[MOST_FILES].filename} on too many; {CURE}")
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        largest = max(entries, key=lambda entry: entry.file_size)
        told = f"{largest.filename}: has {largest.file_size >> 20} MiB"
        raise RunError(f"{path}: {told}, and all files together may have {MOST_BYTES >> 20}; {CURE}")


def _read(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """No more than the size that the entry says: in pieces, because `read()` unpacks before it counts."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise RunError(f"{path}: {entry.filename}: is compressed in a way that no bundle is; {CURE}")
    try:
        with archive.open(entry) as file:
            return b"".join(iter(lambda: file.read(_CHUNK_BYTES), b""))
    except _DAMAGE as error:
        raise RunError(f"{path}: {entry.filename}: is damaged: {error}; {CURE}") from None
