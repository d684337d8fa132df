"""Numbers of ops: ops that are equal but for their place, and so have the same loops and arithmetic, have the same."""

from collections.abc import Hashable

from xdsl.ir import Attribute, Operation


class AttributeNumbers:
    """Numbers that equal attributes share: to hash one takes long, and is done once."""

    def __init__(self) -> None:
        """No attribute has a number yet."""
        self._by_identity: dict[int, tuple[Attribute, int]] = {}
        self._by_value: dict[Attribute, int] = {}

    def number(self, attribute: Attribute) -> int:
        """The number of an attribute."""
        known = self._by_identity.get(id(attribute))
        if known is None:
            number = self._by_value.setdefault(attribute, len(self._by_value))
            # The attribute is kept along: another one must not get its identity.
            known = self._by_identity[id(attribute)] = attribute, number
        return known[1]

    def clear(self) -> None:
        """Forget all numbers."""
        self._by_identity.clear()
        self._by_value.clear()


class OpSignatures:
    """Numbers of ops without regions, by class, types, properties, and which operands are the same value.

    Attributes that are not the op's own, and what constants hold, do not count.
    """

    def __init__(self) -> None:
        """No op has a number yet."""
        self._by_op: dict[int, tuple[Operation, int]] = {}
        self._by_key: dict[Hashable, int] = {}
        self._attributes = AttributeNumbers()

    def number(self, op: Operation) -> int:
        """The number of an op.

        Complexity: O(operands, results and properties); each attribute is hashed once.
        """
        known = self._by_op.get(id(op))
        if known is not None:
            return known[1]
        operands = tuple(op.operands)
        attribute = self._attributes.number
        key = (
            type(op),
            tuple([attribute(value.type) for value in operands]),
            tuple([attribute(value.type) for value in op.results]),
            tuple([(name, attribute(value)) for name, value in op.properties.items()]),
            _places(operands),
        )
        number = self._by_key.setdefault(key, len(self._by_key))
        self._by_op[id(op)] = op, number
        return number


def _places(values: tuple[object, ...]) -> tuple[int, ...]:
    """For each value where it stands first among all of them."""
    if len(values) < 2:
        return (0,) * len(values)
    first: dict[int, int] = {}
    return tuple([first.setdefault(id(value), place) for place, value in enumerate(values)])
