"""The nodes of one ONNX graph or function while it is written, and what every row of the table may ask for."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.defs import OpSchema
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.types import DYNAMIC, Shape, element_dtype, is_tensor
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.targets.onnx import element_types

LARGEST_LIST = 1 << 16
"""Elements that a node may hold as a constant; larger ones are initializers, which functions cannot have."""

_Number: TypeAlias = int | float | bool


class Names:
    """Names of one graph or function: each is given once, to a value of one element type."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}
        self.types: dict[str, str] = {}
        """Element types of values, as schemas write them, as far as they are known."""

    def unique(self, wanted: str) -> str:
        """The name, or the name and a number."""
        name = wanted
        while name in self._next:
            self._next[wanted] += 1
            name = f"{wanted}_{self._next[wanted]}"
        self._next[name] = 1
        return name


class GraphWriter:
    """Appends nodes. Values are named; a row of the table turns the names of operands into names of results."""

    def __init__(self, names: Names, node_names: Names, opset: int):
        self.names = names
        self.node_names = node_names
        """Of nodes, which ONNX keeps apart from those of values."""
        self.source: str | None = ""
        """Beginning of the names of nodes; where it is empty, that of values. `None` leaves nodes without names."""
        self.opset = opset
        self.op: Operation | None = None
        """What is being written, for errors."""
        self.nodes: list[onnx.NodeProto] = []
        self.hint = "v"
        """Beginning of the names of values without a name of their own."""
        self._constants: dict[tuple[str, Shape, bytes], str] = {}

    def emit(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """The result of a new node; an attribute that is `None` is left out."""
        return self.emit_all(op_type, inputs, 1, **attributes)[0]

    def emit_all(
        self, op_type: str, inputs: Sequence[str], outputs: int, domain: str = "", **attributes: Any
    ) -> list[str]:
        """The results of a new node.

        Raises:
            OpError: ONNX's operator does not take an operand's element type.
        """
        given = {name: value for name, value in attributes.items() if value is not None}
        schema = None if domain else element_types.schema_of(op_type, self.opset)
        types = [self.names.types.get(name) for name in inputs]
        variable = None if schema is None else element_types.refused(schema, types)
        if schema is not None and variable is not None:
            return self._emit_wide(schema, variable, inputs, outputs, given)
        results = [self.names.unique(self.hint) for _ in range(outputs)]
        name = None if self.source is None else self.node_names.unique(f"{self.source or self.hint}/{op_type}")
        self.nodes.append(helper.make_node(op_type, list(inputs), results, name=name, domain=domain, **given))
        if schema is not None:
            found = element_types.result_types(schema, types, outputs, given)
            self.names.types.update((name, text) for name, text in zip(results, found, strict=True) if text is not None)
        return results

    def _emit_wide(
        self, schema: OpSchema, variable: str, inputs: Sequence[str], outputs: int, attributes: dict[str, Any]
    ) -> list[str]:
        """The node between casts: the operator computes in `f32` what it does not take in fewer bits."""
        variables = element_types.variables_of(schema.inputs, len(inputs))
        operands = [
            self.cast(name, np.float32) if each == variable and name else name
            for name, each in zip(inputs, variables, strict=True)
        ]
        types = {self.names.types.get(name) for name, each in zip(inputs, variables, strict=True) if each == variable}
        narrow = next(iter(types - {None}))
        if narrow is None or not element_types.may_round(narrow) or schema.name == "Cast":
            assert self.op is not None, "nodes are made of ops"
            raise OpError(
                self.op, f"'{op_name(self.op)}' op cannot be written as ONNX: '{schema.name}' takes no {narrow}"
            )
        results = self.emit_all(schema.name, operands, outputs, **attributes)
        to = element_types.number_of(narrow)
        return [
            self.emit("Cast", name, to=to) if each == variable else name
            for name, each in zip(results, element_types.variables_of(schema.outputs, outputs), strict=True)
        ]

    def note_type(self, name: str, type: Attribute) -> None:
        """Remember the element type of a value."""
        if is_tensor(type):
            self.names.types[name] = element_types.type_text(element_dtype(type.element_type))

    def constant(self, array: Array) -> str:
        """A small constant; equal ones are one node."""
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._constants:
            tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape))
            self._constants[key] = self.emit("Constant", value=tensor)
        return self._constants[key]

    def integers(self, values: Sequence[int]) -> str:
        """A list of integers as an operand."""
        return self.constant(np.array(values, np.int64).reshape(len(values)))

    def floats(self, values: Sequence[float]) -> str:
        """A list of numbers as an operand."""
        return self.constant(np.array(values, np.float32))

    def scalar(self, number: _Number, like: "SSAValue | np.dtype[Any]") -> str:
        """A constant of rank 0, of a dtype or with the element type of a value."""
        dtype = dtype_of(like) if isinstance(like, SSAValue) else like
        return self.constant(np.array(number).astype(dtype))

    def cast(self, value: str, dtype: "np.dtype[Any] | type[np.generic]") -> str:
        """The value in another element type."""
        return self.emit("Cast", value, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def transpose(self, value: str, axes: Sequence[int]) -> str:
        """The value with its axes in another order; itself when they keep theirs."""
        order = list(axes)
        return value if order == sorted(order) else self.emit("Transpose", value, perm=order)

    def reshape(self, value: str, shape: Sequence[int], op: FuseOp) -> str:
        """The value in another shape, in which one size may be dynamic.

        Raises:
            OpError: Two sizes are, or one of a value without elements: nothing remains for it.
        """
        if list(shape).count(DYNAMIC) > 1:
            raise unsupported(op, "with two sizes that are not known")
        if 0 in shape and DYNAMIC in shape:
            raise unsupported(op, "of no elements with a size that is not known")
        # With allowzero a 0 is a size, not "as in the operand"; ONNX does not allow it beside -1.
        sizes = [-1 if size == DYNAMIC else size for size in shape]
        return self.emit("Reshape", value, self.integers(sizes), allowzero=1 if 0 in shape else None)

    def unsqueeze(self, value: str, axes: Sequence[int]) -> str:
        """The value with axes of size 1."""
        return self.emit("Unsqueeze", value, self.integers(axes)) if axes else value

    def along(self, vector: str, axis: int, rank: int) -> str:
        """A vector that broadcasts along one axis of `rank`."""
        return self.unsqueeze(vector, range(1, rank - axis))


def unsupported(op: FuseOp, form: str = "") -> OpError:
    """The error for an op, or a form of one, that has no ONNX operators."""
    return OpError(op, f"'{op.name}' op {form} cannot be written as ONNX".replace("op  ", "op "))


def dtype_of(value: SSAValue) -> "np.dtype[Any]":
    """The NumPy element type of a tensor."""
    assert is_tensor(value.type), "operands and results of the ops in the table are tensors"
    return element_dtype(value.type.element_type)


def shape_of(value: SSAValue) -> Shape:
    """The shape of a tensor, with `DYNAMIC` where a size is not known."""
    assert is_tensor(value.type), "operands and results of the ops in the table are tensors"
    return tuple(value.type.get_shape())


def static_shape(op: FuseOp, value: SSAValue) -> Shape:
    """The shape of a tensor.

    Raises:
        OpError: A size is not known.
    """
    if DYNAMIC in (shape := shape_of(value)):
        raise unsupported(op, f"on {value.type}, whose sizes are not all known,")
    return shape


def prop(op: FuseOp, name: str) -> Any:
    """A property as a Python value; `None` when it is left out and has no default."""
    value: Attribute | None = getattr(op, name)
    match value:
        case IntegerAttr() | FloatAttr():
            return value.value.data
        case StringAttr():
            return value.data
        case DenseArrayBase():
            numbers: Any = value
            return list(numbers.get_values())
        case _:
            return None


def axis_of(op: FuseOp, rank: int, name: str = "axis") -> int:
    """A property that is an axis, counted from the front."""
    axis: int = prop(op, name)
    return axis + rank if axis < 0 else axis


def tensor_proto(name: str, value: DenseIntOrFPElementsAttr, array: Array) -> onnx.TensorProto:
    """A tensor that holds the elements of a constant."""
    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(value.get_shape()), name)
