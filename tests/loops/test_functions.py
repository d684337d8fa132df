"""Who computes scalar functions and who weighs them know the same ones."""

import pytest

from fuse_dialect.loops.functions import (
    BYTE,
    BYTE_PAIR,
    CUT_BYTE,
    DOT,
    FLOAT_DOT,
    INDEX,
    PAIR_DOT,
    SCALAR_FUNCTIONS,
    SIGNED_DOT,
    TABLE,
    UNSIGNED_DOT,
)
from fuse_dialect.loops.meanings import FUNCTIONS as INTERPRETED

OF_WORDS = {DOT, SIGNED_DOT, UNSIGNED_DOT, FLOAT_DOT, PAIR_DOT}
"""Products that only contractions have."""
OF_BYTES = {TABLE, BYTE, CUT_BYTE, INDEX, BYTE_PAIR}
"""Functions that the native backend makes of several."""


def test_every_function_with_native_code_has_a_row_and_the_other_way_round() -> None:
    pytest.importorskip("llvmlite")
    from fuse_dialect.backends.llvm.scalars import FUNCTIONS

    assert set(SCALAR_FUNCTIONS) == FUNCTIONS | OF_WORDS | OF_BYTES


def test_every_function_of_the_interpreter_has_a_row_and_the_other_way_round() -> None:
    assert set(SCALAR_FUNCTIONS) == INTERPRETED | OF_WORDS | OF_BYTES
