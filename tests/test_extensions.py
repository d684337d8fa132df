"""Entry points are looked for once, and again when a package has come."""

import os
from pathlib import Path

import pytest

from fuse_dialect import extensions


def test_a_package_that_comes_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    group = "fuse_dialect.of_this_test"
    assert extensions.added(group) == {}
    info = tmp_path / "new-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: new\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\nnew = new_package:THING\n")
    os.utime(tmp_path, ns=(0, 1))  # two changes may have one time where a clock is coarse
    assert {name: point.value for name, point in extensions.added(group).items()} == {"new": "new_package:THING"}


def test_packages_are_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    extensions.added("fuse_dialect.backends")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: pytest.fail("looked again"))
    extensions.added("fuse_dialect.backends")


@pytest.mark.parametrize("path", ["gone", "archive.zip/inside", "\0"])
def test_paths_that_are_no_folders_are_no_error(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [path])
    assert extensions.folders_of_packages() == ((path, 0),)
