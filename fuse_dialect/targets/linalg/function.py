"""A function of `fuse` ops as one of `linalg` ops.

The ops of a function's block are of three sorts:

1. *Kept*: calls, constants, returns, ops of other dialects. They are copied, with types without a sign.
2. *Anchors*: products and pools, each written alone as a named op where it is one. *Reshapes* are written alone, too,
   and so are ops with a form of their own (`forms`), and each step of a trip through hardware: what is written for it
   keeps `fuse.unit`.
3. All others form one loop program, simplified as for a kernel, of which every stage becomes one `linalg.generic`;
   what anchors and kept ops compute are its arguments.

A stage is written when the first op asks for what it computes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeGuard, cast

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import (
    AnyDenseElement,
    DenseIntOrFPElementsAttr,
    FunctionType,
    IntegerAttr,
    TensorType,
    f32,
    f64,
    i64,
)
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.constants import constant_of
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.loops import LoopFormError
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.hardware import UNIT_ATTRIBUTE
from fuse_dialect.dialect.ops.normalization import SoftmaxOp
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp, YieldOp
from fuse_dialect.dialect.types import DYNAMIC, is_narrow, is_tensor, normalize_axis, tensor_type
from fuse_dialect.frontends.mlir import structured_linalg as linalg
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.loops.bodies import reads
from fuse_dialect.loops.program import LoopProgram, Refusal, Role, Stage
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.pattern_kind import PatternKind
from fuse_dialect.targets.linalg.arrays import Arrays, index_constant, signless_type
from fuse_dialect.targets.linalg.forms.open_sizes import SIZES, SizeRule
from fuse_dialect.targets.linalg.forms.table import FALLBACKS, WRITERS, Writer
from fuse_dialect.targets.linalg.regions import write_if, write_loop
from fuse_dialect.targets.linalg.reshapes import reshaped
from fuse_dialect.targets.linalg.stages import write_stage
from fuse_dialect.targets.linalg.steps import Steps
from fuse_dialect.targets.linalg.unordered import unordered

NO_FORM_HINT = "it has no form in linalg; `fuse-run` runs it"
"""What to do with an op that cannot be written."""


@dataclass(frozen=True, slots=True)
class ConvertedBlock:
    """A block that computes the same as another one, with upstream ops."""

    block: Block
    values: Mapping[SSAValue, SSAValue]
    """New values by old ones."""
    copies: Sequence[tuple[Operation, Operation]]
    """Ops with regions, and their copies, which have none yet."""

    def replace_in(self, region: Region) -> None:
        """Put the block in the place of the old one, whose regions move."""
        for old, copy in self.copies:
            for inner in list(old.regions):
                old.detach_region(inner)
                copy.add_region(inner)
            for op in copy.walk():
                op.operands = [self.values.get(operand, operand) for operand in op.operands]
        region.detach_block(region.block)
        region.add_block(self.block)


def converted_block(block: Block, *, named_softmax: bool = False) -> ConvertedBlock:
    """A block that computes the same with upstream ops; the old one is not changed.

    Args:
        block: The only block of a function.
        named_softmax: Write a softmax in f32 and f64 as `linalg.softmax`.

    Raises:
        OpError: An op has no form in linalg.
    """
    conversion = _Conversion(block, named_softmax=named_softmax)
    # What makes ops must be done before the builder is open, which takes all ops that are made.
    conversion.prepare()
    with building(conversion.new):
        conversion.write()
    return ConvertedBlock(conversion.new, conversion.values, conversion.copies)


def is_softmax(op: Operation) -> TypeGuard[SoftmaxOp]:
    """Whether an op is what `linalg.softmax` computes; halves are computed in f32, which that does not do."""
    return isinstance(op, SoftmaxOp) and tensor_type(op.input).element_type in (f32, f64)


def is_reshape(op: Operation) -> TypeGuard[FuseOp]:
    """Whether an op only gives its operand another static shape."""
    if not isinstance(op, FuseOp) or not op.RESHAPE_ONLY or len(op.operands) > 1:
        return False
    return all(size > 0 for value in (op.operands[0], op.results[0]) for size in tensor_type(value).get_shape())


def is_anchor(op: Operation) -> TypeGuard[FuseOp]:
    """Whether an op is written alone: a product, a pool, or anything else that reduces under windows."""
    return (
        isinstance(op, FuseOp)
        and op.kind is PatternKind.OUT_EWISE_FUSABLE
        and type(op).decompose is FuseOp.decompose
        and len(op.results) == 1
        and writer_of(op) is None
    )


def writer_of(op: Operation) -> Writer | None:
    """The form of its own that an op has: ops of some classes, others if no loop program says them."""
    if not isinstance(op, FuseOp) or any(is_tensor(type) and is_narrow(type.element_type) for type in op.operand_types):
        return None
    fallback = FALLBACKS.get(type(op))
    if fallback is not None and not is_reshape(op):
        return fallback if isinstance(_alone(op), Refusal) else None
    return WRITERS.get(type(op))


def size_rule_of(op: Operation) -> SizeRule | None:
    """What computes the sizes of an op's result, if its loop program does not know them."""
    if not isinstance(op, FuseOp) or type(op) not in SIZES:
        return None
    alone = _alone(op)
    return SIZES[type(op)] if isinstance(alone, LoopProgram) and _unknown_sizes(alone) else None


def _alone(op: FuseOp) -> LoopProgram | Refusal:
    return lower(_function_of([op], op.results, embeds_numbers=False)[0], for_kernels=False)


def _unknown_sizes(program: LoopProgram) -> list[str]:
    """Sizes of results that nothing says."""
    sizes = dict.fromkeys(size for buffer in program.buffers for size in buffer.shape)
    return [size for size in sizes if isinstance(size, str) and size.startswith("?")]


@dataclass(eq=False, slots=True)
class _Program:
    """A loop program and where its arguments and results come from."""

    loops: LoopProgram
    inputs: dict[str, SSAValue]
    """Old values by the buffer that holds them."""
    writers: dict[str, list[int]]
    """For each buffer the numbers of the stages that write it."""
    arrays: Arrays
    done: set[int] = field(default_factory=set[int])

    @property
    def results(self) -> list[str]:
        """Buffers of the results, in order."""
        return [buffer.name for buffer in self.loops.buffers if buffer.role is Role.RESULT]


class _Conversion:
    """One block while it is converted."""

    def __init__(self, block: Block, *, named_softmax: bool, outer: "_Conversion | None" = None):
        self.old = block
        self.named_softmax = named_softmax
        self.outer = outer
        """The block around it, all of whose values that this one reads are written before."""
        self.inner: dict[Region, _Conversion] = {}
        """The blocks of loops and branches."""
        self.softmaxes = {op for op in block.ops if named_softmax and is_softmax(op)}
        self.new = Block(arg_types=[signless_type(type) for type in block.arg_types])
        for old, new in zip(block.args, self.new.args, strict=True):
            new.name_hint = old.name_hint
        self.values: dict[SSAValue, SSAValue] = dict(zip(block.args, self.new.args, strict=True))
        self.sized = {op: rule for op in block.ops if (rule := size_rule_of(op)) is not None}
        """Ops whose results have sizes that are computed."""
        self.written = {op: writer for op in block.ops if (writer := writer_of(op)) is not None}
        """Ops with a form of their own."""
        self.looped = [
            op
            for op in block.ops
            if isinstance(op, FuseOp)
            and not is_anchor(op)
            and not is_reshape(op)
            and op not in self.softmaxes
            and op not in self.written
            and op not in self.sized
            and UNIT_ATTRIBUTE not in op.attributes
        ]
        self.alone: dict[Operation, _Program] = {}
        """Programs of anchors."""
        self.copies: list[tuple[Operation, Operation]] = []
        self.buffers: dict[SSAValue, str] = {}
        self.program: _Program | None = None

    def prepare(self) -> None:
        """Make the loop programs of this block and of those inside."""
        self.program = self._joint_program()
        self.alone = {
            op: _program([op], op.results, simple=False, is_sized=op in self.sized)
            for op in self.old.ops
            if isinstance(op, FuseOp) and (op in self.sized or is_anchor(op) or self._is_step(op))
        }
        for op in self.old.ops:
            if isinstance(op, LoopOp | IfOp):
                for region in op.regions:
                    self.inner[region] = _Conversion(region.block, named_softmax=self.named_softmax, outer=self)
                    self.inner[region].prepare()

    def write(self) -> None:
        """Write the block at the open builder."""
        looped = set(self.looped)
        for op in self.old.ops:
            if op in looped or isinstance(op, arith.ConstantOp | YieldOp):
                continue
            for operand in op.operands:
                self.need(operand)
            last = self.new.last_op
            self._write(op)
            if UNIT_ATTRIBUTE in op.attributes:
                _say_unit(op, self.new.first_op if last is None else last.next_op)

    def _is_step(self, op: Operation) -> bool:
        """Whether a unit of hardware runs the op, which is written alone then, whatever it could be one loop with."""
        return (
            UNIT_ATTRIBUTE in op.attributes
            and not is_reshape(op)
            and op not in self.softmaxes
            and op not in self.written
        )

    def write_region(self, region: Region, arguments: Sequence[SSAValue]) -> tuple[SSAValue | None, Sequence[SSAValue]]:
        """Write the block of a region at the open builder: what it yields."""
        inner, end = self.inner[region], region.block.last_op
        assert isinstance(end, YieldOp), "the verifier has seen the end of the region"
        inner.values = dict(zip(region.block.args, arguments, strict=True))
        inner.write()
        condition = None if end.condition is None else inner.need(end.condition)
        return condition, [inner.need(value) for value in end.values]

    def _joint_program(self) -> _Program | None:
        if not self.looped:
            return None
        looped = set[Operation](self.looped)
        results: list[SSAValue] = []
        for op in self.looped:
            for result in op.results:
                if any(use.operation not in looped for use in result.uses):
                    if not is_tensor(result.type):
                        raise OpError(
                            op, f"'{op.name}' op gives a tuple that is returned or handed on: linalg has none"
                        )
                    results.append(result)
        program = _program(self.looped, results, simple=True)
        self.buffers = dict(zip(results, program.results, strict=True))
        program.arrays.fetch = lambda buffer: self.need(program.inputs[buffer])
        return program

    def need(self, value: SSAValue) -> SSAValue:
        """The new value that stands for an old one; the stages that compute it are written now."""
        if value in self.values:
            return self.values[value]
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        if self.outer is not None and block is not self.old:
            return self.outer.need(value)
        if isinstance(value.owner, arith.ConstantOp):
            self.values[value] = _constant(value.owner)
        else:
            assert self.program is not None, "the block is in SSA order"
            self._write_stages(self.program, self.buffers[value])
            self.values[value] = _standing_for(self.program.arrays.values[self.buffers[value]], value)
        return self.values[value]

    def _write_stages(self, program: _Program, buffer: str) -> None:
        """Write the stages that a buffer needs, each after those that it reads; without recursion."""
        pending = [(buffer, False)]
        while pending:
            name, is_ready = pending.pop()
            if name in program.arrays.values and name not in program.arrays.pieces:
                continue
            if name in program.inputs:
                program.arrays.values[name] = self.need(program.inputs[name])
                continue
            stages = [number for number in program.writers[name] if number not in program.done]
            if is_ready:
                for number in stages:
                    self._write_stage(self.looped[0], program.loops.stages[number], program.arrays)
                    program.done.add(number)
            elif stages:
                pending.append((name, True))
                for number in reversed(stages):
                    stage = program.loops.stages[number]
                    read = dict.fromkeys(own.buffer for own in reads((*stage.body, *stage.finish)))
                    pending.extend((own, False) for own in reversed(read))

    def _write(self, op: Operation) -> None:
        """Write an op that is no part of the loop program."""
        if is_reshape(op):
            value = reshaped(self.need(op.operands[0]), tensor_type(op.results[0]).get_shape())
            self.values[op.results[0]] = _standing_for(value, op.results[0])
        elif op in self.softmaxes and isinstance(op, SoftmaxOp):
            self._write_softmax(op)
        elif op in self.alone:
            self._write_alone(op, self.alone[op])
        elif op in self.written:
            self._write_form(op, self.written[op])
        elif isinstance(op, LoopOp | IfOp):
            self._write_regions(op)
        elif any(isinstance(inner, FuseOp) for inner in op.walk()):
            raise OpError(op, f"'{op.name}' op holds ops in a region, which do not become linalg")
        else:
            self._copy(op)

    def _write_form(self, op: Operation, writer: Writer) -> None:
        steps = Steps()
        tables = [steps.table(self.need(operand), operand.type) for operand in op.operands]
        try:
            results = writer(op, steps, tables)
        except LoopFormError as error:
            raise OpError(op, f"'{op_name(op)}' op {error}", NO_FORM_HINT) from error
        for old, new in zip(op.results, results, strict=True):
            self.values[old] = _standing_for(new, old)

    def _write_regions(self, op: LoopOp | IfOp) -> None:
        self._need_what_is_read(op)
        try:
            if isinstance(op, IfOp):
                results = write_if(op, self.need(op.condition), self.write_region)
            else:
                results = write_loop(op, self.need, self.write_region)
        except LoopFormError as error:
            raise OpError(op, f"'{op_name(op)}' op {error}", NO_FORM_HINT) from error
        for old, new in zip(op.results, results, strict=True):
            self.values[old] = _standing_for(new, old)

    def _need_what_is_read(self, op: Operation) -> None:
        """Write the values of this block and of those around that the regions of an op read."""
        inside = {block for inner in op.walk() for region in inner.regions for block in region.blocks}
        for operand in [operand for inner in op.walk() for operand in inner.operands]:
            owner = operand.owner.parent if isinstance(operand.owner, Operation) else operand.owner
            if owner not in inside:
                self.need(operand)

    def _write_softmax(self, op: SoftmaxOp) -> None:
        value, type = self.need(op.input), tensor_type(op.input)
        places = [index_constant(axis) for axis, size in enumerate(type.get_shape()) if size == DYNAMIC]
        output = tensor.EmptyOp([tensor.DimOp(value, place).result for place in places], value.type).tensor
        axis = normalize_axis(op.axis.value.data, type.get_num_dims())
        properties = {"dimension": IntegerAttr(axis, i64)}
        softmax = linalg.SoftmaxOp(operands=[value, output], result_types=[[value.type]], properties=properties)
        self.values[op.result] = _standing_for(softmax.res[0], op.result)

    def _copy(self, op: Operation) -> None:
        if op.regions:
            self._need_what_is_read(op)
        # Regions move later, when nothing can fail any more.
        copy = op.create(
            operands=[self.need(operand) for operand in op.operands],
            result_types=[signless_type(type) for type in op.result_types],
            properties=op.properties,
            attributes=op.attributes,
            successors=op.successors,
        )
        copy.location = op.location
        if op.regions:
            self.copies.append((op, copy))
        for old, new in zip(op.results, copy.results, strict=True):
            self.values[old] = _standing_for(new, old)

    def _write_alone(self, op: Operation, program: _Program) -> None:
        program.arrays.values.update((buffer, self.need(value)) for buffer, value in program.inputs.items())
        if op in self.sized:
            steps = Steps()
            tables = [steps.table(self.need(operand), operand.type) for operand in op.operands]
            computed = steps.shape(op.results[0].type, tables, partial(self.sized[op], op))
            for name, size in zip(program.arrays.buffers[program.results[0]].shape, computed, strict=True):
                if isinstance(name, str) and name.startswith("?"):
                    program.arrays.sizes[name] = steps.index(size)
        for stage in program.loops.stages:
            self._write_stage(op, stage, program.arrays, is_anchor=True)
        for result, buffer in zip(op.results, program.results, strict=True):
            self.values[result] = _standing_for(program.arrays.values[buffer], result)

    def _write_stage(self, op: Operation, stage: Stage, arrays: Arrays, *, is_anchor: bool = False) -> None:
        try:
            write_stage(stage, arrays, is_anchor=is_anchor)
        except LoopFormError as error:
            raise OpError(op, f"'{op_name(op)}' op {error}") from error


def _say_unit(op: Operation, first: Operation | None) -> None:
    """Mark what has been written for an op of a trip, from `first` on, with the unit that runs it."""
    computing: list[Operation] = []
    while first is not None:
        if first.name.startswith("linalg.") and first.name != "linalg.fill":
            computing.append(first)
        last, first = first, first.next_op
        if first is None and not computing:
            computing.append(last)
    for each in computing:
        each.attributes[UNIT_ATTRIBUTE] = op.attributes[UNIT_ATTRIBUTE]


def _program(ops: Sequence[FuseOp], results: Sequence[SSAValue], *, simple: bool, is_sized: bool = False) -> _Program:
    """The loops of some ops of a block.

    Raises:
        OpError: One of the ops has no loops.
    """
    function, outside = _function_of(ops, results, embeds_numbers=simple)
    loops = lower(function, for_kernels=False)
    if isinstance(loops, Refusal) or (_unknown_sizes(loops) and not is_sized):
        for op in ops:
            match _alone(op):
                case Refusal(reason):
                    raise OpError(op, reason, NO_FORM_HINT)
                case alone if _unknown_sizes(alone):
                    reason = f"'{op_name(op)}' op has a result whose size does not follow from one size of an argument"
                    raise OpError(op, reason, NO_FORM_HINT)
                case _:
                    pass
        reason = loops.reason if isinstance(loops, Refusal) else "sizes of results are not known"
        raise OpError(ops[0], reason)
    loops = unordered(simplify(loops) if simple else loops)
    named = [buffer.name for buffer in loops.buffers if buffer.role is Role.ARGUMENT]
    writers: dict[str, list[int]] = {}
    for number, stage in enumerate(loops.stages):
        writers.setdefault(stage.buffer, []).append(number)
    arrays = Arrays({buffer.name: buffer for buffer in loops.buffers})
    return _Program(loops, dict(zip(named, outside, strict=True)), writers, arrays)


def _function_of(
    ops: Sequence[Operation], results: Sequence[SSAValue], *, embeds_numbers: bool
) -> tuple[func.FuncOp, list[SSAValue]]:
    """A function of copies of the ops, and the values of its arguments.

    Constants of one number are copied along if that is asked for: the loops have them as numbers.
    """
    inside = {result for op in ops for result in op.results}
    read = dict.fromkeys(operand for op in ops for operand in op.operands if operand not in inside)
    constants = {value for value in read if embeds_numbers and _is_number(value)}
    outside = [value for value in read if value not in constants]
    block = Block(arg_types=[value.type for value in outside])
    values: dict[SSAValue, SSAValue] = dict(zip(outside, block.args, strict=True))
    for value, argument in zip(outside, block.args, strict=True):
        argument.name_hint = value.name_hint
    owners = [value.owner for value in read if value in constants and isinstance(value.owner, Operation)]
    with building(block):
        for op in (*owners, *ops):
            op.clone(values)
        func.ReturnOp(*(values[result] for result in results))
    type = FunctionType.from_lists([value.type for value in outside], [result.type for result in results])
    return func.FuncOp("loops", type, Region(block)), outside


_MOST_COMPARED = 1 << 16
"""Elements; greater constants are not looked through for one number."""


def _is_number(value: SSAValue) -> bool:
    """Whether a value is a constant whose elements are all the same, to the bit."""
    array = constant_of(value)
    if array is None or not array.size:
        return False
    if not any(array.strides):
        return True
    data = array.tobytes() if array.size <= _MOST_COMPARED else b""
    return bool(data) and data == data[: array.itemsize] * array.size


def _constant(op: arith.ConstantOp) -> SSAValue:
    value = op.value
    if isinstance(value, DenseIntOrFPElementsAttr):
        type = cast(TensorType[AnyDenseElement], signless_type(value.type))
        value = DenseIntOrFPElementsAttr(type, value.data)
    return _standing_for(arith.ConstantOp(value).result, op.result)


def _standing_for(value: SSAValue, old: SSAValue) -> SSAValue:
    """The new value with the type and the name of the old one; a type may say more or less than the other."""
    type = signless_type(old.type)
    if value.type != type and is_tensor(type):
        value = tensor.CastOp(value, type).dest
    if old.name_hint is not None and value.name_hint is None and not isinstance(value, BlockArgument):
        value.name_hint = old.name_hint
    return value
