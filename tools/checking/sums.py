"""Which tests compare sums with those of NumPy: those that get their bounds from `checking.rounding` or the fuzzers.

Tests that depend on NumPy's vector code otherwise carry the marker `sums` in their files.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

ASSERTIONS = ("assert_agrees", "assert_near", "assert_product", "assert_sums", "assert_sums_of")
"""Functions that allow as much as rounding does."""


def files_with_sums(tests: Path) -> list[Path]:
    """The files of tests that name one of the assertions, or mark tests themselves."""
    names = (*ASSERTIONS, "pytest.mark.sums")
    return [path for path in sorted(tests.rglob("test_*.py")) if any(name in path.read_text() for name in names)]


def compares_sums(test: Callable[..., Any], module: ModuleType) -> bool:
    """Whether a test uses one of the assertions, itself or by functions of its file."""
    inner = getattr(getattr(test, "hypothesis", None), "inner_test", test)
    waiting, seen = [inner], set[str]()
    while waiting:
        names = set(_names(waiting.pop()))
        if not names.isdisjoint(ASSERTIONS):
            return True
        for name in sorted(names - seen):
            seen.add(name)
            function = vars(module).get(name)
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                waiting.append(function)
    return False


def _names(function: Callable[..., Any]) -> Iterator[str]:
    """What a function and those inside of it name."""
    codes = [function.__code__] if isinstance(function, FunctionType) else []
    while codes:
        code = codes.pop()
        yield from code.co_names
        codes += [constant for constant in code.co_consts if isinstance(constant, type(code))]
