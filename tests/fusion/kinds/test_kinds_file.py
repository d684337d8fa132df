"""Files of kinds: what they say, and every way in which they can be wrong."""

import fnmatch
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.fusion.kinds.kind_rows import KindRow, KindTable
from fuse_dialect.fusion.kinds.kinds_file import read_kinds, rows_of
from fuse_dialect.pattern_kind import PatternKind
from fuse_dialect.toml_file import parse_toml

ROW = '[[op]]\nname = "npu.gelu"\nkind = "elemwise"\n'


def rows(text: str) -> list[KindRow]:
    return rows_of(parse_toml(text, "kinds.toml"))


def test_a_file_says_names_kinds_edges_and_reshapes() -> None:
    text = '# kinds\n\n [[ op ]] # one\nname = "npu.*"\nkind = "broadcast"\nedges = ["elemwise", "opaque"]\n'
    text += '[[op]]\nkind = "injective"\nname = "npu.view"\nreshape_only = true\n'
    first, second = rows(text)
    assert first == KindRow("npu.*", PatternKind.BROADCAST, (PatternKind.ELEMWISE, PatternKind.OPAQUE))
    assert first.place == SourceLocation("kinds.toml", 3)
    assert second == KindRow("npu.view", PatternKind.INJECTIVE, reshape_only=True)
    assert second.place == SourceLocation("kinds.toml", 7)


@pytest.mark.parametrize("kind", PatternKind)
def test_all_keywords_are_kinds(kind: PatternKind) -> None:
    assert rows(f'[[op]]\nname = "npu.x"\nkind = "{kind.keyword}"\n')[0].kind is kind


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (ROW + "kinds = 1\n", "4: error: unknown key 'kinds' of [[op]]", "did you mean 'kind'?"),
        (ROW + "zzz = 1\n", "4: error: unknown key 'zzz' of [[op]]", "[[op]] has name, kind, edges, reshape_only"),
        ("version = 2\n" + ROW, "1: error: unknown key 'version'", "a file of kinds has [[op]] alone"),
        ('[op]\nname = "npu.gelu"\n', "1: error: expected [[op]], with two brackets", "its own [[op]]"),
        ("op = [1]\n", "1: error: expected [[op]] to be a table", None),
        ("", ": error: expected one [[op]] or more", 'then name = "npu.*"'),
        ("op = []\n", "1: error: expected one [[op]] or more", None),
        ('[[op]]\nkind = "elemwise"\n', "1: error: expected 'name' in [[op]]", "'npu.*'"),
        (ROW + '[[op]]\nname = "npu.x"\n', "4: error: expected 'kind' in [[op]]", "kinds are elemwise, broadcast"),
        (ROW.replace('"npu.gelu"', "3"), "2: error: expected 'name' to be a text, got 3", None),
        (ROW.replace('"elemwise"', "0"), "3: error: expected 'kind' to be a text, got 0", None),
        (ROW.replace("elemwise", "elementwise"), "unknown pattern kind 'elementwise'", "did you mean 'elemwise'?"),
        (ROW.replace("elemwise", "xyz"), "3: error: unknown pattern kind 'xyz'", "kinds are elemwise, broadcast, inj"),
        (ROW + 'edges = "elemwise"\n', "4: error: expected 'edges' to be a list of kinds, got 'elemwise'", "kinds are"),
        (ROW + 'edges = ["opaqe"]\n', "4: error: unknown pattern kind 'opaqe'", "did you mean 'opaque'?"),
        (ROW + "edges = [2]\n", "4: error: unknown pattern kind 2", "kinds are"),
        (ROW + "reshape_only = 1\n", "4: error: expected 'reshape_only' to be true or false, got 1", None),
        (ROW.replace("npu.gelu", "gelu"), "2: error: 'gelu' names no op of a dialect", "'npu.*'"),
        (ROW.replace("npu.gelu", "*.gelu"), "2: error: '*.gelu' names no op of a dialect", "'npu.*'"),
        (ROW.replace("npu.gelu", "*"), "2: error: '*' names no op of a dialect", "'npu.*'"),
        (ROW.replace("npu.gelu", "npu."), "2: error: 'npu.' names no op of a dialect", "'npu.*'"),
        (ROW + ROW, "4: error: 'npu.gelu' has two rows", "remove a row"),
        ("[[op]\n", "kinds.toml:1:", None),
        ("x = 1\n[[op]]\nname = \n", "kinds.toml:3:", None),
        ("x = " + "9" * 5000, "kinds.toml: error: no TOML that can be read", None),
        ("x = " + "[" * 100_000, "kinds.toml", None),
    ],
)
def test_what_is_wrong_has_a_place_and_a_hint(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(FuseError) as caught:
        rows(text)
    first = str(caught.value).splitlines()[0]
    assert message in first
    assert first.startswith("kinds.toml")
    if hint is not None:
        assert caught.value.hint is not None
        assert hint in caught.value.hint


def test_a_key_is_looked_for_in_its_own_table() -> None:
    with pytest.raises(FuseError, match=r"^kinds.toml:6: error: unknown pattern kind 'x'"):
        rows(ROW + '[[op]]\nname = "npu.tanh"\nkind = "x"\n[[op]]\nname = "npu.a"\nkind = "elemwise"\n')


def test_rows_in_braces_have_the_line_of_all() -> None:
    with pytest.raises(FuseError, match=r"^kinds.toml:2: error: unknown pattern kind 'x'"):
        rows('\nop = [{name = "npu.a", kind = "x"}]\n')


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read file of kinds '.*kinds.toml': No such file"),
        (b"\xff", "kinds.toml: error: expected text in UTF-8"),
        (b"#" * ((1 << 20) + 1), "kinds.toml: error: expected a file of kinds of at most 1048576 bytes"),
        (b"#" * (1 << 20), "expected one"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "kinds.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FuseError, match=message):
        read_kinds(path)


def test_two_files_that_agree_are_one_table(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(ROW)
    assert read_kinds([tmp_path / "a.toml", str(tmp_path / "b.toml")]) == read_kinds(tmp_path / "a.toml")


@pytest.mark.parametrize("change", [("elemwise", "opaque"), ('e"\n', 'e"\nedges = ["opaque"]\n')])
def test_two_files_that_contradict_each_other_are_an_error_with_both_places(
    tmp_path: Path, change: tuple[str, str]
) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text("\n" + ROW)
    second.write_text(ROW.replace(*change))
    with pytest.raises(FuseError) as caught:
        read_kinds([first, second])
    assert caught.value.location == SourceLocation(str(second), 1)
    assert caught.value.notes == (f"{first}:2: the other row of this name",)


def winner(name: str, *patterns: str) -> str:
    table = KindTable.of(KindRow(pattern, PatternKind.ELEMWISE) for pattern in patterns)
    return table.matching([name])[name][0].name


def test_the_most_specific_row_wins() -> None:
    assert winner("npu.gelu", "npu.*", "npu.gelu", "npu.ge*") == "npu.gelu"
    assert winner("npu.gelu", "npu.*", "npu.ge*", "npu.g*") == "npu.ge*"
    assert winner("npu.gelu", "npu.g**lu", "npu.gel*") == "npu.g**lu"
    assert winner("npu.gelu", "npu.ge*", "npu.*lu") == "npu.ge*", "of two alike the first"
    assert winner("npu.gelu", "npu.*lu", "npu.ge*") == "npu.*lu"


@given(st.text("ab.*", max_size=8), st.text("ab.", max_size=8))
def test_patterns_match_as_those_of_shells_do(pattern: str, name: str) -> None:
    row = KindRow(f"d.{pattern}", PatternKind.ELEMWISE)
    assert row.matches(f"d.{name}") == fnmatch.fnmatchcase(f"d.{name}", f"d.{pattern}")


def test_rows_without_ops_are_named_in_the_order_of_the_file() -> None:
    text = "".join(f'[[op]]\nname = "{name}"\nkind = "opaque"\n' for name in ("npu.b", "npu.*", "tpu.*", "npu.a"))
    table = KindTable.of(rows(text))
    assert [row.name for row in table.without_ops(["npu.c", "npu.a"])] == ["npu.b", "tpu.*"]
