"""Drafts judge by the numbers that simplification uses, although neither room may import the other."""

from fuse_dialect.fusion import draft
from fuse_dialect.loops import simplify


def test_numbers_are_those_of_simplification() -> None:
    names = ("CHEAP", "_PLACES")
    assert [getattr(draft, name) for name in names] == [getattr(simplify, name) for name in names]
    assert getattr(simplify, "_PIECES") == draft.MOST_PIECES  # noqa: B009
