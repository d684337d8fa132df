"""Which sizes are equal. Two sizes that are not known count as equal from the first op on that needs them to be."""

from dataclasses import dataclass, field

from fuse_dialect.counts import Size


@dataclass(eq=False, slots=True)
class Sizes:
    """Sizes that are numbers, or names; names can turn out to be numbers, or other names.

    A *given* name is the size of an argument, which the caller knows. A *fresh* one must become equal to such a name
    or to a number, else nobody knows it.
    """

    are_computed_with: bool = False
    """Whether code may compute with sizes that are known when it runs; kernels want numbers there."""
    _parents: dict[str, Size] = field(default_factory=dict[str, Size])
    _given: int = 0
    _fresh: int = 0

    @property
    def has_names(self) -> bool:
        """Whether any size is not a number from the beginning."""
        return bool(self._given or self._fresh)

    def given(self) -> str:
        """A new name of a size that the caller knows."""
        self._given += 1
        return f"n{self._given - 1}"

    def fresh(self) -> str:
        """A new name of a size that is not known yet."""
        self._fresh += 1
        return f"?{self._fresh - 1}"

    def resolve(self, size: Size) -> Size:
        """The number, or the one name, that stands for all sizes known to be equal."""
        while isinstance(size, str) and size in self._parents:
            size = self._parents[size]
        return size

    def is_known(self, size: Size) -> bool:
        """Whether the caller knows the size."""
        size = self.resolve(size)
        return isinstance(size, int) or not size.startswith("?")

    def unify(self, one: Size, other: Size) -> bool:
        """Note that two sizes are equal; false if they are different numbers."""
        one, other = self.resolve(one), self.resolve(other)
        if one == other:
            return True
        if isinstance(one, int) and isinstance(other, int):
            return False
        # The better known one stands for both, so that following names ends at a number if there is one.
        if _rank(one) > _rank(other):
            one, other = other, one
        assert isinstance(other, str)
        self._parents[other] = one
        return True


def _rank(size: Size) -> tuple[int, int]:
    """Numbers stand for names, given names for fresh ones, older names for newer ones."""
    if isinstance(size, int):
        return 0, 0
    return (2 if size.startswith("?") else 1), int(size[1:])
