"""Stages that are written one after the other, on tensors: for ops whose sizes are data, and for sequential ones.

Each step is a small loop program, written in the language of `FuseOp.loops`: what an element is, in a `Nest` over the
tensors that it reads. A size that is data is scalar code on tensors that are there already.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, TensorType, i64
from xdsl.ir import Attribute, SSAValue

from fuse_dialect.counts import Size
from fuse_dialect.dialect.loops import RESULT, LoopOperand, Nest
from fuse_dialect.dialect.types import DYNAMIC, Tensor, is_tensor, tensor_type
from fuse_dialect.loops.program import Buffer, Literal, LoopProgram, Role
from fuse_dialect.loops.rewriting import renamed, with_sizes
from fuse_dialect.loops.simplify import cleaned
from fuse_dialect.loops.sizes import Sizes
from fuse_dialect.targets.linalg.arrays import Arrays, element_type, signless_type, static_shape
from fuse_dialect.targets.linalg.scalars import BodyWriter
from fuse_dialect.targets.linalg.stages import write_stage
from fuse_dialect.targets.linalg.unordered import unordered

Compute: TypeAlias = Callable[[Nest], SSAValue]
"""Gives the element at the point of a nest, which reads some tables by number."""


@dataclass(frozen=True, slots=True)
class Table:
    """A tensor that steps read."""

    buffer: str
    type: Tensor
    """With the sign of its elements."""
    shape: tuple[Size, ...]
    value: SSAValue


@dataclass(eq=False, slots=True)
class Steps:
    """The tensors and sizes so far; ops are created at the open builder."""

    buffers: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    values: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    """Tensors by buffer."""
    known: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    """Sizes by name, of type index."""
    sizes: Sizes = field(default_factory=lambda: Sizes(are_computed_with=True))

    def inside(self) -> "Steps":
        """Steps in a region, from which no value reaches those outside."""
        return Steps(dict(self.buffers), dict(self.values), dict(self.known), self.sizes)

    def table(self, value: SSAValue, type: Attribute, shape: Sequence[Size] | None = None) -> Table:
        """A tensor of the new program as a table.

        Args:
            value: The tensor.
            type: With signs.
            shape: Its sizes, where they have names already.
        """
        assert is_tensor(type), "ops are on tensors"
        name = f"table{len(self.buffers)}"
        if shape is None:
            shape = [self.sizes.given() if size == DYNAMIC else size for size in tensor_type(value).get_shape()]
        self.buffers[name] = Buffer(name, str(type.element_type), tuple(shape), Role.ARGUMENT)
        self.values[name] = value
        return Table(name, type, tuple(shape), value)

    def size(self, tables: Sequence[Table], compute: Callable[[Nest], SSAValue | Size]) -> Size:
        """A size that scalar code gives, as i64, from some tables: a number, or the name of a new one."""
        nest = self._nest(tables, ())
        with nest.code.recording():
            value = compute(nest)
        if not isinstance(value, SSAValue):
            return value
        program = self._program(nest, value, tables, RESULT)
        (stage,) = program.stages
        match stage.body:
            case (Literal(number),):
                return int(number)
            case _:
                pass
        name, arrays = self.sizes.given(), self._arrays(program)
        arrays.measure(stage.body)
        self.known.update(arrays.sizes)
        self.known[name] = arith.IndexCastOp(BodyWriter(arrays, {}).write(stage.body), IndexType()).result
        return name

    def shape(
        self, type: Attribute, tables: Sequence[Table], compute: Callable[[Nest, int], SSAValue | Size]
    ) -> list[Size]:
        """The sizes of a result: those that its type says, and computed ones elsewhere.

        Args:
            type: Of the result.
            tables: What is read for it.
            compute: Gives the size along an axis.
        """
        assert is_tensor(type), "ops are on tensors"
        return [
            self.size(tables, lambda nest, axis=axis: compute(nest, axis)) if size == DYNAMIC else size
            for axis, size in enumerate(type.get_shape())
        ]

    def stored(self, shape: Sequence[Size], tables: Sequence[Table], compute: Compute) -> Table:
        """The tensor of the elements at all points of a shape.

        Raises:
            LoopFormError: A stage cannot be written.
        """
        nest, name = self._nest(tables, shape), f"table{len(self.buffers)}"
        with nest.code.recording():
            element = compute(nest)
        self.buffers[name] = Buffer(name, str(element.type), tuple(shape), Role.LOCAL)
        program = unordered(self._program(nest, element, tables, name))
        arrays = self._arrays(program)
        for stage in program.stages:
            write_stage(stage, arrays)
        self.known.update(arrays.sizes)
        self.values[name] = arrays.values[name]
        sizes = arrays.buffers[name].shape
        type = TensorType(element_type(str(element.type)), static_shape(sizes))
        return Table(name, type, sizes, arrays.values[name])

    def index(self, size: Size) -> SSAValue:
        """A size as a value of type index."""
        arrays = self._arrays(LoopProgram("", tuple(self.buffers.values()), ()))
        value = arrays.size(self.sizes.resolve(size))
        self.known.update(arrays.sizes)
        return value

    def number(self, index: SSAValue) -> Table:
        """A number of type index as a table of rank 0."""
        whole, type = arith.IndexCastOp(index, i64).result, TensorType(i64, [])
        return self.table(tensor.FromElementsOp(whole, result_type=type).result, type)

    def empty(self, shape: Sequence[Size], element: Attribute) -> SSAValue:
        """A tensor of unknown elements."""
        dynamic = [self.index(size) for size in shape if isinstance(size, str)]
        return tensor.EmptyOp(dynamic, TensorType(signless_type(element), static_shape(shape))).tensor

    def _nest(self, tables: Sequence[Table], shape: Sequence[Size]) -> Nest:
        return Nest([LoopOperand(table.type, table.shape) for table in tables], shape, self.sizes)

    def _program(self, nest: Nest, element: SSAValue, tables: Sequence[Table], result: str) -> LoopProgram:
        names = {RESULT: result, **{str(number): table.buffer for number, table in enumerate(tables)}}
        for buffer, _ in nest.intermediates:
            names[buffer.name] = unique = f"table{len(self.buffers)}"
            self.buffers[unique] = replace(buffer, name=unique)
        made = [*(stage for _, stage in nest.intermediates), nest.stage(element)]
        stages = tuple(renamed(cleaned(stage), names) for stage in made)
        return with_sizes(LoopProgram("", tuple(self.buffers.values()), stages), self.sizes)

    def _arrays(self, program: LoopProgram) -> Arrays:
        resolved = {self.sizes.resolve(name): value for name, value in self.known.items()}
        known = {name: value for name, value in resolved.items() if isinstance(name, str)}
        buffers = {buffer.name: buffer for buffer in program.buffers}
        return Arrays(buffers, dict(self.values), sizes={**known, **self.known})
