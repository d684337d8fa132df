"""What is built of the repository: its version is that of the tag, and the wheel has every file of the package."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from check_package import CheckError, differences, files_of_package, run

ROOT = Path(__file__).parents[2]
NEEDED = {".css", ".html", ".js", ".ll", ".toml", ".typed"}
"""What the package reads of its own besides Python: pages, machine code that is text, machines and templates."""


def files_in_wheel(folder: Path) -> list[str]:
    """What hatchling puts into the wheel, made in a folder."""
    pytest.importorskip("hatch_vcs")
    builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT))
    (wheel,) = builder.build(directory=str(folder), versions=["standard"])
    return zipfile.ZipFile(wheel).namelist()


def version_of(folder: Path) -> str:
    """The version that hatchling finds for the project in a folder."""
    pytest.importorskip("hatch_vcs")
    metadata = pytest.importorskip("hatchling.metadata.core")
    manager = pytest.importorskip("hatchling.plugin.manager").PluginManager()
    return metadata.ProjectMetadata(str(folder), manager).version


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(("git", *who, *arguments), cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that has the settings of this one, without git."""
    monkeypatch.delenv("SETUPTOOLS_SCM_PRETEND_VERSION", raising=False)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    return tmp_path


def test_the_wheel_has_every_file_of_the_package(tmp_path: Path) -> None:
    expected = files_of_package(ROOT)
    assert {Path(name).suffix for name in expected} >= NEEDED
    assert not differences(expected, files_in_wheel(tmp_path))


def test_a_file_that_a_wheel_lacks_and_one_too_many_are_said() -> None:
    expected = ["fuse_dialect/a.py", "fuse_dialect/threads.ll"]
    found = ["fuse_dialect-1.dist-info/METADATA", "fuse_dialect/a.py", "tests/a.py"]
    assert differences(expected, found) == ["the wheel lacks fuse_dialect/threads.ll", "the wheel has tests/a.py"]


def test_a_command_that_fails_says_what_it_has_printed(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match=r"exit code 3\nbefore it failed"):
        run((sys.executable, "-c", "print('before it failed'); exit(3)"), tmp_path)


def test_the_version_is_that_of_the_tag(project: Path) -> None:
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "first")
    git(project, "tag", "v7.8.9")
    assert version_of(project) == "7.8.9"


def test_commits_after_a_tag_count_up_to_the_next_version(project: Path) -> None:
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "first")
    git(project, "tag", "v7.8.9")
    git(project, "commit", "-q", "--allow-empty", "-m", "second")
    assert version_of(project).startswith("7.8.10.dev1+g")


def test_a_copy_without_git_has_a_version(project: Path) -> None:
    assert version_of(project) == "0.1.0.dev0"
