"""Blocks that ops insert themselves into, on several threads at once.

xDSL's `ImplicitBuilder` remembers the block for each thread, but makes ops insert themselves by replacing
`Operation.__post_init__` for the whole process. Two threads that enter and leave it in turn leave it replaced twice, so
that ops are inserted twice, or not at all, so that they are not inserted while a block is still open.
"""

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.builder import ImplicitBuilder
from xdsl.ir import Block

from fuse_dialect.process_wide import EXCLUSIVE


@contextmanager
def building(block: Block) -> Generator[None]:
    """Let ops that this thread creates insert themselves at the end of a block.

    One thread builds at a time. Within it another block may be opened; ops go to the innermost one.
    """
    with EXCLUSIVE, ImplicitBuilder(block):
        yield
