"""Einstein summation: an equation such as `bij,bjk->bik`, checked against the ranks of its operands.

A label is a letter; `...` stands for any number of axes that broadcast. Without `->`, the result has the axes of `...`,
then the labels that occur once, in the order of the alphabet.

Source: `numpy.einsum`, ONNX Einsum.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.shape_rules import unify
from fuse_dialect.dialect.types import broadcast_shapes

Label: TypeAlias = str | int
"""A letter, or for an axis of `...` its number counted from the last of them."""

_ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Equation:
    """What an equation means for operands of known ranks."""

    operands: tuple[tuple[Label, ...], ...]
    """The label of each axis of each operand."""
    result: tuple[Label, ...]

    @classmethod
    def parse(cls, text: str, ranks: Sequence[int]) -> "Equation":
        """The equation of a text.

        Raises:
            VerifyException: The text is no equation, or not one for operands of these ranks.
        """
        left, arrow, right = text.replace(" ", "").partition("->")
        terms = left.split(",")
        if len(terms) != len(ranks):
            raise VerifyException(f"expects an equation for {len(ranks)} operands, got {len(terms)} terms in '{text}'")
        operands = [_labels(term, rank, text) for term, rank in zip(terms, ranks, strict=True)]
        counts = Counter(label for labels in operands for label in labels)
        broadcast = sorted((label for label in counts if isinstance(label, int)), reverse=True)
        if not arrow:
            once = sorted(label for label in counts if isinstance(label, str) and counts[label] == 1)
            return cls(tuple(operands), (*broadcast, *once))
        before, dots, after = right.partition(_ELLIPSIS)
        result = (*before, *(broadcast if dots else ()), *after)
        _check_letters(before + after, text)
        for label, count in Counter(result).items():
            if label not in counts:
                raise VerifyException(f"expects labels of the operands in the result, got '{label}' in '{text}'")
            if count > 1:
                raise VerifyException(f"expects each label once in the result, got '{label}' twice in '{text}'")
        if broadcast and not dots:
            raise VerifyException(f"expects '...' in the result of '{text}', since an operand has axes there")
        return cls(tuple(operands), result)

    def sizes(self, shapes: Sequence[Sequence[int]]) -> dict[Label, int]:
        """The size of each label.

        Raises:
            VerifyException: Axes of one label differ, or those of `...` do not broadcast.
        """
        sizes: dict[Label, int] = {}
        for labels, shape in zip(self.operands, shapes, strict=True):
            for label, size in zip(labels, shape, strict=True):
                if label not in sizes:
                    sizes[label] = size
                elif isinstance(label, int):
                    (sizes[label],) = broadcast_shapes((sizes[label],), (size,))
                else:
                    sizes[label] = unify(sizes[label], size, f"the axes '{label}'")
        return sizes

    def numbered(self) -> tuple[list[list[int]], list[int]]:
        """The labels as numbers below 52, as `numpy.einsum` takes them."""
        order = dict.fromkeys(label for labels in self.operands for label in labels)
        number = {label: place for place, label in enumerate(order)}
        return [[number[label] for label in labels] for labels in self.operands], [number[each] for each in self.result]


def _labels(term: str, rank: int, text: str) -> tuple[Label, ...]:
    before, dots, after = term.partition(_ELLIPSIS)
    _check_letters(before + after, text)
    rest = rank - len(before) - len(after)
    if rest < 0 or (rest and not dots):
        raise VerifyException(f"expects a term of {rank} labels, got '{term}' in '{text}'")
    return (*before, *range(rest - 1, -1, -1), *after)


def _check_letters(labels: str, text: str) -> None:
    wrong = next((label for label in labels if not (label.isascii() and label.isalpha())), None)
    if wrong is not None:
        raise VerifyException(f"expects letters, ',', '->' and '...' in an equation, got '{wrong}' in '{text}'")
