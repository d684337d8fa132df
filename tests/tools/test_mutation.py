"""The list of mutants fits the code: a run of all of them takes minutes, and is no test."""

from collections import Counter
from pathlib import Path

import pytest
from mutating.table import MUTANTS
from mutation import FIRST, ROOT, TESTS, part_of

import fuse_dialect

FEW = {"loops/meanings.py", "kinds", "extensions.py", "frontends/mlir", "frontends/onnx/tensors.py"}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_changes_one_place(mutant):
    text = (Path(fuse_dialect.__file__).parent / mutant.file).read_text()
    assert text.count(mutant.old) == 1
    changed = text.replace(mutant.old, mutant.new)
    compile(changed, mutant.file, "exec")
    assert changed != text


def test_every_part_has_mutants():
    count = Counter(part_of(mutant) for mutant in MUTANTS)
    assert set(count) == set(TESTS)
    assert min(count[part] for part in set(TESTS) - FEW) >= 15
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_tests_of_mutants_exist():
    assert all((ROOT / test).exists() for tests in TESTS.values() for test in tests)


def test_first_tests_are_of_the_row():
    package = Path(fuse_dialect.__file__).parent
    for place, test in FIRST.items():
        assert (package / place).exists()
        part = max((part for part in TESTS if f"{place}/".startswith(f"{part}/")), key=len)
        assert test in TESTS[part]
