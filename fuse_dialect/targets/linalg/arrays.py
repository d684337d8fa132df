"""The tensors that stand for the buffers of a loop program while it becomes linalg."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    TupleType,
    f16,
    f32,
    f64,
)
from xdsl.ir import Attribute, SSAValue, TypeAttribute

from fuse_dialect.counts import Size
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.loops.program import Body, Buffer, Extent, Inside, Read, Role

_FLOATS: Mapping[str, Attribute] = {"f16": f16, "f32": f32, "f64": f64, "bf16": BFloat16Type()}


def element_type(name: str) -> Attribute:
    """The type of an element as a loop program names it, without a sign: `ui8` is i8."""
    return _FLOATS.get(name) or IntegerType(int(name.lstrip("ui")))


def signless_type(type: Attribute) -> Attribute:
    """The type with signless integers, which are all that `arith` takes."""
    match type:
        case IntegerType():
            return IntegerType(type.width.data)
        case TensorType():
            return TensorType(signless_type(type.get_element_type()), type.get_shape(), type.encoding)
        case TupleType():
            return TupleType(tuple(cast(TypeAttribute, signless_type(part)) for part in type.types))
        case FunctionType():
            return FunctionType.from_lists(
                [signless_type(part) for part in type.inputs], [signless_type(part) for part in type.outputs]
            )
        case _:
            return type


def index_constant(value: int) -> SSAValue:
    """A number of type index."""
    return arith.ConstantOp(IntegerAttr(value, IndexType())).result


def static_shape(shape: Sequence[Size]) -> list[int]:
    """Sizes as a tensor type spells them: names are `?`."""
    return [size if isinstance(size, int) else DYNAMIC_INDEX for size in shape]


@dataclass(eq=False, slots=True)
class Arrays:
    """Tensors by the name of their buffer; ops are created at the open builder."""

    buffers: Mapping[str, Buffer]
    values: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    """Buffers that are whole."""
    pieces: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    """Buffers of which pieces are written."""
    fetch: Callable[[str], SSAValue] | None = None
    """The tensor of an argument that nobody has read yet, by its buffer's name."""
    sizes: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    """Sizes that have been found, by name."""

    def size(self, size: Size) -> SSAValue:
        """A size as a value of type index."""
        if isinstance(size, int):
            return index_constant(size)
        if size not in self.sizes:
            self.sizes[size] = self._measured(size)
        return self.sizes[size]

    def measure(self, body: Body) -> None:
        """Find the sizes that a body asks for, outside of the region that it becomes."""
        for instruction in body:
            match instruction:
                case Extent(size):
                    self.size(size)
                case Read(guards=guards) | Inside(guards):
                    for guard in guards:
                        if isinstance(guard.size, str):
                            self.size(guard.size)
                case _:
                    pass

    def _measured(self, size: str) -> SSAValue:
        known = [name for name in self.values if size in self.buffers[name].shape]
        arguments = [name for name, own in self.buffers.items() if own.role is Role.ARGUMENT and size in own.shape]
        name = next(iter((*known, *arguments)))
        value = self.fetch(name) if name not in self.values and self.fetch is not None else self.values[name]
        return tensor.DimOp(value, index_constant(self.buffers[name].shape.index(size))).result

    def empty(self, shape: Sequence[Size], element: Attribute) -> SSAValue:
        """A tensor of unknown elements."""
        dynamic = [self.size(size) for size in shape if isinstance(size, str)]
        return tensor.EmptyOp(dynamic, TensorType(element, static_shape(shape))).tensor

    def typed(self, value: SSAValue, shape: Sequence[Size]) -> SSAValue:
        """The tensor with a type that says no more and no less than the shape."""
        assert is_tensor(value.type), "buffers are tensors"
        type = TensorType(value.type.element_type, static_shape(shape))
        return value if value.type == type else tensor.CastOp(value, type).dest
