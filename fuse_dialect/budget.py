"""What a run may make of its input: a small file must not ask for hours or for all memory.

Whatever expands draws from one `Budget` and stops where it is empty: inlining and copies of ops from `ops`, constants
that are computed or written out from `bytes`. Both are counted, not timed, so that the same input gives the same
result on every machine; time is in proportion to them.
"""

from dataclasses import dataclass
from numbers import Integral

from fuse_dialect.diagnostics import FuseError

BYTES_PER_INPUT_BYTE = 6
"""What every byte of the input adds to the budget of bytes: a weight may be read, cast, transposed and written out."""


LARGEST_SIZE = (1 << 63) - 1
"""Of an axis of a tensor: what MLIR has room for."""
MOST_OPS = 1 << 17
"""Ops that inlining may make, or that loops and calls may run: some seconds, and a few hundred MB."""
MAX_REPETITIONS = 100_000
"""Runs of one measurement: every one of them leaves the time of every kernel in memory."""
MOST_EXPANDED_BYTES = 1 << 26
"""Bytes of constants that a model may expand to, over and above those in proportion to it."""
MOST_VALUE_BYTES = 1 << 32
"""Bytes of one value that a program may make when it runs: a wrong number must not ask for all memory."""
SIZE_HINT = "max_value_bytes= raises the limit"
MANY_STEPS = 1 << 36
"""Steps of a loop that take seconds at least."""
STEPS_OF_AN_ELEMENT = 1 << 24
"""So many for each element that is read or written: no product and no window of a model has a tenth of that."""
STEPS_HINT = "a size or a window is far larger than what it is applied to"
MOST_TAPS = 1 << 24
"""Places of a window, of which NumPy sees one after the other."""
MOST_PLACES = 1 << 24
"""Pixels along an axis whose places are computed when a program is compiled."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a run may take; command lines set them by `--max-ops` and `--max-bytes`."""

    ops: int = MOST_OPS
    """Ops that inlining may make, or that loops and calls may run over and above one run of everything."""
    bytes: int = MOST_EXPANDED_BYTES
    """Bytes of constants that may be computed or written out, over and above those in proportion to the input."""
    value_bytes: int = MOST_VALUE_BYTES
    """Bytes of one value whose size is known only when the program runs; `--max-value-bytes` sets it."""

    def __post_init__(self) -> None:
        for name in ("ops", "bytes", "value_bytes"):
            value: object = getattr(self, name)
            # What counts native loops is a number of 64 bits.
            number = -1 if isinstance(value, bool) or not isinstance(value, Integral) else int(value)
            if not 0 <= number <= LARGEST_SIZE:
                raise FuseError(f"option 'max_{name}' expects an integer from 0 to {LARGEST_SIZE}, got {value!r}")

    def budget(self, input_bytes: int = 0) -> "Budget":
        """A full budget for an input of that size."""
        return Budget(self.ops, self.bytes + BYTES_PER_INPUT_BYTE * input_bytes)


@dataclass(eq=False, slots=True)
class Budget:
    """What is left of the limits."""

    ops: int
    bytes: int

    def take(self, *, ops: int = 0, bytes: int = 0) -> bool:
        """Take that much if it is there; otherwise take nothing and say so."""
        if ops > self.ops or bytes > self.bytes:
            return False
        self.ops -= ops
        self.bytes -= bytes
        return True

    def spend(self, what: str, *, ops: int = 0, bytes: int = 0) -> None:
        """Take that much.

        Args:
            what: Who needs it, as the beginning of a sentence.
            ops: Number of ops.
            bytes: Number of bytes.

        Raises:
            FuseError: It is not there.
        """
        if self.take(ops=ops, bytes=bytes):
            return
        unit, needed, left = ("ops", ops, self.ops) if ops > self.ops else ("bytes", bytes, self.bytes)
        raise FuseError(
            f"{what} expands to {spelled(needed)} {unit}, more than the {left} that are left",
            hint=f"max_{unit}= raises the limit",
        )


def is_without_end(steps: int, elements: int) -> bool:
    """Whether loops would run for hours over few elements, or so often that 64 bits cannot count it: a wrong size.

    Args:
        steps: How often the innermost loops run.
        elements: Those of all arrays that are read or written.
    """
    return steps >= 1 << 63 or (steps > MANY_STEPS and steps > elements * STEPS_OF_AN_ELEMENT)


def spelled(number: int) -> str:
    """A number for a message; one of many digits by its order of magnitude."""
    return str(number) if number.bit_length() <= 64 else f"about 2**{number.bit_length() - 1}"
