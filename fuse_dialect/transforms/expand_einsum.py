"""`expand-einsum`: an einsum that is a matrix product becomes one, between transposes and reshapes.

Every label of an einsum of two operands is of one kind:

| label in | it counts |
|---|---|
| both operands and the result | batches |
| both operands alone | what is summed |
| the left operand and the result | rows |
| the right operand and the result | columns |

1. Axes of one kind are put side by side and joined; then it is a `matmul`, or a `batch_matmul` where there are batches.
   The right operand is turned only if its axes are in neither of the two orders that the product takes.
2. Operands change places if the result has columns before rows. It gets its order by one transpose, if it needs any.
3. Left alone: a label that occurs twice in an operand or in one operand alone, nothing that is summed, sizes that are
   open or 0 or that broadcast, and ops whose `fuse.pattern_kind` says how they fuse.
4. An einsum of more operands becomes several of two, in the order that `numpy.einsum_path` finds cheapest among those
   that make no value larger than the largest operand or the result. In f16 and bf16 it is left alone, because what is
   between would be rounded.

To TVM, and to `fuse-ops`, an einsum is injective: several of them fuse, and are computed again for every element. This
pass is part of `compile-prefix`, where products have to stay products.

Source: `numpy.einsum` with `optimize`, numpy/_core/einsumfunc.py, which does the same by `tensordot`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.einsum import Equation, Label
from fuse_dialect.dialect.ops.layout import TransposeOp
from fuse_dialect.dialect.ops.linear_algebra import EinsumOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp, MatmulOp
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.transforms.expansion import Expansion
from fuse_dialect.transforms.unfinished import walk_unfinished


@dataclass(frozen=True)
class ExpandEinsumPass(ModulePass):
    """Replace einsums that are matrix products by matrix products."""

    name = "expand-einsum"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace those of all functions of the module; linear in the number of ops and axes."""
        for inner in [each for each in walk_unfinished(op) if isinstance(each, EinsumOp)]:
            for pair in _in_pairs(inner):
                product = _product(pair)
                if product is not None:
                    _Expansion(pair, product).replace()


@dataclass(frozen=True, slots=True)
class _Product:
    """Which labels are what."""

    left: tuple[SSAValue, tuple[Label, ...]]
    right: tuple[SSAValue, tuple[Label, ...]]
    result: tuple[Label, ...]
    batches: tuple[Label, ...]
    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    summed: tuple[Label, ...]
    sizes: dict[Label, int]

    def size(self, labels: Sequence[Label]) -> int:
        """Elements of axes that are joined."""
        return prod(self.sizes[label] for label in labels)


def _product(op: EinsumOp) -> _Product | None:
    """The kinds of the labels, or `None` to leave the op alone (3)."""
    if len(op.inputs) != 2 or PATTERN_KIND_ATTRIBUTE in op.attributes:
        return None
    equation = op.parsed()
    first, second = (tuple(labels) for labels in equation.operands)
    result = tuple(equation.result)
    sizes = _sizes(op, equation)
    if sizes is None or any(len(set(labels)) < len(labels) for labels in (first, second)):
        return None
    shared = set(first) & set(second)
    batches = tuple(label for label in result if label in shared)
    summed = tuple(label for label in first if label in shared and label not in result)
    rows, columns = (
        tuple(label for label in result if label in labels and label not in shared) for labels in (first, second)
    )
    counted = len(batches) + len(summed)
    if not summed or (counted + len(rows), counted + len(columns)) != (len(first), len(second)):
        return None
    left, right = (op.inputs[0], first), (op.inputs[1], second)
    if rows and columns and result.index(rows[0]) > result.index(columns[0]):  # rule 2
        left, right, rows, columns = right, left, columns, rows
        summed = tuple(label for label in second if label in summed)
    return _Product(left, right, result, batches, rows, columns, summed, sizes)


def _sizes(op: EinsumOp, equation: Equation) -> dict[Label, int] | None:
    """The size of each label, or `None` to leave the op alone (3)."""
    sizes: dict[Label, int] = {}
    for labels, operand in zip(equation.operands, op.inputs, strict=True):
        for label, size in zip(labels, operand.type.get_shape(), strict=True):
            if size in (DYNAMIC, 0) or sizes.setdefault(label, size) != size:
                return None
    return sizes


MOST_SEARCHED = 4
"""Operands among whose orders all are tried; of more operands each step takes the best pair."""


def _in_pairs(op: EinsumOp) -> Sequence[EinsumOp]:
    """The einsums that take the place of one of more than two operands (4); else the op itself."""
    if len(op.inputs) < 3 or PATTERN_KIND_ATTRIBUTE in op.attributes:
        return (op,)
    equation = op.parsed()
    if op.inputs[0].type.element_type in (f16, bf16) or _sizes(op, equation) is None:
        return (op,)
    numbers, result = equation.numbered()
    terms = [
        part
        for labels, operand in zip(numbers, op.inputs, strict=True)
        for part in (np.broadcast_to(np.int8(0), operand.type.get_shape()), labels)
    ]
    search = "optimal" if len(op.inputs) <= MOST_SEARCHED else "greedy"
    largest = max(prod(type.get_shape()) for type in (*(operand.type for operand in op.inputs), op.result.type))
    found: Any = np.einsum_path(*terms, result, optimize=(search, largest))
    path: Sequence[tuple[int, ...]] = found[0][1:]  # the first element says that it is a path
    # Letters: labels of `...` are numbers, and an equation has at most 52 labels.
    named = [tuple(ascii_letters[label] for label in labels) for labels in numbers]
    wanted = tuple(ascii_letters[label] for label in result)
    expansion, made = Expansion(op), list[EinsumOp]()
    values: list[tuple[SSAValue, tuple[str, ...]]] = list(zip(op.inputs, named, strict=True))
    for step in path:
        taken = [values[place] for place in step]
        values = [value for place, value in enumerate(values) if place not in step]
        kept = {*wanted, *(label for _, labels in values for label in labels)}
        own = dict.fromkeys(label for _, labels in taken for label in labels if label in kept)
        # Labels of both come first, as the batches of a product do.
        shared = [label for label in own if all(label in labels for _, labels in taken)]
        labels = (*shared, *(label for label in own if label not in shared)) if values else wanted
        text = f"{','.join(''.join(labels) for _, labels in taken)}->{''.join(labels)}"
        pair = EinsumOp(*(value for value, _ in taken), equation=text)
        made.append(pair)
        values.append((expansion.add(pair), labels))
    expansion.finish(values[0][0])
    return made


class _Expansion(Expansion):
    """The matrix product that takes the place of one einsum."""

    def __init__(self, op: EinsumOp, product: _Product):
        super().__init__(op)
        self.product = product

    def replace(self) -> None:
        """Put the new ops in, and take the old one out."""
        product = self.product
        batches, rows, columns, summed = product.batches, product.rows, product.columns, product.summed
        lead = [product.size(batches)] if batches else []
        height, width, depth = (product.size(labels) for labels in (rows, columns, summed))
        left = self.arranged(*product.left, (*batches, *rows, *summed), [*lead, height, depth])
        value, labels = product.right
        is_turned = labels == (*batches, *columns, *summed)
        order = (*batches, *columns, *summed) if is_turned else (*batches, *summed, *columns)
        right = self.arranged(value, labels, order, [*lead, *((width, depth) if is_turned else (depth, width))])
        made = self.add((BatchMatmulOp if batches else MatmulOp)(left, right, transpose_b=is_turned))
        now = (*batches, *rows, *columns)
        made = self.reshaped(made, [product.sizes[label] for label in now])
        if now != product.result:
            made = self.add(TransposeOp(made, permutation=[now.index(label) for label in product.result]))
        self.finish(made)

    def arranged(
        self, value: SSAValue, labels: Sequence[Label], order: Sequence[Label], shape: Sequence[int]
    ) -> SSAValue:
        """An operand with its axes in an order, joined to those of a product."""
        if tuple(labels) != tuple(order):
            value = self.add(TransposeOp(value, permutation=[labels.index(label) for label in order]))
        return self.reshaped(value, shape)
