"""Trips as code generators want them: what comes in, what is constant, which unit does what, and what comes out.

    for trip in trips_of(module):
        emit(trip.name, [(step.unit, step.op, step.attributes) for step in trip.steps])

A module that `fuse-ops-hw` has fused holds a function for each trip. This reads it off; nothing is changed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE, PADDING_ATTRIBUTE, UNIT_ATTRIBUTE
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.kinds.kind_of import op_name

_Made = TypeVar("_Made")
_OWN = (UNIT_ATTRIBUTE, PADDING_ATTRIBUTE)


@dataclass(frozen=True, slots=True)
class TripValue:
    """A value of a trip."""

    name: str
    """Unique in the trip."""
    type: str
    """As the IR has it: `tensor<1x8x4x4xi8>`."""


@dataclass(frozen=True, slots=True)
class TripStep:
    """One operator."""

    op: str
    """Name of the op: `fuse.conv2d`."""
    unit: str
    """The unit that runs it; empty for a view, which no unit needs to run."""
    operands: Sequence[str]
    """Names of values: inputs, constants, results of earlier steps."""
    results: Sequence[TripValue]
    attributes: Mapping[str, Any]
    """Properties and attributes as numbers, strings and lists of them; those of other kinds as text of the IR."""
    padding: str
    """What must be padded, as `result.channels 20 -> 32`; empty for nothing."""
    source: Operation = field(compare=False, repr=False)
    """The op itself."""


@dataclass(frozen=True, slots=True)
class Trip:
    """One trip through an accelerator: a function of the module."""

    name: str
    """Name of the function."""
    template: str
    """Name of the hardware."""
    inputs: Sequence[TripValue]
    constants: Sequence[TripValue]
    """Weights and other constants; `weights` has their elements."""
    steps: Sequence[TripStep]
    """In the order of the trip."""
    outputs: Sequence[str]
    """Names of the values that go to memory, in the order of the results."""
    function: func.FuncOp = field(compare=False, repr=False)

    @property
    def weights(self) -> dict[str, Array]:
        """Elements of the constants by name, read when somebody asks.

        Raises:
            OpError: The module does not hold the elements of one.
        """
        found: dict[str, Array] = {}
        constants = (op for op in self.function.body.block.ops if is_constant(op))
        for value, op in zip(self.constants, constants, strict=True):
            try:
                if not isinstance(op, arith.ConstantOp):
                    raise VerifyException(f"'{op_name(op)}' op has no elements")
                found[value.name] = constant_array(op.value)
            except VerifyException as error:
                raise OpError(op, str(error)) from error
        return found


def trips_of(module: ModuleOp) -> list[Trip]:
    """The trips of a module, each once however often it is called, in the order of the module.

    Args:
        module: One that `fuse-ops-hw` has fused.

    Complexity: O(ops of the trips).
    """
    return [
        _trip(op, hardware.data)
        for op in module.walk()
        if isinstance(op, func.FuncOp) and isinstance(hardware := op.attributes.get(HARDWARE_ATTRIBUTE), StringAttr)
    ]


def for_each_trip(module: ModuleOp, callback: Callable[[Trip], _Made]) -> dict[str, _Made]:
    """Call a function for each trip of a module, as a code generator does.

    Args:
        module: One that `fuse-ops-hw` has fused.
        callback: Takes a trip.

    Returns:
        What the callback gave, by the name of the trip's function.

    Example:
        >>> import fuse_dialect as fd
        >>> module = fd.parse('''
        ... func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        ...   %y = fuse.relu %x : tensor<4xf32>
        ...   return %y : tensor<4xf32>
        ... }''')
        >>> fd.for_each_trip(fd.fuse_ops_hw(module, template="opu"), lambda trip: [step.unit for step in trip.steps])
        {'fused_relu': ['compare']}
    """
    return {trip.name: callback(trip) for trip in trips_of(module)}


class _Names:
    """Names of the values of one function, each given once."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}
        self.of: dict[SSAValue, str] = {}

    def give(self, value: SSAValue, otherwise: str) -> TripValue:
        """The value with its name in the IR, or another one."""
        wanted = name = value.name_hint or otherwise
        while name in self._taken:
            self._taken[wanted] += 1
            name = f"{wanted}_{self._taken[wanted]}"
        self._taken[name] = 0
        self.of[value] = name
        return TripValue(name, str(value.type))


def _trip(function: func.FuncOp, template: str) -> Trip:
    names, block = _Names(), function.body.block
    inputs = [names.give(value, f"arg{place}") for place, value in enumerate(block.args)]
    constants: list[TripValue] = []
    steps: list[TripStep] = []
    outputs: Sequence[str] = ()
    for op in block.ops:
        if isinstance(op, func.ReturnOp):
            outputs = [names.of[value] for value in op.operands]
        elif is_constant(op):
            constants.append(names.give(op.results[0], "constant"))
        else:
            operands = [names.of[value] for value in op.operands]
            results = [names.give(value, "v") for value in op.results]
            unit, padding = (_text(op.attributes.get(name)) for name in _OWN)
            steps.append(TripStep(op_name(op), unit, operands, results, attributes_of(op), padding, op))
    return Trip(function.sym_name.data, template, inputs, constants, steps, outputs, function)


def _text(attribute: Attribute | None) -> str:
    return attribute.data if isinstance(attribute, StringAttr) else ""


def attributes_of(op: Operation) -> dict[str, Any]:
    """Properties and attributes of an op but those of hardware; see `TripStep.attributes`."""
    own = {**op.properties, **{name: each for name, each in op.attributes.items() if name not in _OWN}}
    own.pop("op_name__", None)
    return {name: plain(attribute) for name, attribute in own.items()}


def plain(attribute: Attribute) -> Any:
    """An attribute as a number, a string, or a list of these; text of the IR for all others."""
    match attribute:
        case IntegerAttr():
            return bool(attribute.value.data) if attribute.type == IntegerType(1) else attribute.value.data
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case DenseArrayBase():
            return list(cast("DenseArrayBase[IntegerType]", attribute).get_values())
        case ArrayAttr():
            return [plain(each) for each in attribute]
        case _:
            return str(attribute)
