"""The patches for xDSL apply to the installed xDSL, and each has tests that fail without it and pass with it."""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import xdsl

ROOT = Path(__file__).parents[2]
PATCHES = sorted((ROOT / "docs" / "upstream").glob("*.patch"))
PAGE = ROOT / "docs" / "explanation" / "for-maintainers-of-xdsl.md"

pytestmark = [
    pytest.mark.skipif(not version("xdsl").startswith("0.74."), reason="the patches are for xDSL 0.74"),
    pytest.mark.skipif(shutil.which("git") is None, reason="patches are applied with git"),
]


def files_of_tests(patch: Path) -> list[str]:
    """The new files of tests that a patch adds."""
    return re.findall(r"^\+\+\+ b/(tests/.*\.py)$", patch.read_text(), re.MULTILINE)


def apply(patch: Path, tree: Path, *options: str) -> None:
    """Apply a patch to a tree; with `--include=PATTERN` parts of it."""
    # A folder that is no repository, whatever stands around it.
    run = subprocess.run(
        ["git", "apply", *options, str(patch)],
        cwd=tree,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


def outcome(tests: list[str], tree: Path) -> str:
    """The last line of pytest, with the xDSL of the tree if there is one."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tree)]
    run = subprocess.run(
        [*command, *tests], cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)}, capture_output=True, text=True
    )
    return run.stdout.strip().rpartition("\n")[2]


@pytest.fixture(scope="module")
def patched(tmp_path_factory) -> Path:
    tree = tmp_path_factory.mktemp("patched")
    source = Path(xdsl.__file__).parent
    shutil.copytree(source, tree / "xdsl", ignore=shutil.ignore_patterns("__pycache__"))
    for patch in PATCHES:
        apply(patch, tree)
    return tree


def test_there_are_patches_and_the_page_lists_each():
    assert len(PATCHES) == 6
    page = PAGE.read_text()
    assert re.findall(r"\]\(\.\./upstream/(.*?\.patch)\)", page) == [patch.name for patch in PATCHES]


@pytest.mark.slow
@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_patch_has_tests_that_pass_with_it_and_fail_without(patch, patched, tmp_path):
    tests = files_of_tests(patch)
    assert tests
    assert re.fullmatch(r"\d+ passed.*", outcome(tests, patched))
    apply(patch, tmp_path, "--include=tests/*")
    assert re.search(r"\d+ failed", outcome(tests, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_patch_applies_alone(patch, tmp_path):
    shutil.copytree(Path(xdsl.__file__).parent, tmp_path / "xdsl", ignore=shutil.ignore_patterns("__pycache__"))
    apply(patch, tmp_path, "--check")
