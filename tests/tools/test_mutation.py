"""The rules of mutants, and that the table fits the code: a run of all of them takes hours, and is no test."""

import ast
from collections import Counter
from itertools import groupby

import pytest
from mutating.mutant import Mutant, mutants_of
from mutating.rules import RULES, places
from mutating.table import EQUIVALENT, MUTANTS, WHOLE
from mutating.tests_of_parts import FIRST, TESTS
from mutation import ROOT, part_of

MINE = [*mutants_of(MUTANTS, WHOLE)]
LEAST = {
    "fuse_dialect.backends.llvm": 30,
    "fuse_dialect.backends.runtime": 50,
    "fuse_dialect.backends.stored": 20,
    "fuse_dialect.analysis.kernel_costs": 9,
    "fuse_dialect.fusion": 70,
    "fuse_dialect.fusion.ir": 20,
    "fuse_dialect.fusion.outlining": 40,
    "fuse_dialect.frontends.onnx": 15,
    "fuse_dialect.interpreters": 20,
    "fuse_dialect.loops": 50,
    "fuse_dialect.targets.onnx": 20,
    "fuse_dialect.transforms": 25,
}
"""How many mutants the large parts have at least."""
SOURCE = """
def f(a, b):
    "text"
    if a < b and not a:
        a += 1
    for each in reversed(b):
        g(each, a - 1)
    return max(a, 2) if b else a


class C:
    x = (1, True)

    def f(self):
        def inner():
            return "eq"

        self.x = [y for y in self.x[1:] if y]
"""


@pytest.mark.parametrize(
    ("rule", "function", "before", "after"),
    [
        ("negate", "f", "if a < b and", "if ((a) >= (b)) and"),
        ("negate", "f", "not a", "(a)"),
        ("bound", "f", "a < b", "((a) <= (b))"),
        ("drop-term", "f", "a < b and not a", "((not a))"),
        ("and-or", "f", "a < b and not a", "((a < b) or (not a))"),
        ("true", "f", "max(a, 2) if b else", "max(a, 2) if (True) else"),
        ("false", "f", "a < b and not a", "(False)"),
        ("drop", "f", "a += 1", "pass"),
        ("drop", "C.f", "self.x = [y for y in self.x[1:] if y]", "pass"),
        ("return-early", "f", "for each in reversed(b):\n        g(each, a - 1)", "return None"),
        ("operator", "f", "a - 1", "((a) + (1))"),
        ("operand", "f", "a - 1", "(1)"),
        ("plus-one", "f", "a, 2)", "a, (3))"),
        ("minus-one", "C", "(1, True)", "((0), True)"),
        ("other-truth", "C", "True", "(False)"),
        ("other-name", "f", "max", "(min)"),
        ("other-word", "C.f.inner", '"eq"', "('ne')"),
        ("swap", "f", "g(each, a - 1)", "(g(a - 1, each))"),
        ("swap", "f", "max(a, 2) if b else a", "(a if b else max(a, 2))"),
        ("argument", "f", "reversed(b)", "(b)"),
        ("drop-argument", "f", "max(a, 2)", "(max(a))"),
        ("drop-element", "C", "(1, True)", "((1,))"),
        ("branch", "f", "max(a, 2) if b else a", "(a)"),
        ("whole", "C.f", "self.x[1:]", "(self.x)"),
        ("first", "f", "reversed(b)", "(list(reversed(b))[:1])"),
    ],
)
def test_rule_changes_one_place(rule: str, function: str, before: str, after: str) -> None:
    changed = [place.changed for place in places(SOURCE) if (place.function, place.rule) == (function, rule)]
    assert SOURCE.replace(before, after, 1) in changed


def test_rule_drops_lines_of_programs() -> None:
    texts = [place.after for place in places('T = "one\\n  two\\n  three"') if place.rule == "drop-line"]
    assert texts == ["'one\\n  three'", "'one\\n  two\\n'"]


def test_texts_about_code_types_and_patterns_stay() -> None:
    source = 'def f(x):\n    "1 < 2"\n    y: "A | B" = f"{x + 1}"\n    match y:\n        case 1:\n            pass\n'
    assert list(places(source)) == []


def test_places_are_numbered_from_zero() -> None:
    numbers = [(place.function, place.rule, place.number) for place in places(SOURCE)]
    for (function, rule), count in Counter(number[:2] for number in numbers).items():
        assert [each[2] for each in numbers if each[:2] == (function, rule)] == list(range(count))
    assert {rule for _, rule, _ in numbers} == set(RULES) - {"drop-line"}


@pytest.mark.parametrize(("file", "own"), [(str(file), [*own]) for file, own in groupby(MINE, lambda each: each.file)])
def test_mutants_change_one_place_of_a_file_that_compiles(file: str, own: list[Mutant]) -> None:
    before = ast.dump(ast.parse((ROOT / file).read_text()))
    for mutant in own:
        place = mutant.place()
        assert ast.dump(ast.parse(place.changed, f"{mutant}")) != before


def test_every_part_has_mutants() -> None:
    count = Counter(part_of(mutant) for mutant in MINE)
    assert set(count) == set(TESTS)
    assert {part: count[part] for part, least in LEAST.items() if count[part] < least} == {}
    assert len(set(MINE)) == len(MINE)


def test_a_whole_module_is_changed_everywhere() -> None:
    mutants = list(mutants_of({}, ["fuse_dialect.budget"]))
    assert {"negate", "drop"} <= {mutant.rule for mutant in mutants}
    assert all(mutant.place() for mutant in mutants)


def test_equivalent_mutants_are_mutants() -> None:
    assert set(EQUIVALENT) <= {str(mutant) for mutant in MINE}


def test_a_place_that_is_gone_is_an_error() -> None:
    with pytest.raises(LookupError, match="no such place"):
        Mutant("fuse_dialect.budget", "gone", "negate", 0).place()


def test_tests_of_mutants_exist() -> None:
    assert all((ROOT / test).exists() for tests in TESTS.values() for test in tests)


def test_first_tests_are_of_the_row() -> None:
    for place, test in FIRST.items():
        path = ROOT / place.replace(".", "/")
        assert path.exists() or path.with_suffix(".py").exists()
        part = max((part for part in TESTS if f"{place}.".startswith(f"{part}.")), key=len)
        assert test in TESTS[part]
