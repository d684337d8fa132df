"""What a call of a jitted function does once it is compiled: leaves of trees in, a tree out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fuse_dialect.diagnostics import FuseError

if TYPE_CHECKING:
    from fuse_dialect.backends.runtime.program import Program
    from fuse_dialect.jax.weights import FixedArrays


@dataclass(frozen=True, slots=True)
class CompiledCall:
    """What calls of one form do."""

    program: "Program"
    kept: tuple[int, ...] | None
    """Numbers of the leaves that the program takes; `None` for all."""
    takers: Sequence[Callable[[Any], Any]]
    """What makes each of these an array."""
    givers: Sequence[Callable[[Any], Any] | None]
    """What makes each result a leaf."""
    tree: Any
    """Of the results."""
    direct: Callable[[Sequence[int]], Sequence[Any]] | None
    """The program by addresses, where nothing has to be made an array."""
    readers: Sequence[Callable[[Any, list[Any]], int]]
    """What says where the elements of each leaf are."""
    read_all: Callable[[Sequence[Any], list[Any]], list[int]] | None
    """The same for all leaves at once, if they are arrays of JAX."""
    fixed: "FixedArrays | None"
    """Leaves that are constants."""

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """The results for the leaves of a call."""
        if self.kept is not None:
            leaves = [leaves[place] for place in self.kept]
        results = None
        if self.direct is not None:
            try:
                held: list[Any] = []
                if self.read_all is not None:
                    addresses = self.read_all(leaves, held)
                else:
                    addresses = [read(leaf, held) for read, leaf in zip(self.readers, leaves, strict=True)]
            except Exception:  # strided, spread over devices, deleted: who makes arrays of them knows
                pass
            else:
                results = self.direct(addresses)
        if results is None:
            results = self.program(*self._arrays(leaves))
        return self.tree.unflatten(
            [array if give is None else give(array) for give, array in zip(self.givers, results, strict=True)]
        )

    def _arrays(self, leaves: Sequence[Any]) -> list[Any]:
        """The leaves as arrays.

        Raises:
            FuseError: One cannot be read: it is deleted, or a number is too great for its type.
        """
        arrays: list[Any] = []
        for take, leaf, name in zip(self.takers, leaves, self.program.input_names, strict=True):
            try:
                arrays.append(take(leaf))
            except (RuntimeError, OverflowError, TypeError, ValueError) as error:
                reason = str(error).partition("\n")[0].rstrip(".")
                raise FuseError(f"input '{name}' cannot be read: {reason}") from None
        return arrays
