"""Quantized numbers: what an op of them means is said on their integers and on the real numbers that these stand for.

    real = (integer - zero point) * scale          integer = clamp(round(real / scale + zero point))

1. `uniform_quantize` and `uniform_dequantize` are these two, `bitcast_convert` is the integers themselves.
2. Ops that only move elements of one quantized type move the integers.
3. Any other op is that op on real numbers, and its results are quantized again.

A function stays as it is where a quantized type is of another form, of open sizes, or of an argument or a result of the
function, of a call or of a region.

Source: "Quantization computations" in docs/spec.md of openxla/stablehlo.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.constants import constant_attribute
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.types import DYNAMIC, Tensor, element_dtype, is_tensor
from fuse_dialect.frontends.stablehlo.attributes import Raw
from fuse_dialect.frontends.stablehlo.clauses import int_array
from fuse_dialect.frontends.stablehlo.dialect import BY_NAME

_QUANTIZED = "quant.uniform"
_WIDEST = 32
"""Bits of the integers. Source: `QuantizationStorageType` in docs/spec.md of openxla/stablehlo."""
_REAL: Mapping[str, Attribute] = {
    "bf16": BFloat16Type(),
    "f16": Float16Type(),
    "f32": Float32Type(),
    "f64": Float64Type(),
}
_FORM = re.compile(
    r"(?P<sign>[iu])(?P<width>\d{1,2})(?:<(?P<low>-?\d{1,10}):(?P<high>-?\d{1,10})>)?:(?P<real>\w+)(?::(?P<axis>\d{1,9}))?,"
    r"\s*(?P<list>\{)?(?P<numbers>[^{}]*)\}?"
)
_MOVES = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("broadcast", "broadcast_in_dim", "concatenate", "dynamic_slice", "dynamic_update_slice", "gather"),
        *("pad", "reshape", "reverse", "select", "slice", "transpose"),
    )
)
_ACROSS = frozenset(("stablehlo.custom_call", "stablehlo.composite", "stablehlo.return"))
"""Ops whose operands and results are somebody else's as well."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """What a quantized type says."""

    integer: IntegerType
    low: int
    high: int
    real: Attribute
    axis: int | None
    """The axis with a scale for each place; `None` if there is one scale for all."""
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]


def quantization_of(type: Attribute) -> Quantization | None:
    """What the elements of a tensor stand for: `!quant.uniform<i8<-127:127>:f32:0, {0.1:-30, 0.5}>`."""
    element = type.element_type if is_tensor(type) else None
    found = _FORM.fullmatch(cast(Raw, element).data) if element is not None and element.name == _QUANTIZED else None
    if found is None or found["real"] not in _REAL or (found["list"] is None) != (found["axis"] is None):
        return None
    width, is_unsigned = int(found["width"]), found["sign"] == "u"
    pairs = [each.partition(":") for each in found["numbers"].split(",")]
    try:
        scales = tuple(float(scale) for scale, _, _ in pairs)
        zero_points = tuple(int(zero or 0) for _, _, zero in pairs)
    except ValueError:
        return None
    axis = None if found["axis"] is None else int(found["axis"])
    sizes = cast(Tensor, type).get_shape()
    if width > _WIDEST or (axis is not None and (axis >= len(sizes) or sizes[axis] != len(scales))):
        return None
    return Quantization(
        IntegerType(width, Signedness.UNSIGNED if is_unsigned else Signedness.SIGNLESS),
        int(found["low"] or (0 if is_unsigned else -(1 << (width - 1)))),
        int(found["high"] or (1 << (width - (not is_unsigned))) - 1),
        _REAL[found["real"]],
        axis,
        scales,
        zero_points,
    )


def say_quantized(functions: Iterable[func.FuncOp]) -> None:
    """Say with integers and real numbers what the ops of some functions do with quantized ones.

    Complexity: O(ops + operands).
    """
    for function in functions:
        inside = list(ops_inside(function))
        ops = [op for op in inside if any(map(_is_quantized, _types_of(op)))]
        blocks = [block for op in (function, *inside) for region in op.regions for block in region.blocks]
        arguments = [value for block in blocks for value in block.args]
        if ops and all(map(_can_be_said, ops)) and not any(_is_quantized(each.type) for each in arguments):
            _say(ops)


def _types_of(op: Operation) -> list[Attribute]:
    return [*op.operand_types, *op.result_types]


def _is_quantized(type: Attribute) -> bool:
    return is_tensor(type) and type.element_type.name.startswith("quant.")


def _can_be_said(op: Operation) -> bool:
    """Whether all that is quantized about an op is said by the op alone."""
    known = op.name.startswith(("stablehlo.", "chlo.")) and op.name not in _ACROSS and not op.regions
    return known and all(
        quantization_of(type) is not None and DYNAMIC not in cast(Tensor, type).get_shape()
        for type in _types_of(op)
        if _is_quantized(type)
    )


def _say(ops: Sequence[Operation]) -> None:
    """Replace ops, in an order in which values are defined before they are read."""
    integers: dict[SSAValue, SSAValue] = {}
    """The integers of each quantized value."""
    for op in ops:
        block = Block()
        with building(block):
            values = _said(op, integers)
        made = list(block.ops)
        for each in made:
            each.detach()
            each.location = op.location
        Rewriter.insert_op(made, InsertPoint.before(op))
        for old, new in zip(op.results, values, strict=True):
            new.name_hint = new.name_hint or old.name_hint
            if _is_quantized(old.type):
                integers[old] = new
            else:
                old.replace_all_uses_with(new)
    for op in reversed(ops):
        Rewriter.erase_op(op)


def _said(op: Operation, integers: Mapping[SSAValue, SSAValue]) -> Sequence[SSAValue]:
    """For each result its integers, or itself if it is not quantized."""
    kinds = {cast(Tensor, type).element_type for type in _types_of(op) if _is_quantized(type)}
    held = [integers.get(value, value) for value in op.operands]
    if op.name == "stablehlo.constant":
        value = op.properties["value"]
        return [_make("constant", [], _integer_type(op.result_types[0]), value=value)]
    if op.name == "stablehlo.bitcast_convert":
        target = _integer_type(op.result_types[0])
        return [held[0] if held[0].type == target else _make("bitcast_convert", held, target)]
    if op.name in _MOVES and len(kinds) == 1 and all(map(_is_quantized, op.result_types)):
        return _again(op, held, [_integer_type(type) for type in op.result_types])
    real = [_dequantized(one, value.type) for one, value in zip(held, op.operands, strict=True)]
    if op.name not in ("stablehlo.uniform_quantize", "stablehlo.uniform_dequantize"):
        real = _again(op, real, [_real_type(type) for type in op.result_types])
    return [_quantized(value, type) for value, type in zip(real, op.result_types, strict=True)]


def _again(op: Operation, operands: Sequence[SSAValue], types: Sequence[Attribute]) -> Sequence[SSAValue]:
    """The results of the same op on other operands."""
    return (
        type(op)
        .create(operands=operands, result_types=types, properties=op.properties, attributes=op.attributes)
        .results
    )


def _integer_type(type: Attribute) -> Attribute:
    found = quantization_of(type)
    return type if found is None else TensorType(found.integer, cast(Tensor, type).get_shape())


def _real_type(type: Attribute) -> Attribute:
    found = quantization_of(type)
    return type if found is None else TensorType(found.real, cast(Tensor, type).get_shape())


def _dequantized(integers: SSAValue, type: Attribute) -> SSAValue:
    """The real numbers that integers stand for; what is not quantized is itself."""
    found = quantization_of(type)
    if found is None:
        return integers
    real = _real_type(type)
    value = _make("convert", [integers], real)
    if any(found.zero_points):
        value = _make("subtract", [value, _parameters(found.zero_points, found.axis, real)], real)
    return _make("multiply", [value, _parameters(found.scales, found.axis, real)], real)


def _quantized(value: SSAValue, type: Attribute) -> SSAValue:
    """The integers that stand for real numbers; for a type that is not quantized, the numbers."""
    found = quantization_of(type)
    if found is None:
        return value
    real = _real_type(type)
    value = _make("divide", [value, _parameters(found.scales, found.axis, real)], real)
    if any(found.zero_points):
        value = _make("add", [value, _parameters(found.zero_points, found.axis, real)], real)
    bounds = [_parameters([bound], None, TensorType(found.real, [])) for bound in (found.low, _highest(found))]
    value = _make("clamp", [bounds[0], value, bounds[1]], real)
    value = _make("round_nearest_even", [value], real)
    return _make("convert", [value], _integer_type(type))


def _highest(found: Quantization) -> float:
    """The largest real number that rounds to an integer of the type: 2**31 - 1 is no number of f32."""
    kind = element_dtype(found.real)
    nearest = np.array(found.high).astype(kind)
    return float(nearest if int(nearest) <= found.high else np.nextafter(nearest, np.array(0, kind)))


def _parameters(numbers: Sequence[float], axis: int | None, type: Attribute) -> SSAValue:
    """One number for all places of a tensor, or one for each place on an axis."""
    tensor = cast(Tensor, type)
    array = np.array(numbers if axis is not None else numbers[0]).astype(element_dtype(tensor.element_type))
    value = constant_attribute(array)
    made = _make("constant", [], TensorType(tensor.element_type, array.shape), value=value)
    dimensions = int_array(() if axis is None else (axis,))
    return made if made.type == type else _make("broadcast_in_dim", [made], type, broadcast_dimensions=dimensions)


def _make(name: str, operands: Sequence[SSAValue], type: Attribute, **properties: Attribute) -> SSAValue:
    op = BY_NAME[f"stablehlo.{name}"].create(operands=operands, result_types=[type], properties=properties)
    return op.results[0]
