"""Native loops and branches: the words that the functions of control rows work on; `control_code` writes these.

A control row stands in the driver's table between the kernels of a loop or a branch. Its slots are a *descriptor*:

    loop begin, loop end:  LOOP_WORDS words, see `LoopWord`
    branch:                address of an i1, rows to go on by if it is false
    jump:                  rows to go on by

What *moves* with the iterations is an address that many slots hold: a row of a tensor, a row of a stack, a state. The
descriptor lists these slots, and the functions write them:

1. An element or a row of a stack is at its base plus the iteration times a stride.
2. A value that becomes a state is written to one of two places in turn, because the kernels of the next iteration read
   the old one while they write the new one.
3. A state is where the first iteration finds it, and then where the value is that became it. That is never another
   state of the loop: such a value is a copy (condition 5 of `flow`). So no record holds an address that another moves.
4. Words that hold sizes which change from one iteration to the next are the columns of a table with a row for each
   iteration. The functions copy a row before its iteration runs. The table holds no addresses.
"""

from ctypes import c_int64, sizeof
from enum import IntEnum, auto

WORD = sizeof(c_int64)
ENDLESS = (1 << 63) - 1
"""The bound of a loop that only a condition ends."""


class LoopWord(IntEnum):
    """Words of a loop's descriptor, in order; an address of 0 is that of nothing."""

    COUNTER = 0
    """Address of the i64 that tells the body its iteration."""
    LIMIT = auto()
    """Address of an i64: most iterations."""
    BEGINS = auto()
    """Address of an i1: whether to begin."""
    GOES_ON = auto()
    """Address of an i1: whether to go on."""
    BOUND = auto()
    """Most iterations by the number of rows."""
    LEFT = auto()
    """Address of an i64: ops that loops of this run may still run."""
    OPS = auto()
    """Ops of one iteration."""
    ROWS = auto()
    """Rows of the table between begin and end."""
    COUNT = auto()
    """Written by begin: most iterations."""
    MOVES = auto()
    """How many addresses move by a stride."""
    MOVE_LIST = auto()
    """Address of their records: base, stride, number of slots, address of the list of their addresses."""
    TURNS = auto()
    """How many addresses take turns."""
    TURN_LIST = auto()
    """Address of their records: this place, the other one, number of slots, address of the list."""
    STATES = auto()
    """How many states there are."""
    STATE_LIST = auto()
    """Address of their records: first place, place of the value that becomes it, number of slots, address of the
    list."""
    SIZES = auto()
    """How many words hold sizes that change."""
    SIZE_LIST = auto()
    """Address of the list of their addresses."""
    SIZE_TABLE = auto()
    """Address of the table of what they are (4)."""


LOOP_WORDS = len(LoopWord)
RECORD_WORDS = 4
"""Of every record: two that tell its kind, then the number of slots, and the address of the list of their addresses."""
