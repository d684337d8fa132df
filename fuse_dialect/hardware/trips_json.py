"""`-t trips-json`: trips and the program around them as JSON, for code generators in any language.

    {"format": "fuse-trips/1",
     "trips": [{"name", "template", "inputs", "constants", "steps", "outputs", "regions"?}],
     "functions": [{"name", "inputs", "calls": [{"trip" | "host", "operands", "results", "reason"?, "cascade"?}],
                    "outputs"}]}

A value is its `name` and `type`. A step has `op`, `unit`, `operands`, `results`, `attributes`, and `padding` where its
unit wants some. `regions` has the bytes that the trip holds in each region of memory of its template. A constant has
its elements in base64, row-major and little-endian, if the option `constants` asks for them; without, they are what
`Trip.weights` says. What is called is a trip, a primitive for the host, or an op of the host by its name, with its
`attributes`. A loop or branch has `regions`, each with `inputs`, `calls` and `outputs`: tiles are trips in a loop that
takes rows. A short constant of integers has its `value`. Calls of the same number `cascade` may run as one, stripe by
stripe.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IntegerType, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.target import Target

from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE, REASON_ATTRIBUTE, TILE_ATTRIBUTE
from fuse_dialect.dialect.ops.regions import YieldOp
from fuse_dialect.dialect.types import element_count, is_tensor
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.hardware.cascades import Cascade, cascades_of
from fuse_dialect.hardware.template_file import known_templates
from fuse_dialect.hardware.trip_bytes import held_by
from fuse_dialect.hardware.trips import Trip, TripValue, attributes_of, trips_of
from fuse_dialect.templates.regions import bytes_of_regions
from fuse_dialect.templates.template import HardwareTemplate

FORMAT = "fuse-trips/1"
"""Name and version of the format; a key that is added does not change it."""

_ENDS = (func.ReturnOp, YieldOp)
_MOST_SHORT = 4_096
"""Elements of a constant that is written out."""
_Give: TypeAlias = Callable[[SSAValue], dict[str, Any]]


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
    templates = known_templates(module)

    def cascades(function: func.FuncOp) -> list[Cascade]:
        return cascades_of(function, module, templates.get)

    return {
        "format": FORMAT,
        "trips": [_trip(trip, templates.get(trip.template), constants=constants) for trip in trips],
        "functions": [
            _function(op, {call: number for number, each in enumerate(cascades(op)) for call in each.calls})
            for op in module.ops
            if isinstance(op, func.FuncOp) and op.body.blocks and PRIMITIVE_ATTRIBUTE not in op.attributes
        ],
    }


def _value(value: TripValue) -> dict[str, Any]:
    return {"name": value.name, "type": value.type}


def _trip(trip: Trip, template: HardwareTemplate | None, *, constants: bool) -> dict[str, Any]:
    weights = trip.weights if constants else {}
    regions = {} if template is None else bytes_of_regions(template, held_by(trip.function, template))
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
        **({"regions": regions} if regions else {}),
    }


def _base64(array: "np.ndarray[Any, Any]") -> str:
    ordered = np.ascontiguousarray(array)
    little = ordered.astype(ordered.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(little.tobytes()).decode()


def _function(function: func.FuncOp, cascades: Mapping[Operation, int]) -> dict[str, Any]:
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

    module = function.parent_op()
    callees = module.body.block.ops if isinstance(module, ModuleOp) else ()
    trips = {op.sym_name.data for op in callees if isinstance(op, func.FuncOp) and HARDWARE_ATTRIBUTE in op.attributes}
    return {"name": function.sym_name.data, **_block(function.body.block, trips, names, give, cascades)}


def _block(
    block: Block, trips: set[str], names: dict[SSAValue, str], give: _Give, cascades: Mapping[Operation, int]
) -> dict[str, Any]:
    inputs = [give(value) for value in block.args]
    calls = list(_calls(block, trips, names, give, cascades))
    last = block.last_op
    outputs = [names[value] for value in last.operands] if isinstance(last, _ENDS) else []
    return {"inputs": inputs, "calls": calls, "outputs": outputs}


def _calls(
    block: Block, trips: set[str], names: dict[SSAValue, str], give: _Give, cascades: Mapping[Operation, int]
) -> Iterator[dict[str, Any]]:
    def region(of: Region) -> dict[str, Any]:
        return _block(of.block, trips, names, give, cascades)

    for op in block.ops:
        if isinstance(op, _ENDS):
            continue
        operands = [names[value] for value in op.operands]
        reason, tile = op.attributes.get(REASON_ATTRIBUTE), op.attributes.get(TILE_ATTRIBUTE)
        callee = op.callee.string_value() if isinstance(op, func.CallOp) else op_name(op)
        yield {
            ("trip" if callee in trips else "host"): callee,
            "operands": operands,
            "results": [give(value) for value in op.results],
            **({"reason": reason.data} if isinstance(reason, StringAttr) else {}),
            **({"attributes": found} if (found := _host_attributes(op)) else {}),
            **({"cascade": cascades[op]} if op in cascades else {}),
            **({"tile": tile.data} if isinstance(tile, StringAttr) else {}),
            **({"value": value} if (value := _short(op)) is not None else {}),
            **({"regions": inner} if (inner := [region(each) for each in op.regions if len(each.blocks) == 1]) else {}),
        }


def _host_attributes(op: Operation) -> dict[str, Any]:
    if isinstance(op, func.CallOp) or is_constant(op) or op.regions:
        return {}
    found = attributes_of(op)
    return {name: each for name, each in found.items() if name not in (REASON_ATTRIBUTE, TILE_ATTRIBUTE)}


def _short(op: Operation) -> list[int] | None:
    """The elements of a short constant of integers, as those that say where tiles begin."""
    type = op.results[0].type if isinstance(op, arith.ConstantOp) else None
    if type is None or not isinstance(op, arith.ConstantOp) or not is_tensor(type):
        return None
    if not isinstance(type.element_type, IntegerType) or (element_count(type) or 0) > _MOST_SHORT:
        return None
    return [int(number) for number in constant_array(op.value).reshape(-1)]
