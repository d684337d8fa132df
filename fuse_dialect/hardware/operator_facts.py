"""What the constraints of a template ask of an op: its attributes, its tensors, and the elements of its constants.

Attributes have the names of the `fuse` dialect, of TOSA, ONNX or StableHLO. Axes have letters where the op says its
layout, or its dialect has one.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.types import DYNAMIC, Tensor, element_dtype, is_tensor
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.templates.constraint import Numbers

_NAMES: Mapping[str, tuple[str, ...]] = {
    "stride": ("strides", "stride", "window_strides"),
    "dilation": ("dilation", "dilations", "rhs_dilation"),
    "padding": ("padding", "pads", "pad"),
    "kernel": ("pool_size", "kernel", "kernel_shape"),
    "groups": ("groups", "group", "feature_group_count"),
}
"""Attributes that say a quantity."""
_LAYOUTS: Mapping[str, tuple[str, str]] = {"tosa": ("NHWC", "OHWI"), "onnx": ("NCHW", "OIHW")}
"""Layouts of images and filters of dialects that have one."""
_WHO: Mapping[str, int] = {"input": 0, "weights": 1, "bias": 2}
_LETTERS = {"height": "H", "width": "W", "channels": "C"}


class OpFacts:
    """The facts of one op."""

    def __init__(self, op: Operation, known: Collection[SSAValue]):
        """Of `op`; `known` are the constants, and what reshapes make of them."""
        self.op = op
        self.known = known

    def numbers(self, quantity: str) -> Numbers | None:
        """See `OperatorFacts`."""
        who, dot, what = quantity.partition(".")
        if dot and who != "attr":
            return self._of_tensors(self._tensors(who), what)
        if dot:
            return _numbers_of(self.op.get_attr_or_prop(what))
        if quantity == "kernel_depth":
            return self._filter_sizes("I") if len(self.op.operands) > 1 else ()
        base, _, end = quantity.rpartition("_")
        return self._spatial(base, end) if end in ("h", "w") else self._spatial(quantity, "")

    def words(self, quantity: str) -> Sequence[frozenset[str]] | None:
        """See `OperatorFacts`."""
        who, _, what = quantity.partition(".")
        if who == "attr":
            attribute = self.op.get_attr_or_prop(what)
            return None if attribute is None else [frozenset((_word(attribute), "present"))]
        return [self._words_of(value, what) for value in self._tensors(who)]

    def _words_of(self, value: SSAValue, what: str) -> frozenset[str]:
        type = value.type
        match what:
            case "type":
                return frozenset((str(type.element_type if is_tensor(type) else type),))
            case "source":
                return frozenset(("constant" if value in self.known else "computed",))
            case "shape":
                if not is_tensor(type):
                    return frozenset()
                return frozenset(("ranked",) if DYNAMIC in type.get_shape() else ("ranked", "static"))
            case "form":
                return frozenset((self._form(type),))
            case _:
                array = _elements(value)
                if array is None:
                    return frozenset()
                return frozenset(("known", "finite") if bool(np.isfinite(array).all()) else ("known",))

    def _form(self, type: Attribute) -> str:
        result = self.op.results[0].type if self.op.results else type
        shape = type.get_shape() if is_tensor(type) else ()
        if all(size == 1 for size in shape):
            return "scalar"
        return "whole" if not is_tensor(result) or shape == result.get_shape() else "broadcast"

    def _tensors(self, who: str) -> Sequence[SSAValue]:
        """The values that a word names; none where the op has no such operand."""
        operands, results = self.op.operands, self.op.results
        if who == "operands":
            return operands
        if who in ("result", "results"):
            return results if who == "results" else results[:1]
        if who == "tensors":
            return [*operands, *results]
        if who == "constants":
            return [value for value in operands if value in self.known]
        place = _WHO[who] if who in _WHO else int(who.removeprefix("operand"))
        return operands[place : place + 1]

    def _of_tensors(self, values: Sequence[SSAValue], what: str) -> Numbers | None:
        found: list[float] = []
        for value in values:
            own = self._of_tensor(value, what)
            if own is None:
                return None
            found.extend(own)
        return found

    def _of_tensor(self, value: SSAValue, what: str) -> Numbers | None:
        type = value.type
        if not is_tensor(type):
            return None
        shape = type.get_shape()
        match what:
            case "rank":
                return (len(shape),)
            case "dims":
                return None if DYNAMIC in shape else shape
            case "batch":
                return _known(shape[:1])
            case "elements" | "bytes":
                count = 1
                for size in shape:
                    count *= size
                bits = _bits(type)
                if DYNAMIC in shape or (what == "bytes" and bits is None):
                    return None
                return (count,) if what == "elements" else (-(-count * (bits or 0) // 8),)
            case "bits":
                bits = _bits(type)
                return None if bits is None else (bits,)
            case "values" | "value_bits" | "abs_sum":
                return self._of_elements(value, what)
            case _ if what in _LETTERS:
                letters = self._layout()
                if _LETTERS[what] not in letters or len(letters) != len(shape):
                    return None
                return _known((shape[letters.index(_LETTERS[what])],))
            case _:
                return _known(shape[int(what.removeprefix("dim")) :][:1])

    def _of_elements(self, value: SSAValue, what: str) -> Numbers | None:
        array = _elements(value)
        if array is None:
            return None
        if not array.size:
            return ()
        if what == "values":
            return float(array.min()), float(array.max())
        if what == "value_bits":
            return (max(int(array.min()).bit_length(), int(array.max()).bit_length()) + 1,)
        layout = self._filter_layout()
        axis = layout.index("O") if "O" in layout and len(layout) == array.ndim else 0
        others = tuple(each for each in range(array.ndim) if each != axis)
        return (float(np.abs(array.astype(np.float64)).sum(axis=others).max()),)

    def _layout(self) -> str:
        for name in ("data_layout", "layout"):
            attribute = self.op.get_attr_or_prop(name)
            if isinstance(attribute, StringAttr):
                return attribute.data
        return _LAYOUTS.get(op_name(self.op).partition(".")[0], ("", ""))[0]

    def _filter_layout(self) -> str:
        attribute = self.op.get_attr_or_prop("kernel_layout")
        if isinstance(attribute, StringAttr):
            return attribute.data
        return _LAYOUTS.get(op_name(self.op).partition(".")[0], ("", ""))[1]

    def _filter_sizes(self, letters: str) -> Numbers | None:
        """Sizes of the filters along some axes."""
        layout = self._filter_layout()
        values = self.op.operands[1:2]
        if not values or not is_tensor(values[0].type):
            return ()
        shape = values[0].type.get_shape()
        if len(layout) != len(shape) or any(letter not in layout for letter in letters):
            return None if layout else ()
        return _known([shape[layout.index(letter)] for letter in letters])

    def _spatial(self, quantity: str, end: str) -> Numbers | None:
        """A quantity of windows, of both axes or of one."""
        if quantity == "dilated_kernel":
            kernel, dilation = self._spatial("kernel", ""), self._spatial("dilation", "") or (1, 1)
            if kernel is None or not kernel:
                return kernel
            both: Numbers | None = [
                (size - 1) * step + 1 for size, step in zip(kernel, dilation[: len(kernel)], strict=True)
            ]
        else:
            both = self._attribute(quantity)
            if both is None and quantity == "kernel":
                both = self._filter_sizes("HW") if self._filter_layout() else self._whole_image()
        if both is None:
            return ()
        # Padding is in front of each axis, then behind.
        return {"": both, "h": both[0::2], "w": both[1::2]}[end] if len(both) > 1 else both

    def _whole_image(self) -> Numbers | None:
        """The window of a pool of all that there is."""
        if "global" not in op_name(self.op):
            return None
        letters, type = self._layout(), self.op.operands[0].type
        if not is_tensor(type) or "H" not in letters or "W" not in letters:
            return None
        return _known([type.get_shape()[letters.index(letter)] for letter in "HW"])

    def _attribute(self, quantity: str) -> Numbers | None:
        for name in _NAMES[quantity]:
            numbers = _numbers_of(self.op.get_attr_or_prop(name))
            if numbers is not None and quantity == "padding" and name == "pad" and len(numbers) == 4:
                return [numbers[place] for place in (0, 2, 1, 3)]  # TOSA: top, bottom, left, right
            if numbers is not None:
                return numbers
        return None


def _known(sizes: Sequence[int]) -> Numbers | None:
    return None if DYNAMIC in sizes else sizes


def _bits(type: Tensor) -> int | None:
    try:
        dtype: np.dtype[Any] = element_dtype(type.element_type)
    except (VerifyException, ValueError):
        return None
    name = dtype.name
    return int(name[-1]) if name.endswith(("int2", "int4")) else dtype.itemsize * 8


def _numbers_of(attribute: Attribute | None) -> Numbers | None:
    """The numbers of an attribute; `None` if it is absent or holds others."""
    match attribute:
        case IntegerAttr() | FloatAttr():
            return (attribute.value.data,)
        case DenseArrayBase():
            return tuple(cast("DenseArrayBase[IntegerType]", attribute).get_values())
        case DenseIntOrFPElementsAttr():
            return tuple(cast(Sequence[float], attribute.get_values()))
        case ArrayAttr():
            numbers = [_numbers_of(each) for each in attribute]
            return None if None in numbers else tuple(number for each in numbers if each is not None for number in each)
        case _:
            return None


def _word(attribute: Attribute) -> str:
    return attribute.data if isinstance(attribute, StringAttr) else str(attribute)


def _elements(value: SSAValue) -> "np.ndarray[Any, Any] | None":
    """The elements of a constant that the module holds."""
    if not isinstance(value, OpResult) or not isinstance(value.op, arith.ConstantOp):
        return None
    try:
        return constant_array(value.op.value)
    except VerifyException:
        return None
