"""What modules of linalg, tensor, arith and math mean, on NumPy: an oracle for the conversion, independent of its code.

A structured op is read as MLIR defines it: for every point of its loops, the body on the elements that the indexing
maps give. Only what the conversion writes has a meaning here; reductions combine by one op.

A tensor that is empty knows of each element whether somebody has written it since. Nobody may read one that nobody has
written, nor return it.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np
from xdsl.dialects import arith, func, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, IndexType, ModuleOp, ShapedType
from xdsl.dialects.linalg.ops import GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import DYNAMIC, element_dtype, is_tensor, tensor_type
from fuse_dialect.frontends.mlir.linalg_forms import FORMS, Form
from fuse_dialect.frontends.mlir.named_linalg import NAMED_OPS
from fuse_dialect.interpreters.scalar import evaluate_scalar
from fuse_dialect.loops.meanings import evaluate_function

COMBINED: Mapping[str, np.ufunc] = {
    "arith.addf": np.add,
    "arith.addi": np.add,
    "arith.mulf": np.multiply,
    "arith.muli": np.multiply,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
}
Values = dict[SSAValue, Array]


class Parts(np.ndarray):
    """An array of which some elements may not be written yet; what is computed of it is an array like others."""

    written: Array | None = None
    """Whether each element is written; `None` for all."""

    @staticmethod
    def of(array: Array, written: Array) -> Array:
        """An array with what is written of it."""
        if written.all():
            return np.asarray(array)
        parts = np.array(array).view(Parts)
        parts.written = written
        return parts


def written_of(array: Array) -> Array:
    """Whether each element of an array is written."""
    written = array.written if isinstance(array, Parts) else None
    return np.ones(np.shape(array), np.bool_) if written is None else written


def check_written(array: Array, op: Operation, places: tuple[Array, ...] | None = None) -> None:
    """See that what an op reads is written."""
    written = written_of(array)
    read = written if places is None else written[places]
    assert read.all(), f"nobody has written what is read: {op}"


def run_linalg(module: ModuleOp, arguments: Sequence[Array], entry: str = "main") -> list[Array]:
    """The results of a function; unsigned integers are given and come back as signed ones."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    block = functions[entry].body.block
    return _run(module, block, dict(zip(block.args, map(_signless, arguments), strict=True)))


def _run(module: ModuleOp, block: Block, values: Values) -> list[Array]:
    """What the end of a block is given."""
    for op in block.ops:
        operands = [values[operand] for operand in op.operands]
        match op:
            case func.ReturnOp():
                for operand in operands:
                    check_written(operand, op)
                return operands
            case scf.YieldOp() | scf.ConditionOp():
                return operands
            case func.CallOp():
                results = run_linalg(module, operands, op.callee.root_reference.data)
            case scf.IfOp():
                region = op.true_region if operands[0] else op.false_region
                results = _run(module, region.block, dict(values))
            case scf.ForOp():
                first, last, step, *results = operands
                for number in range(int(first), int(last), int(step)):
                    given = dict(zip(op.body.block.args, [np.array(number), *results], strict=True))
                    results = _run(module, op.body.block, {**values, **given})
            case scf.WhileOp():
                results = _looped(module, op, operands, values)
            case _:
                results = [_result(op, operands, values)]
        for result, array in zip(op.results, results, strict=True):
            _check_type(result.type, array, op)
            values[result] = array
    raise AssertionError("a block has an end")


def _looped(module: ModuleOp, op: scf.WhileOp, carried: list[Array], outer: Values) -> list[Array]:
    before, after = op.before_region.block, op.after_region.block
    while True:
        goes_on, *given = _run(module, before, {**outer, **dict(zip(before.args, carried, strict=True))})
        if not goes_on:
            return given
        carried = _run(module, after, {**outer, **dict(zip(after.args, given, strict=True))})


def _check_type(type: Attribute, array: Array, op: Operation) -> None:
    if not isinstance(type, ShapedType):
        return
    assert is_tensor(type), op
    sizes = type.get_shape()
    assert len(sizes) == array.ndim, op
    assert all(size in (DYNAMIC, own) for size, own in zip(sizes, array.shape, strict=True)), f"{op}: {array.shape}"


def _signless(array: Array) -> Array:
    return array.view(f"i{array.dtype.itemsize}") if array.dtype.kind == "u" else array


def _result(op: Operation, operands: Sequence[Array], values: Values) -> Array:
    match op:
        case arith.ConstantOp() if isinstance(op.result.type, IndexType):
            return np.array(op.value.value.data)
        case arith.ConstantOp():
            return constant_array(op.value)
        case tensor.EmptyOp():
            sizes = iter(operands)
            type = tensor_type(op.tensor)
            shape = [int(next(sizes)) if size == DYNAMIC else size for size in type.get_shape()]
            elements = np.full(shape, 77).astype(element_dtype(type.element_type))  # nobody may rely on it
            return Parts.of(elements, np.zeros(shape, np.bool_))
        case tensor.DimOp() | tensor.ExtractOp():
            return _scalar(op, operands, [])
        case tensor.FromElementsOp():
            type = tensor_type(op.result)
            return np.array(operands).reshape(type.get_shape()).astype(element_dtype(type.element_type))
        case tensor.CastOp():
            return operands[0]
        case tensor.CollapseShapeOp() | tensor.ExpandShapeOp():
            shape = list(tensor_type(op.result).get_shape())
            if isinstance(op, tensor.CollapseShapeOp):
                groups = [[axis.value.data for axis in group] for group in op.reassociation]
                shape = [prod(operands[0].shape[axis] for axis in group) for group in groups]
            return Parts.of(operands[0].reshape(shape), written_of(operands[0]).reshape(shape))
        case tensor.PadOp():
            return Parts.of(_padded(op, operands[0]), _padded(op, written_of(operands[0]), fill=True))
        case tensor.ExtractSliceOp():
            place, rank = _slices(op, [int(number) for number in operands[1:]]), tensor_type(op.result).get_num_dims()
            taken, written = (array[place] for array in (operands[0], written_of(operands[0])))
            shape = taken.shape[taken.ndim - rank :]
            return Parts.of(taken.reshape(shape), written.reshape(shape))
        case tensor.InsertSliceOp():
            whole, written = np.array(operands[1]), written_of(operands[1]).copy()
            place = _slices(op, [int(number) for number in operands[2:]])
            whole[place] = operands[0].reshape(whole[place].shape)
            written[place] = written_of(operands[0]).reshape(whole[place].shape)
            return Parts.of(whole, written)
        case GenericOp():
            return _structured(op, op.body.block, [map.data for map in op.indexing_maps], operands, values)
        case _ if op.name == "linalg.fill":
            return np.full(operands[1].shape, operands[0])
        case _ if (name := op.name.removeprefix("linalg.")) in FORMS:
            region = NAMED_OPS[name].hidden_region(op.operands[:-1], op.operands[-1:])
            return _structured(op, region.block, _maps(op, FORMS[name]), operands, values)
        case _ if op.name.startswith(("arith.", "math.")):
            return _scalar(op, operands, [])
        case _:
            raise AssertionError(f"no meaning for {op.name}")


def _padded(op: tensor.PadOp, array: Array, fill: bool | None = None) -> Array:
    constant = op.region.block.first_op
    assert isinstance(constant, arith.ConstantOp)
    widths = list(zip(op.static_low.get_values(), op.static_high.get_values(), strict=True))
    return np.pad(array, widths, constant_values=constant_array(constant.value).item() if fill is None else fill)


def _slices(op: tensor.ExtractSliceOp | tensor.InsertSliceOp, dynamic: Sequence[int]) -> tuple[slice, ...]:
    numbers = iter(dynamic)
    offsets, sizes = (
        [next(numbers) if number == DYNAMIC_INDEX else number for number in own.get_values()]
        for own in (op.static_offsets, op.static_sizes)
    )
    return tuple(
        slice(start, start + (size - 1) * step + 1 if size else start, step)
        for start, size, step in zip(offsets, sizes, op.static_strides.get_values(), strict=True)
    )


def _maps(op: Operation, form: Form) -> list[AffineMap]:
    """The indexing maps of a named op, from its form."""
    loops = [*form.parallel.split(), *form.reduced.split()]
    strides, dilations = (_integers(op.properties.get(name)) for name in ("strides", "dilations"))

    def axis(text: str) -> AffineExpr:
        total = AffineExpr.constant(0)
        for term in text.split("+"):
            factor = next(strides) if term.startswith("s*") else next(dilations) if term.startswith("d*") else 1
            total = total + AffineExpr.dimension(loops.index(term[-1])) * factor
        return total

    inputs = [AffineMap(len(loops), 0, tuple(map(axis, text.split()))) for text in form.inputs]
    return [*inputs, AffineMap(len(loops), 0, tuple(map(axis, form.parallel.split())))]


def _integers(attribute: Attribute | None) -> Iterator[int]:
    return iter(attribute.get_values() if isinstance(attribute, DenseIntOrFPElementsAttr) else ())


def _index(expression: AffineExpr, loops: Sequence[Array]) -> Array:
    match expression:
        case AffineDimExpr():
            return loops[expression.position]
        case AffineConstantExpr():
            return np.array(expression.value)
        case AffineBinaryOpExpr():
            left, right = _index(expression.lhs, loops), _index(expression.rhs, loops)
            return left + right if expression.kind is AffineBinaryOpKind.Add else left * right
        case _:
            raise AssertionError(expression)


def _extents(maps: Sequence[AffineMap], operands: Sequence[Array]) -> list[int]:
    """Sizes of the loops: those of axes that a loop indexes alone, as MLIR finds them."""
    extents: dict[int, int] = {}
    for map, operand in zip(maps, operands, strict=True):
        for expression, size in zip(map.results, operand.shape, strict=True):
            if isinstance(expression, AffineDimExpr):
                assert extents.setdefault(expression.position, size) == size, "sizes of loops contradict each other"
    return [extents[axis] for axis in range(maps[0].num_dims)]


def _structured(
    op: Operation, block: Block, maps: Sequence[AffineMap], operands: Sequence[Array], outer: Values
) -> Array:
    extents = _extents(maps, operands)
    loops = [own.astype(np.int64) for own in np.ogrid[tuple(slice(size) for size in extents)]] if extents else []
    values: Values = dict(outer)
    for argument, map, operand in zip(block.args, maps, operands, strict=True):
        places = tuple(_index(expression, loops) for expression in map.results)
        if prod(extents):
            if argument.uses:
                check_written(operand, op, places or None)
            values[argument] = np.asarray(operand[places] if places else operand)
        else:
            values[argument] = np.zeros(extents, operand.dtype)
    rank = len(maps[-1].results)
    *ops, end = block.ops
    assert isinstance(end, YieldOp)
    last = end.operands[0].owner
    is_reduced = len(extents) > rank
    for inner in ops if not is_reduced else [inner for inner in ops if inner is not last]:
        values[inner.results[0]] = _scalar(inner, [values[operand] for operand in inner.operands], loops)
    if not is_reduced:
        result = np.broadcast_to(values[end.operands[0]], extents)
        return result.astype(operands[-1].dtype, copy=False)
    assert isinstance(last, Operation)
    assert last.operands[0] is block.args[-1], "the total comes first, as in the named ops"
    element = np.broadcast_to(values[last.operands[1]], extents)
    if not element.size:
        return operands[-1]  # what a combination starts with is all there is
    total = _combine(last.name, element, tuple(range(rank, len(extents))))
    with np.errstate(all="ignore"):
        return evaluate_function(last.name, [operands[-1], total], operands[-1].dtype)


def _combine(name: str, element: Array, axes: tuple[int, ...]) -> Array:
    if name in ("arith.maxui", "arith.minui"):
        unsigned = element.view(f"u{element.dtype.itemsize}")
        return (unsigned.max if name == "arith.maxui" else unsigned.min)(axis=axes).view(element.dtype)
    with np.errstate(all="ignore"):
        return COMBINED[name].reduce(element, axis=axes, dtype=element.dtype)


def _scalar(op: Operation, operands: Sequence[Array], loops: Sequence[Array]) -> Array:
    match op:
        case IndexOp():
            return loops[op.dim.value.data]
        case arith.ConstantOp() if isinstance(op.result.type, IndexType):
            return np.array(op.value.value.data, np.int64)
        case arith.IndexCastOp():
            type = op.result.type
            return operands[0].astype(np.int64 if isinstance(type, IndexType) else element_dtype(type))
        case arith.BitcastOp():
            return operands[0].view(element_dtype(op.results[0].type))
        case tensor.ExtractOp():
            table, *places = operands
            assert all(
                not place.size or (place.min() >= 0 and place.max() < size)
                for place, size in zip(places, table.shape, strict=True)
            ), "an element is read outside its tensor"
            if table.size:
                check_written(table, op, tuple(np.asarray(place) for place in places))
            return (
                np.asarray(table)[tuple(places)]
                if table.size
                else np.zeros(np.broadcast_shapes(*map(np.shape, places)))
            )
        case tensor.DimOp():
            return np.array(operands[0].shape[int(operands[1])])
        case _ if isinstance(op.results[0].type, IndexType):
            with np.errstate(all="ignore"):
                return evaluate_function(op.name, operands, np.dtype(np.int64))
        case _:
            with np.errstate(all="ignore"):
                return evaluate_scalar(op, operands)
