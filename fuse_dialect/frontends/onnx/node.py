"""One ONNX node, as the operator table sees it: typed access to operands and attributes, and ways to answer."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx_ir as ir
from xdsl.ir import Attribute

from fuse_dialect.analysis.sizes import Size
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.fields import PropertyValue
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.layout import ReshapeOp
from fuse_dialect.dialect.types import DYNAMIC, Shape, Tensor, element_dtype, tensor
from fuse_dialect.frontends.onnx.builder import STATIC_SHAPES_HINT, BodyBuilder
from fuse_dialect.frontends.onnx.tensors import Array, tensor_array
from fuse_dialect.frontends.onnx.values import Constant, SizeVector, Value

_LONGEST_LIST = 4096
"""Elements of an operand that says sizes, axes, scales and the like."""


class UnsupportedFormError(FuseError):
    """The operator is in the table, but not with these attributes, operands or results."""


class DynamicShapeError(UnsupportedFormError):
    """The operator needs to know a size that is known only when the model runs."""

    def __init__(self, message: str):
        super().__init__(message, hint=STATIC_SHAPES_HINT)


class NeedsConstantError(FuseError):
    """An operand must be known at import, and is computed when the model runs."""

    def __init__(self, message: str, operand: str, inputs: Sequence[str] = ()):
        listed = ", ".join(f"'{name}'" for name in inputs)
        super().__init__(
            message,
            notes=(f"'{operand}' is computed from {listed}",) if inputs and list(inputs) != [operand] else (),
            hint="make this input an initializer, or compute it from constants and static shapes",
        )
        self.operand = operand
        """The value's name in the model."""
        self.inputs = tuple(inputs)
        """Names of the model's inputs from which the value is computed, as far as is known."""


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """An ONNX node whose operands are imported already."""

    node: ir.Node
    opset: int
    """Version of the operator set that the node's domain has in the model."""
    operands: tuple[Value | None, ...]
    """`None` for an optional operand that is left out."""
    builder: BodyBuilder

    @property
    def operand_count(self) -> int:
        """Number of operands, trailing ones that are left out not counted."""
        return max((index + 1 for index, operand in enumerate(self.operands) if operand is not None), default=0)

    def optional(self, index: int) -> Value | None:
        """An operand, or `None` when it is left out."""
        return self.operands[index] if index < len(self.operands) else None

    def operand(self, index: int) -> Value:
        """An operand that must be there.

        Raises:
            FuseError: It is left out.
        """
        if (value := self.optional(index)) is None:
            raise FuseError(f"expects operand {index}")
        return value

    def all_operands(self) -> list[Value]:
        """The operands of a variadic operator, at least one."""
        return [self.operand(index) for index in range(max(1, self.operand_count))]

    def type_of(self, value: Value) -> Tensor:
        """The tensor type of a value."""
        return self.builder.type_of(value)

    def shape(self, value: Value) -> Shape:
        """The shape of a value, with `DYNAMIC` where it is not known."""
        return tuple(self.builder.type_of(value).get_shape())

    def rank(self, value: Value) -> int:
        """The rank of a value."""
        return len(self.shape(value))

    def dtype(self, value: Value) -> np.dtype[Any]:
        """The NumPy element type of a value."""
        return element_dtype(self.type_of(value).element_type)

    def static_shape(self, value: Value, start: int = 0) -> Shape:
        """The shape of a value, from axis `start` on, whose dimensions must all be known there.

        Raises:
            DynamicShapeError: One is dynamic.
        """
        if DYNAMIC in (shape := self.shape(value)[start:]):
            raise DynamicShapeError(f"needs a static shape, got {self.type_of(value)}")
        return shape

    def emit(
        self, op: type[FuseOp], *operands: Value, type: Attribute | None = None, **properties: PropertyValue
    ) -> Value:
        """The first result of an op; `type` spells out the result type where operands do not say it."""
        result_types = None if type is None else [type]
        return self.builder.emit(op, *operands, properties=properties, result_types=result_types)[0]

    def emit_all(self, op: type[FuseOp], *operands: Value, **properties: PropertyValue) -> tuple[Value, ...]:
        """All results of an op."""
        return self.builder.emit(op, *operands, properties=properties)

    def scalar(self, number: float, like: Value) -> Constant:
        """A constant of rank 0 with the element type of `like`."""
        return Constant(np.array(number).astype(self.dtype(like)))

    def typed(self, value: Value, shape: Sequence[int]) -> Tensor:
        """A tensor type of another shape, with the element type of `value`."""
        return tensor(shape, self.type_of(value).element_type)

    def is_used(self, output: int) -> bool:
        """Whether the model uses a result."""
        outputs = self.node.outputs
        return output < len(outputs) and bool(
            outputs[output].name and (outputs[output].uses() or outputs[output].is_graph_output())
        )

    def reject_outputs(self, start: int, what: str) -> None:
        """Refuse a node whose results from `start` on are used.

        Raises:
            UnsupportedFormError: One is.
        """
        if any(self.is_used(index) for index in range(start, len(self.node.outputs))):
            raise UnsupportedFormError(f"{what} is not supported")

    def name_of(self, index: int) -> str:
        """Name of an operand in the model."""
        value = self.node.inputs[index]
        return value.name if value is not None and value.name else f"#{index}"

    def constant(self, index: int) -> Array:
        """An operand that must be known at import.

        Raises:
            NeedsConstantError: It is not.
        """
        value = self.operand(index)
        if isinstance(value, Constant):
            return value.array
        raise NeedsConstantError(f"needs operand {index} ('{self.name_of(index)}') as a constant", self.name_of(index))

    def constant_ints(self, index: int) -> list[int]:
        """The integers of a constant operand, flattened."""
        array = self.constant(index)
        if array.dtype.kind not in "iu" or array.size > _LONGEST_LIST:
            raise FuseError(f"expects operand {index} to be a short list of integers")
        return [int(item) for item in array.reshape(-1)]

    def constant_reals(self, index: int) -> list[float]:
        """The numbers of a constant operand, flattened."""
        array = self.constant(index)
        if array.size > _LONGEST_LIST:
            raise FuseError(f"expects operand {index} to be a short list of numbers")
        return [float(item) for item in array.reshape(-1)]

    def constant_scalar(self, index: int) -> Any:
        """The single element of a constant operand, as a Python number."""
        array = self.constant(index)
        if array.size != 1:
            raise FuseError(f"expects operand {index} to hold one element, got {array.size}")
        return array.reshape(-1)[0].item()

    def elements(self, index: int) -> Array:
        """The integers of an operand as objects, `int` or `Size`; they may depend on dynamic dimensions.

        Raises:
            NeedsConstantError: They are computed when the model runs.
        """
        value = self.operand(index)
        return value.elements if isinstance(value, SizeVector) else np.array(self.constant_ints(index), object)

    def known_elements(self, index: int) -> list[int | Size] | None:
        """The integers of an operand, flattened, or `None` when they are computed when the model runs."""
        if not isinstance(self.operand(index), Constant | SizeVector):
            return None
        return list(self.elements(index).reshape(-1))

    def integer_list(self, index: int) -> Value:
        """An operand that is a list of integers, of rank 1 whatever its own rank.

        Raises:
            FuseError: Its elements are no integers, or their number depends on the input of the model.
        """
        value = self.operand(index)
        count = math.prod(self.shape(value))
        if DYNAMIC in self.shape(value) or count > _LONGEST_LIST or self.dtype(value).kind not in "iu":
            raise FuseError(f"expects operand {index} to be a short list of integers, got {self.type_of(value)}")
        if self.rank(value) == 1:
            return value
        if isinstance(value, SizeVector):
            return replace(value, elements=value.elements.reshape(-1))
        return self.emit(ReshapeOp, value, type=self.typed(value, [count]))

    def integer_scalar(self, index: int) -> Value:
        """An operand that is one number, of rank 0 whatever its own rank.

        Raises:
            FuseError: It may hold more than one.
        """
        value = self.operand(index)
        if any(size != 1 for size in self.shape(value)):
            raise FuseError(f"expects operand {index} to hold one element, got {self.type_of(value)}")
        if self.rank(value) == 0:
            return value
        if isinstance(value, SizeVector):
            return replace(value, elements=value.elements.reshape(()))
        return self.emit(ReshapeOp, value, type=self.typed(value, []))

    def is_known(self, index: int) -> bool:
        """Whether an operand is a constant, or left out."""
        value = self.optional(index)
        return value is None or isinstance(value, Constant)

    def sizes(self, value: Value) -> tuple[int | Size, ...]:
        """The shape of a value, with a name for each dynamic dimension."""
        return self.builder.sizes_of(value)

    def has(self, name: str) -> bool:
        """Whether the node spells an attribute out."""
        return name in self.node.attributes

    def _attribute(self, name: str, type: ir.AttributeType) -> Any:
        attribute = self.node.attributes[name]
        if attribute.is_ref() or attribute.type != type:
            raise FuseError(f"expects attribute '{name}' of type {type.name}, got {attribute.type.name}")
        return attribute.value

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer attribute; required without a default."""
        return self._attribute_or(name, ir.AttributeType.INT, default)

    def flag(self, name: str, default: bool = False) -> bool:
        """An integer attribute that says yes or no."""
        return self.integer(name, int(default)) != 0

    def real(self, name: str, default: float | None = None) -> float:
        """A float attribute: the shortest decimal number that rounds to the 32 bits in the model."""
        value = self._attribute_or(name, ir.AttributeType.FLOAT, default)
        return float(str(np.float32(value)))

    def string(self, name: str, default: str | None = None) -> str:
        """A string attribute."""
        return self._attribute_or(name, ir.AttributeType.STRING, default)

    def integers(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """A list of integers."""
        return list(self._attribute_or(name, ir.AttributeType.INTS, default))

    def reals(self, name: str, default: Sequence[float] | None = None) -> list[float]:
        """A list of floats."""
        return list(self._attribute_or(name, ir.AttributeType.FLOATS, default))

    def strings(self, name: str, default: Sequence[str] | None = None) -> list[str]:
        """A list of strings."""
        return list(self._attribute_or(name, ir.AttributeType.STRINGS, default))

    def tensor_attribute(self, name: str) -> Array:
        """The elements of a tensor attribute."""
        return tensor_array(self._attribute_or(name, ir.AttributeType.TENSOR, None), self.builder.budget)

    def _attribute_or(self, name: str, type: ir.AttributeType, default: Any) -> Any:
        if self.has(name):
            return self._attribute(name, type)
        if default is None:
            raise FuseError(f"expects attribute '{name}'")
        return default

    def axes(self, operand: int, *, since: int) -> list[int] | None:
        """The axes of an operator that takes them as attribute `axes`, and from opset `since` on as an operand.

        Returns:
            `None` when they are left out.
        """
        if self.opset >= since and self.optional(operand) is not None:
            return self.constant_ints(operand)
        return self.integers("axes") if self.has("axes") else None
