"""Examples in docstrings are what happens."""

import doctest
import importlib
from pathlib import Path

import pytest

import fuse_dialect

FOLDER = Path(fuse_dialect.__file__).parent
MODULES = [
    ".".join(("fuse_dialect", *path.relative_to(FOLDER).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(FOLDER.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


def test_there_are_examples() -> None:
    assert {"fuse_dialect.api", "fuse_dialect.fusion.core.partition"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0
