"""Folders that somebody hostile has filled: copied without being believed, and removed whatever is in them."""

from __future__ import annotations

import os
from pathlib import Path

from tilesmith.process import folders


def test_only_plain_files_are_copied(tmp_path: Path) -> None:
    secret, cache = tmp_path / "secret", tmp_path / "cache"
    secret.write_text("secret")
    (cache / "below").mkdir(parents=True)
    (cache / "below" / "kernel.cubin").write_text("code")
    (cache / "link").symlink_to(secret)
    (cache / "folder").symlink_to(tmp_path)
    os.mkfifo(cache / "pipe")
    folders.copy_plain_files(cache, tmp_path / "copy")
    copied = sorted(str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*"))
    assert copied == ["below", "below/kernel.cubin"]


def test_what_is_not_there_is_not_copied(tmp_path: Path) -> None:
    folders.copy_plain_files(tmp_path / "nothing", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_rights_taken_away_do_not_keep_a_folder(tmp_path: Path) -> None:
    shut = tmp_path / "own" / "shut"
    (shut / "below").mkdir(parents=True)
    shut.chmod(0)
    folders.remove(tmp_path / "own")
    assert not (tmp_path / "own").exists()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "own" / "link").symlink_to(tmp_path / "kept")
    folders.remove(tmp_path / "own")
    assert (tmp_path / "kept").read_text() == "kept"
    assert not (tmp_path / "own").exists()
