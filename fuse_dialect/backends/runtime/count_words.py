"""What functions that count and who calls them agree on. The conditions are those of `counting`."""

from enum import IntEnum, auto


class CountWord(IntEnum):
    """The words of a call that counts before its addresses (2)."""

    RECORD = 0
    SECTION = auto()
    WORDS = auto()
    ATOMS = auto()


COUNT_WORDS = len(CountWord)
COUNT_ITERATIONS = "fuse_count_iterations"
"""What says how often a loop has run: it has the address of the loop's counter, then the number that ends a run."""
KEY_KINDS = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
"""Types whose elements are put in order, by the number that records have for each."""
