"""Additions of one number a channel, right behind a product, become one `bias_add`."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue

from fuse_dialect.budget import Budget
from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.constants import constant, with_dtype
from fuse_dialect.dialect.ops.broadcast import BiasAddOp, SubtractOp
from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.transforms.scale_folding.moves import Module, dtype_of, is_own
from fuse_dialect.transforms.scale_folding.rules import product_of
from fuse_dialect.transforms.scale_folding.scale import Shifting, along_one_axis


@dataclass(frozen=True, slots=True)
class _Bias:
    """What is added to the result of a product."""

    product: SSAValue
    axis: int
    size: int
    """Of the axis."""
    vector: npt.NDArray[np.float64]
    """Of rank 1, with `size` elements, or one for all of them."""
    is_merged: bool
    """Whether it is more than the op adds already, in the form that it has."""


def merge_biases(module: Module) -> None:
    """Let one `bias_add` behind each product add all constants that are added there, one after the other."""
    biases: dict[Operation, _Bias] = {}
    for op in module.ops:
        role = module.role(op)
        if not isinstance(role, Shifting) or not is_own(role.data, op):
            continue
        before = role.data.owner
        assert isinstance(before, Operation), "what an op owns is computed by another one"
        bias = _with_term(biases.get(before) or _no_bias(before), op, role, module.budget)
        if bias is not None:
            if biases.pop(before, None) is not None:
                module.gone.append(before)
            biases[op] = bias
    for op, bias in biases.items():
        if bias.is_merged:
            _apply(module, op, bias)


def _no_bias(op: Operation) -> _Bias | None:
    """Nothing is added yet to the result of a product; `None` for other ops."""
    product = product_of(op, lambda _: True)
    if product is None:
        return None
    type = product.op.results[0].type
    size = type.get_shape()[product.output_axis] if is_tensor(type) else DYNAMIC
    if size == DYNAMIC:
        return None
    return _Bias(product.op.results[0], product.output_axis, size, np.zeros(1), is_merged=False)


def _with_term(bias: _Bias | None, op: Operation, shifting: Shifting, budget: Budget) -> _Bias | None:
    """The bias with one more term.

    `None` when that is not one number a channel, subtracts the data, or takes more bytes than are left.
    """
    assert is_tensor(shifting.data.type)
    if bias is None or (isinstance(op, SubtractOp) and shifting.index == 0):
        return None
    term = along_one_axis(shifting.term, shifting.data.type.get_shape())
    if term is None or term.axis not in (None, bias.axis):
        return None
    is_first = shifting.data is bias.product
    factors = -term.factors if isinstance(op, SubtractOp) else term.factors
    with np.errstate(all="ignore"):
        vector = bias.vector + factors
    if not budget.take(bytes=vector.nbytes):
        return None
    return _Bias(bias.product, bias.axis, bias.size, vector, is_merged=not (is_first and isinstance(op, BiasAddOp)))


def _apply(module: Module, op: Operation, bias: _Bias) -> None:
    terms = np.broadcast_to(bias.vector, (bias.size,))
    vector = module.insert(constant(with_dtype(terms, dtype_of(bias.product))), op)
    new = BiasAddOp(bias.product, vector, axis=bias.axis, result_types=[op.results[0].type])
    new.attributes.update({name: item for name, item in op.attributes.items() if name != PATTERN_KIND_ATTRIBUTE})
    result = module.insert(new, op)
    result.name_hint = op.results[0].name_hint
    module.drop(op, result)
