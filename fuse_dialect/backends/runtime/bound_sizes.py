"""The sizes that a loop program has by name, for arrays of given shapes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from fuse_dialect.backends.backend import symbols_of
from fuse_dialect.backends.types import Shape
from fuse_dialect.counts import Size
from fuse_dialect.loops.program import Extent, LoopProgram, Role

_Product = tuple[int, tuple[str, ...]]
"""A number times sizes by name."""


@dataclass(frozen=True, slots=True)
class ProgramSizes:
    """What a program says of sizes; asked anew for each set of sizes that its arguments have."""

    arguments: Sequence[tuple[Size, ...]]
    results: Sequence[tuple[Size, ...]]
    symbols: tuple[str, ...]
    """All sizes by name, in the order in which kernels get them."""
    counted: frozenset[str]
    """Sizes that its loops compute with: an index into an axis without elements cannot be brought into range."""
    loops: Sequence[_Product]
    """Steps of each stage."""

    @staticmethod
    def of(program: LoopProgram) -> "ProgramSizes":
        """Those of a program."""
        shapes = {role: [each.shape for each in program.buffers if each.role is role] for role in Role}
        bodies = [(*stage.body, *stage.finish) for stage in program.stages]
        return ProgramSizes(
            arguments=shapes[Role.ARGUMENT],
            results=shapes[Role.RESULT],
            symbols=symbols_of(program),
            counted=frozenset(each.size for body in bodies for each in body if isinstance(each, Extent)),
            loops=[_product(axis.size for axis in stage.axes) for stage in program.stages],
        )

    @staticmethod
    def of_shapes(arguments: Sequence[Shape], results: Sequence[Shape]) -> "ProgramSizes":
        """Those of a function without loops, for arrays of these shapes alone."""
        return ProgramSizes(arguments, results, (), frozenset(), [])

    @property
    def needs_results(self) -> bool:
        """Whether sizes of results have names that no argument has: those of windows follow from several sizes."""
        given = {size for shape in self.arguments for size in shape}
        return not given.issuperset(self.symbols)

    def bind(self, arguments: Sequence[Shape], results: Sequence[Shape] | None = None) -> Mapping[str, int] | None:
        """The values of the sizes by name, or `None` when the arrays are not for this program.

        They are not where a name stands for two sizes, or a size differs from the known one: one operand is broadcast
        along an axis whose size the type does not say, for example. Nor where it picks elements of an axis that has
        none.

        Args:
            arguments: Shapes of the arguments.
            results: Those of the results, where the program `needs_results`, without scratch.
        """
        sizes: dict[str, int] = {}
        pairs = [*zip(self.arguments, arguments, strict=True)]
        if results is not None:
            pairs += zip(self.results, results, strict=False)
        for own, shape in pairs:
            if own == shape:
                continue
            for size, actual in zip(own, shape, strict=True):
                if (sizes.setdefault(size, actual) if isinstance(size, str) else size) != actual:
                    return None
        if len(sizes) != len(self.symbols) or not all(map(sizes.__getitem__, self.counted)):
            return None
        return sizes

    def result_shapes(self, sizes: Mapping[str, int]) -> list[Shape]:
        """The sizes of the results."""
        return [tuple([sizes[size] if isinstance(size, str) else size for size in shape]) for shape in self.results]

    def steps(self, sizes: Mapping[str, int]) -> int:
        """Points of all loops."""
        return sum([number * prod([sizes[size] for size in names]) for number, names in self.loops])


def _product(sizes: Iterable[Size]) -> _Product:
    number, names = 1, list[str]()
    for size in sizes:
        if isinstance(size, str):
            names.append(size)
        else:
            number *= size
    return number, tuple(names)
