"""Trips that do not fit into the limits of their template, cut into tiles of rows: `tile-trips` of `fuse-ops-hw`.

    %tiles = fuse.loop rows(%starts : tensor<6xi64>) -> (tensor<6x1x8x4x56xf32>) {
    ^bb0(%i: tensor<i64>, %start: tensor<i64>):
      %rows = fuse.add %start, %offsets
      %x_rows = fuse.take %x, %rows, axis = 2
      %tile = func.call @fused_conv2d_relu_tile_1(%x_rows)
      fuse.yield %tile
    }

1. The law of trips has seen to it that a tile of one row fits (`TripLaw`). Tiles get as many rows as fit.
2. Tiles of the same sizes and padding are one function, a trip of its own: padding stands at the edges of the feature
   map alone. Neighbours of one function are a loop, a tile by itself is a call.
3. Each operator that reads a value from outside reads rows of its own; what has no rows is read whole by each tile.
4. The rows of the results are put together. The ops that address memory for it, and the calls, carry `fuse.tile`: the
   name of the trip, and which call of it, if there are several.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, ModuleOp, StringAttr, TensorType, i64
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.broadcast import AddOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE, TILE_ATTRIBUTE
from fuse_dialect.dialect.ops.indexing import StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, TransposeOp
from fuse_dialect.dialect.ops.regions import LoopOp, YieldOp
from fuse_dialect.dialect.types import byte_count, tensor, tensor_type, with_shape
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.hardware.row_windows import row_window, rows_of
from fuse_dialect.hardware.trip_bytes import held_by
from fuse_dialect.templates.regions import exceeded
from fuse_dialect.templates.template import HardwareTemplate
from fuse_dialect.templates.tiles import StepRows, TileStep, most_rows, rows_of_steps


@dataclass(frozen=True, slots=True)
class _Read:
    """What tiles read of one argument of the trip."""

    argument: int
    rows: tuple[tuple[int, int], ...] | None
    """For each tile the first row and how many; `None` for the whole."""


@dataclass(frozen=True, slots=True)
class _Tiling:
    """How a trip is cut."""

    axis: int
    firsts: Sequence[int]
    """First row of the result of each tile."""
    steps: Sequence[Sequence[StepRows]]
    """For each tile the rows of each operator."""
    counts: Sequence[int]
    """Rows of the result of each tile."""
    reads: Sequence[_Read]
    place_of: dict[tuple[int, int], int]
    """For an operator and an operand from outside the number of its read."""


def tile_trips(module: ModuleOp, template: HardwareTemplate, axis: int) -> None:
    """Cut the trips of a module that are beyond the limits of the template; linear in ops and tiles.

    Args:
        module: One that has been fused by a law that lets trips be cut; it is changed.
        template: The hardware.
        axis: The axis of rows of feature maps.
    """
    calls: dict[str, list[func.CallOp]] = {}
    for op in module.walk():
        if isinstance(op, func.CallOp):
            calls.setdefault(op.callee.string_value(), []).append(op)
    names = {op.sym_name.data for op in module.walk() if isinstance(op, func.FuncOp)}
    for function in [op for op in module.walk() if isinstance(op, func.FuncOp) and HARDWARE_ATTRIBUTE in op.attributes]:
        own = calls.get(function.sym_name.data, [])
        constants = (
            {place for place, value in enumerate(own[0].operands) if own and is_constant_value(value)}
            if own
            else set[int]()
        )
        tiling = _tiling(function, template, constants, axis)
        if tiling is not None:
            _Tiler(function, tiling, names).replace(own)


def is_constant_value(value: SSAValue) -> bool:
    """Whether a constant gives the value."""
    return isinstance(value, OpResult) and is_constant(value.op)


def _tiling(function: func.FuncOp, template: HardwareTemplate, constants: set[int], axis: int) -> _Tiling | None:
    """How the trip is cut; `None` if it fits, or cannot be cut.

    Args:
        function: The trip.
        template: The hardware.
        constants: Numbers of the arguments that are constants.
        axis: The axis of rows.
    """
    block = function.body.block
    ops = [op for op in block.ops if not is_constant(op) and not isinstance(op, func.ReturnOp)]
    views = {each.operator for each in template.virtual}
    held = held_by(function, template, constants)
    if exceeded(template, held) is None:
        return None
    steps: list[TileStep] = []
    for place, op in enumerate(ops):
        window = row_window(op, axis)
        if isinstance(window, str) or (place and not any(value.owner is ops[place - 1] for value in op.operands)):
            return None
        values = {value: each in window.sliced for each, value in enumerate(op.operands)}
        outside = {value: cut for value, cut in values.items() if value in block.args}
        sliced = sum(_row(value, axis) for value, cut in outside.items() if cut)
        whole = sum(
            _bytes(value) for value, cut in outside.items() if not cut and block.args.index(value) not in constants
        )
        size = rows_of(op.operands[min(window.sliced)].type, axis)
        row = 0 if op_name(op) in views else _row(op.results[0], axis)
        steps.append(TileStep(window, size, row, sliced, whole))
    total = rows_of(ops[-1].results[0].type, axis)
    rows = most_rows(steps, total, template, held.weights)
    if not rows or not isinstance(block.last_op, func.ReturnOp) or len(block.last_op.operands) != 1:
        return None
    firsts = range(0, total, rows)
    counts = [min(rows, total - first) for first in firsts]
    found = [rows_of_steps(steps, first, count) for first, count in zip(firsts, counts, strict=True)]
    reads: dict[_Read, int] = {}
    place_of: dict[tuple[int, int], int] = {}
    for place, (op, step) in enumerate(zip(ops, steps, strict=True)):
        for each, value in enumerate(op.operands):
            if value in block.args:
                cut = tuple((tile[place].first, tile[place].count) for tile in found)
                read = _Read(block.args.index(value), cut if each in step.window.sliced else None)
                place_of[place, each] = reads.setdefault(read, len(reads))
    return _Tiling(axis, firsts, found, counts, list(reads), place_of)


def _bytes(value: SSAValue) -> int:
    return byte_count(value.type) or 0


def _row(value: SSAValue, axis: int) -> int:
    return _bytes(value) // max(1, rows_of(value.type, axis))


class _Tiler:
    """Cuts one trip."""

    def __init__(self, function: func.FuncOp, tiling: _Tiling, names: set[str]):
        self.function = function
        self.tiling = tiling
        self.names = names
        self.mark = StringAttr(function.sym_name.data)

    def replace(self, calls: Sequence[func.CallOp]) -> None:
        """Put tiles in the place of the calls, and of the function."""
        tiling = self.tiling
        numbers = range(len(tiling.firsts))
        runs = [list(run) for _, run in groupby(numbers, self._shape)]
        made: dict[object, str] = {}
        for run in runs:
            shape = self._shape(run[0])
            if shape not in made:
                made[shape] = self._function_of(run[0], len(made))
        for number, call in enumerate(calls):
            if number:
                self.mark = StringAttr(f"{self.function.sym_name.data}, call {number + 1}")
            parts = [self._run(call, run, made[self._shape(run[0])]) for run in runs]
            value = parts[0] if len(parts) == 1 else self._add(call, ConcatenateOp(*parts, axis=tiling.axis))
            value.name_hint = call.results[0].name_hint
            call.results[0].replace_all_uses_with(value)
            Rewriter.erase_op(call)
        Rewriter.erase_op(self.function)

    def _shape(self, tile: int) -> object:
        """(2) What tiles of one function have in common."""
        steps = self.tiling.steps[tile]
        return self.tiling.counts[tile], tuple((each.count, each.above, each.below) for each in steps)

    def _function_of(self, tile: int, number: int) -> str:
        """A function for one tile and those like it."""
        tiling, old = self.tiling, self.function.body.block
        body = Block(arg_types=[self._read_type(read, tile) for read in tiling.reads])
        for read, argument in zip(tiling.reads, body.args, strict=True):
            argument.name_hint = old.args[read.argument].name_hint
        values: dict[SSAValue, SSAValue] = {}
        place = 0
        for op in old.ops:
            copy = op.clone(values)
            body.add_op(copy)
            if isinstance(op, func.ReturnOp) or is_constant(op):
                continue
            for each in range(len(copy.operands)):
                if (place, each) in tiling.place_of:
                    copy.operands[each] = body.args[tiling.place_of[place, each]]
            values[op.results[0]] = self._cut(copy, place, tile)
            place += 1
        name = self._name(number)
        types = (
            [value.type for value in body.args],
            [value.type for value in body.last_op.operands] if body.last_op else [],
        )
        new = func.FuncOp(name, types, Region(body), visibility="private")
        new.attributes.update(self.function.attributes)
        new.location = self.function.location
        Rewriter.insert_op(new, InsertPoint.before(self.function))
        return name

    def _name(self, number: int) -> str:
        name = wanted = f"{self.function.sym_name.data}_tile_{number}"
        while name in self.names:
            number += 1
            name = f"{wanted}_{number}"
        self.names.add(name)
        return name

    def _cut(self, op: Operation, place: int, tile: int) -> SSAValue:
        """The operator on the rows of a tile: its padding is that at the edges, its result has fewer rows."""
        tiling = self.tiling
        rows = tiling.steps[tile][place]
        following = tiling.steps[tile][place + 1 :]
        count = following[0].count if following else tiling.counts[tile]
        padding, grown = op.properties.get("padding"), op.properties.get("output_padding")
        if isinstance(padding, DenseArrayBase):
            _, left, _, right = map(int, padding.get_values())
            op.properties["padding"] = DenseArrayBase.from_list(i64, [rows.above, left, max(0, rows.below), right])
        if isinstance(grown, DenseArrayBase):
            _, right = map(int, grown.get_values())
            op.properties["output_padding"] = DenseArrayBase.from_list(i64, [max(0, -rows.below), right])
        assert isinstance(op, FuseOp), "ops of other dialects are not cut"
        type = tensor_type(op.results[0])
        shape = list(type.get_shape())
        shape[tiling.axis] = count
        return Rewriter.replace_value_with_new_type(op.results[0], with_shape(type, shape))

    def _read_type(self, read: _Read, tile: int) -> TensorType:
        type = tensor_type(self.function.body.block.args[read.argument])
        shape = list(type.get_shape())
        if read.rows is not None:
            shape[self.tiling.axis] = read.rows[tile][1]
        return with_shape(type, shape)

    def _add(self, call: func.CallOp, op: Operation) -> SSAValue:
        self._marked(call, op)
        Rewriter.insert_op(op, InsertPoint.before(call))
        return op.results[0]

    def _marked(self, call: func.CallOp, op: Operation) -> None:
        op.location = call.location
        op.attributes[TILE_ATTRIBUTE] = self.mark

    def _run(self, call: func.CallOp, run: Sequence[int], name: str) -> SSAValue:
        """The rows of the result that neighbouring tiles of one function give."""
        if len(run) == 1:
            operands = [self._slice(call, read, run[0]) for read in self.tiling.reads]
            return self._add(call, self._call(call, name, operands, run[0]))
        return self._loop(call, run, name)

    def _call(self, call: func.CallOp, name: str, operands: Sequence[SSAValue], tile: int) -> func.CallOp:
        type = tensor_type(call.results[0])
        shape = list(type.get_shape())
        shape[self.tiling.axis] = self.tiling.counts[tile]
        new = func.CallOp(name, list(operands), [with_shape(type, shape)])
        new.attributes.update(call.attributes)
        return new

    def _slice(self, call: func.CallOp, read: _Read, tile: int) -> SSAValue:
        value = call.operands[read.argument]
        if read.rows is None:
            return value
        first, count = read.rows[tile]
        if count == rows_of(value.type, self.tiling.axis):
            return value
        return self._add(call, StridedSliceOp(value, begin=[first], end=[first + count], axes=[self.tiling.axis]))

    def _loop(self, call: func.CallOp, run: Sequence[int], name: str) -> SSAValue:
        cut = [read for read in self.tiling.reads if read.rows is not None]
        starts = [self._numbers(call, [read.rows[tile][0] for tile in run]) for read in cut if read.rows is not None]
        offsets = [self._numbers(call, range(read.rows[run[0]][1])) for read in cut if read.rows is not None]
        scalar = tensor([], i64)
        body = Block(arg_types=[scalar] * (1 + len(cut)))
        operands: list[SSAValue] = []
        places = {id(read): place for place, read in enumerate(cut)}
        for read in self.tiling.reads:
            value = call.operands[read.argument]
            if read.rows is None:
                operands.append(value)
                continue
            place = places[id(read)]
            rows = AddOp(body.args[1 + place], offsets[place])
            taken = TakeOp(value, rows, axis=self.tiling.axis, mode="fast")
            body.add_ops([rows, taken])
            operands.append(taken.result)
        new = self._call(call, name, operands, run[0])
        body.add_ops([new, YieldOp(new.results[0])])
        for op in body.ops:
            if not isinstance(op, YieldOp):
                self._marked(call, op)
        stacked = self._add(call, LoopOp(body, rows=starts))
        return self._unstacked(call, stacked)

    def _unstacked(self, call: func.CallOp, stacked: SSAValue) -> SSAValue:
        """The tiles of a loop one behind the other along their rows."""
        axis, shape = self.tiling.axis, list(tensor_type(stacked).get_shape())
        order = [*range(1, axis + 1), 0, *range(axis + 1, len(shape))]
        moved = self._add(call, TransposeOp(stacked, permutation=order))
        whole = [*shape[1 : axis + 1], shape[0] * shape[axis + 1], *shape[axis + 2 :]]
        return self._add(call, ReshapeOp(moved, result_types=[with_shape(tensor_type(stacked), whole)]))

    def _numbers(self, call: func.CallOp, numbers: Sequence[int]) -> SSAValue:
        type = TensorType(i64, [len(numbers)])
        return self._add(call, arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, list(numbers))))
