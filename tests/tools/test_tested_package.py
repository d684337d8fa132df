"""Tests that would run another tree's package say so instead of passing or failing for it."""

from pathlib import Path

import pytest
from checking.tested_package import complaint


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for root in ("tree", "copy"):
        (tmp_path / root / "fuse_dialect" / "dialect").mkdir(parents=True)
        (tmp_path / root / "fuse_dialect" / "dialect" / "op.py").write_text("kind = 1\n")
    return tmp_path / "tree"


@pytest.fixture
def copy(tree: Path) -> Path:
    return tree.parent / "copy" / "fuse_dialect"


def test_tree_itself_is_fine(tree: Path):
    assert complaint(tree / "fuse_dialect", tree) is None


def test_equal_copy_is_fine(tree: Path, copy: Path):
    assert complaint(copy, tree) is None


def test_copy_with_another_file_is_named_with_the_file(tree: Path, copy: Path):
    (copy / "dialect" / "op.py").write_text("kind = 2\n")
    mistake = complaint(copy, tree)
    assert mistake is not None
    assert str(copy) in mistake
    assert str(Path("dialect", "op.py")) in mistake


def test_copy_without_a_file_is_named(tree: Path, copy: Path):
    (copy / "dialect" / "op.py").unlink()
    assert "op.py" in (complaint(copy, tree) or "")


def test_package_that_is_not_installed_is_said(tree: Path):
    assert "is not installed" in (complaint(None, tree) or "")
