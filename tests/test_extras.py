"""How an extra is installed beside the copy that runs."""

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from fuse_dialect import extras
from fuse_dialect.extras import install_hint


class Distribution:
    """Metadata with a `direct_url.json`, or none."""

    def __init__(self, origin: Any):
        self._text = origin if origin is None or isinstance(origin, str) else json.dumps(origin)

    def read_text(self, name: str) -> str | None:
        """The file."""
        assert name == "direct_url.json"
        return self._text


@pytest.mark.parametrize(
    ("origin", "hint"),
    [
        (None, '"fuse_dialect[onnx]"'),
        ({"url": "file:///home/me/my%20clone", "dir_info": {"editable": True}}, '-e "/home/me/my clone[onnx]"'),
        ({"url": "file:///home/me/clone", "dir_info": {}}, '"/home/me/clone[onnx]"'),
        (
            {"url": "https://example.org/fuse.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            '"fuse_dialect[onnx] @ git+https://example.org/fuse.git"',
        ),
        (
            {"url": "file:///tmp/fuse_dialect-0.1.whl", "archive_info": {}},
            '"fuse_dialect[onnx] @ file:///tmp/fuse_dialect-0.1.whl"',
        ),
        ("no json", '"fuse_dialect[onnx]"'),
        ([1], '"fuse_dialect[onnx]"'),
        ({"url": 3}, '"fuse_dialect[onnx]"'),
    ],
)
def test_the_hint_is_for_this_copy(origin: Any, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str) -> Distribution:
        return Distribution(origin)

    monkeypatch.setattr("importlib.metadata.distribution", found)
    assert install_hint("onnx") == f"pip install {hint}"


def test_a_clone_that_nobody_has_installed_is_installed_from_its_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(name: str) -> Distribution:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", missing)
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "fuse_dialect" / "extras.py"))
    assert install_hint("native") == 'pip install "fuse_dialect[native]"'
    (tmp_path / "pyproject.toml").touch()
    assert install_hint("native") == f'pip install -e "{tmp_path}[native]"'


def test_extras_are_those_of_the_project() -> None:
    import tomllib

    known = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert set(extras.EXTRA_OF.values()) <= set(known["optional-dependencies"])
