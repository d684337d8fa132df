"""Arguments that are constants of a program for as long as they are the same arrays.

1. An array of JAX never changes, so the same object has the same elements: nothing is compared but identity.
2. A program keeps such an argument in the order in which its kernels read it, and a call does not look at its memory.
3. References are weak: a program does not keep arrays of JAX alive, nor from being donated. An array that is gone is
   not the one that comes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import ref

from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.constants import constant
from fuse_dialect.jax.capture import main_of

if TYPE_CHECKING:
    from fuse_dialect.dialect.op import Array


@dataclass(frozen=True, slots=True)
class FixedArrays:
    """Leaves of calls that have to be the same arrays."""

    places: tuple[int, ...]
    """Numbers of the leaves."""
    arrays: tuple["ref[Any]", ...]

    def are_those_of(self, leaves: Sequence[Any]) -> bool:
        """Whether a call has the same arrays there, none of which is deleted."""
        for place, array in zip(self.places, self.arrays, strict=True):
            leaf = leaves[place]
            if array() is not leaf or leaf.is_deleted():
                return False
        return True


def fix(module: ModuleOp, leaves: Sequence[Any], arrays: "dict[int, Array]") -> FixedArrays:
    """Make arguments of `main` constants; the arguments stay, and nothing reads them any more.

    Args:
        module: What JAX has lowered; it changes.
        leaves: Of a call.
        arrays: Elements of the leaves that are to be constants, by their numbers.
    """
    block = main_of(module).body.block
    for place, array in arrays.items():
        argument = block.args[place]
        made = constant(array)
        made.result.name_hint = argument.name_hint
        Rewriter.insert_op(made, InsertPoint.at_start(block))
        argument.replace_all_uses_with(made.result)
    return FixedArrays(tuple(arrays), tuple([ref(leaves[place]) for place in arrays]))
