"""`-t trips-json`: trips and the program around them as JSON, for code generators in any language.

    {"format": "fuse-trips/1",
     "trips": [{"name", "template", "inputs", "constants", "steps", "outputs"}],
     "functions": [{"name", "inputs", "calls": [{"trip" | "host", "operands", "results", "reason"?}], "outputs"}]}

A value is its `name` and `type`. A step has `op`, `unit`, `operands`, `results`, `attributes`, and `padding` where its
unit wants some. A constant has its elements in base64, row-major and little-endian, if the option `constants` asks for
them; without, they are what `Trip.weights` says. What is called is a trip, a primitive for the host, or an op of the
host by its name; calls in regions of loops and branches are left to their ops.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.target import Target

from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE, REASON_ATTRIBUTE
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.hardware.trips import Trip, TripValue, trips_of

FORMAT = "fuse-trips/1"
"""Name and version of the format; a key that is added does not change it."""


@dataclass(frozen=True)
class TripsJsonTarget(Target):
    """Trips through accelerators, and the order of calls around them, as JSON."""

    name = "trips-json"

    constants: bool = False
    """Whether constants come with their elements, in base64."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the object.

        Raises:
            PassFailedException: The module has no trips.
            OpError: The elements of a constant are not in the module.
        """
        trips = trips_of(module)
        if not trips:
            raise PassFailedException("the module has no trips: --fuse-ops-hw makes them")
        json.dump(trips_object(module, trips, constants=self.constants), output, indent=1)
        output.write("\n")


def trips_object(module: ModuleOp, trips: list[Trip], *, constants: bool = False) -> dict[str, Any]:
    """The module as an object for `json.dump`; see above."""
    return {
        "format": FORMAT,
        "trips": [_trip(trip, constants=constants) for trip in trips],
        "functions": [
            _function(op)
            for op in module.ops
            if isinstance(op, func.FuncOp) and op.body.blocks and PRIMITIVE_ATTRIBUTE not in op.attributes
        ],
    }


def _value(value: TripValue) -> dict[str, Any]:
    return {"name": value.name, "type": value.type}


def _trip(trip: Trip, *, constants: bool) -> dict[str, Any]:
    weights = trip.weights if constants else {}
    return {
        "name": trip.name,
        "template": trip.template,
        "inputs": [_value(value) for value in trip.inputs],
        "constants": [
            _value(value) | ({"data": _base64(weights[value.name])} if constants else {}) for value in trip.constants
        ],
        "steps": [
            {
                "op": step.op,
                "unit": step.unit,
                "operands": list(step.operands),
                "results": [_value(value) for value in step.results],
                "attributes": dict(step.attributes),
                **({"padding": step.padding} if step.padding else {}),
            }
            for step in trip.steps
        ],
        "outputs": list(trip.outputs),
    }


def _base64(array: "np.ndarray[Any, Any]") -> str:
    ordered = np.ascontiguousarray(array)
    little = ordered.astype(ordered.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(little.tobytes()).decode()


def _function(function: func.FuncOp) -> dict[str, Any]:
    names: dict[SSAValue, str] = {}

    def give(value: SSAValue) -> dict[str, Any]:
        wanted, count = value.name_hint or f"v{len(names)}", 0
        name = wanted
        taken = set(names.values())
        while name in taken:
            count += 1
            name = f"{wanted}_{count}"
        names[value] = name
        return {"name": name, "type": str(value.type)}

    block = function.body.block
    inputs = [give(value) for value in block.args]
    calls = list(_calls(function, names, give))
    last = block.last_op
    outputs = [names[value] for value in last.operands] if isinstance(last, func.ReturnOp) else []
    return {"name": function.sym_name.data, "inputs": inputs, "calls": calls, "outputs": outputs}


def _calls(function: func.FuncOp, names: dict[SSAValue, str], give: Any) -> Iterator[dict[str, Any]]:
    module = function.parent_op()
    callees = module.body.block.ops if isinstance(module, ModuleOp) else ()
    trips = {op.sym_name.data for op in callees if isinstance(op, func.FuncOp) and HARDWARE_ATTRIBUTE in op.attributes}
    for op in function.body.block.ops:
        if isinstance(op, func.ReturnOp):
            continue
        operands = [names[value] for value in op.operands]
        reason = op.attributes.get(REASON_ATTRIBUTE)
        callee = op.callee.string_value() if isinstance(op, func.CallOp) else op_name(op)
        yield {
            ("trip" if callee in trips else "host"): callee,
            "operands": operands,
            "results": [give(value) for value in op.results],
            **({"reason": reason.data} if isinstance(reason, StringAttr) else {}),
        }
