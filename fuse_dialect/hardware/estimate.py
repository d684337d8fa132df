"""What a fused module costs: trips on each accelerator, operators on the host, and what crosses between them.

1. A trip reads each value from outside once, its constants included, and writes what it gives. Bytes and operations
   are those of `PrimitiveCost`; a single number is read, too.
2. A trip takes the cycles of its busiest unit, or of memory if that takes longer; trips run one after the other. So
   says the objective `cycles`. What a unit wants padded, it works on, too.
3. An operator of the host, fused or not, reads and writes likewise; nothing is said of its time.
4. A value crosses when one side gives it and the other reads it; arguments come from the host, results go there.
5. Memory holds what is given and still to be read, from call to call; its peak is that of feature maps, without
   constants.
6. A trip holds bytes in each region of memory that its template has; of tiles it is the largest that counts.
7. Tiles of one trip are one call: all of them together read and write what it says, halos and constants once for each
   tile. Rows that are cut out and put together are addressed, not copied.

Sizes that are open count nothing, and the report says of how many values.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from fuse_dialect.analysis.op_costs import PrimitiveCost, op_cost
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE, TILE_ATTRIBUTE
from fuse_dialect.dialect.ops.regions import LoopOp
from fuse_dialect.dialect.types import byte_count, element_count, tensor_type
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.hardware.cascades import Cascade, cascades_of
from fuse_dialect.hardware.trip_bytes import held_by
from fuse_dialect.hardware.trips import Trip, trips_of
from fuse_dialect.templates.constraint import padded_operations
from fuse_dialect.templates.matcher import UnitMatcher
from fuse_dialect.templates.objective import busiest_unit, trip_cycles
from fuse_dialect.templates.regions import bytes_of_regions
from fuse_dialect.templates.template import HardwareTemplate


@dataclass(frozen=True, slots=True)
class Work:
    """One call: a trip, or something on the host."""

    name: str
    """Name of the function, or of the op."""
    engine: str
    """Name of the template; `host` for the host."""
    operations: int
    """Arithmetic operations, a multiply-add being two."""
    bytes: int
    """Read and written, constants included."""
    constants: int
    """Bytes of constants among them."""
    cycles: float | None
    """`None` where the template says no rates, and on the host."""
    resident: int
    """Bytes of feature maps in memory while it runs."""
    tiles: int = 1
    """Into how many tiles a trip is cut."""
    whole: int = 0
    """Bytes that it would read and write as one, for a trip that is cut; `bytes` holds the halos, too."""
    regions: Mapping[str, int] = field(default_factory=dict[str, int])
    """Bytes that a trip holds in each region of memory of its template, at most; none without regions."""


@dataclass(frozen=True, slots=True)
class _Call:
    """What stands for one trip or one op of the host: a call, an op, or all that is around the tiles of a trip."""

    ops: Sequence[Operation]
    tiled: str = ""
    """Name of the trip that has been cut."""

    @property
    def reads(self) -> list[SSAValue]:
        """Values from outside, each once."""
        own = set(self.ops)
        inner = (each for op in self.ops for each in op.walk())
        values = dict.fromkeys(value for each in inner for value in each.operands)
        return [value for value in values if not _is_within(value, own)]

    @property
    def gives(self) -> Sequence[SSAValue]:
        """Values that others may read: those of the last op."""
        return self.ops[-1].results


def _is_within(value: SSAValue, ops: set[Operation]) -> bool:
    """Whether one of the ops gives the value, or holds what does."""
    owner: Operation | None = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    while owner is not None and owner not in ops:
        owner = owner.parent_op()
    return owner is not None


def _calls_of(block: Block) -> list[_Call]:
    """The calls of a block in its order; (7) neighbours around tiles of one trip are one."""
    calls: list[_Call] = []
    tiles: list[Operation] = []

    def end_tiles() -> None:
        if tiles:
            calls.append(_Call(tuple(tiles), _tiled(tiles[-1])))
            tiles.clear()

    for op in block.ops:
        name = _tiled(op)
        if tiles and name != _tiled(tiles[-1]):
            end_tiles()
        if name:
            tiles.append(op)
        elif not is_constant(op) and not isinstance(op, func.ReturnOp):
            calls.append(_Call((op,)))
    end_tiles()
    return calls


def _tiled(op: Operation) -> str:
    name = op.attributes.get(TILE_ATTRIBUTE)
    return name.data if isinstance(name, StringAttr) else ""


@dataclass(frozen=True, slots=True)
class HardwareEstimate:
    """The whole of one function."""

    works: Sequence[Work]
    """In the order of the calls."""
    to_device: int
    """Bytes that the host gives and trips read."""
    to_host: int
    """Bytes that trips give and the host reads."""
    open_values: int
    """Values of open sizes, which count nothing."""
    cascades: Sequence[Cascade] = ()
    """Trips that may run as one, stripe by stripe; they are counted one by one all the same."""

    @property
    def scheduled(self) -> int:
        """Units of scheduling on accelerators: trips, those of a cascade being one."""
        trips = sum(work.engine != HOST for work in self.works)
        return trips - sum(len(cascade.calls) - 1 for cascade in self.cascades)

    @property
    def engines(self) -> dict[str, list[Work]]:
        """The calls of each engine, the host last."""
        names = dict.fromkeys(work.engine for work in self.works)
        ordered = [*(name for name in names if name != HOST), *(name for name in names if name == HOST)]
        return {name: [work for work in self.works if work.engine == name] for name in ordered}

    @property
    def cycles(self) -> float | None:
        """Cycles of all trips; `None` if one of them has none."""
        return total_cycles(work for work in self.works if work.engine != HOST)

    @property
    def peak(self) -> int:
        """Most bytes of feature maps in memory at once."""
        return max((work.resident for work in self.works), default=0)


HOST = "host"
"""The engine of what stays on the host."""


def total_cycles(works: Iterable[Work]) -> float | None:
    """Cycles of trips that run one after the other; `None` if one has none."""
    total = 0.0
    for work in works:
        if work.cycles is None:
            return None
        total += work.cycles
    return total


def estimate(
    module: ModuleOp, template_of: Callable[[str], HardwareTemplate | None], entry: str = "main"
) -> HardwareEstimate:
    """Estimate a function of a module that `fuse-ops-hw` has fused.

    Args:
        module: The module; it is not changed.
        template_of: The template of a name, `None` if nobody knows it.
        entry: Name of the function.

    Raises:
        KeyError: The module has no such function with a body.

    Complexity: O(ops + operands).
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    block = functions[entry].body.block
    trips = {trip.name: trip for trip in trips_of(module)}
    costs = Costs(trips, template_of)
    calls = _calls_of(block)
    engines = [_engine(call, functions) for call in calls]
    resident = _resident(calls, block.args)
    works: list[Work] = []
    open_values = 0
    for call, engine, held in zip(calls, engines, resident, strict=True):
        if call.tiled:
            work, unknown = costs.of_tiles(call, functions, engine, held)
        else:
            work, unknown = costs.of(call.ops[0], functions, engine, held)
        open_values += unknown
        works.append(work)
    to_device, to_host = _crossings(calls, engines, block.args)
    cascades = cascades_of(functions[entry], module, template_of)
    return HardwareEstimate(works, to_device, to_host, open_values, cascades)


def _engine(call: _Call, functions: Mapping[str, func.FuncOp]) -> str:
    for op in call.ops:
        for inner in op.walk() if call.tiled else (op,):
            if isinstance(inner, func.CallOp) and (callee := functions.get(inner.callee.string_value())) is not None:
                hardware = callee.attributes.get(HARDWARE_ATTRIBUTE)
                return hardware.data if isinstance(hardware, StringAttr) else HOST
    return HOST


class _FunctionCost(NamedTuple):
    """What one call of a function costs."""

    operations: int
    bytes: int
    constants: int
    cycles: float | None
    open_values: int
    regions: Mapping[str, int]


class Costs:
    """Costs of calls; those of a function are found once."""

    def __init__(self, trips: Mapping[str, Trip], template_of: Callable[[str], HardwareTemplate | None]):
        self.trips = trips
        self.template_of = template_of
        self.known: dict[str, _FunctionCost] = {}

    def trip_cost(self, function: func.FuncOp) -> tuple[int, float | None]:
        """Bytes that one call of a trip moves, and its cycles; `None` where its template says no rates."""
        cost = self._of_function(function)
        return cost.bytes, cost.cycles

    def regions(self, function: func.FuncOp, constants: Collection[int] = ()) -> dict[str, int]:
        """(6) Bytes that a trip holds in each region of its template, for the constants among its arguments."""
        trip = self.trips.get(function.sym_name.data)
        template = None if trip is None else self.template_of(trip.template)
        return {} if template is None else bytes_of_regions(template, held_by(function, template, constants))

    def of(self, op: Operation, functions: Mapping[str, func.FuncOp], engine: str, resident: int) -> tuple[Work, int]:
        """The work of a call, and how many values of open size it leaves out."""
        callee = functions.get(op.callee.string_value()) if isinstance(op, func.CallOp) else None
        if callee is None or not callee.body.blocks:
            cost = op_cost(op)
            flops = cost.flops.number if cost.flops is not None else None
            work = Work(op_name(op), HOST, flops or 0, cost.static_bytes, _constant_bytes(op.operands), None, resident)
            return work, cost.open_values
        name = callee.sym_name.data
        if name not in self.known:
            places = [place for place, value in enumerate(op.operands) if not _is_feature(value)]
            self.known[name] = self._of_function(callee, places)
        own = self.known[name]
        work = Work(name, engine, own.operations, own.bytes, own.constants, own.cycles, resident, regions=own.regions)
        return work, own.open_values

    def of_tiles(
        self, call: _Call, functions: Mapping[str, func.FuncOp], engine: str, resident: int
    ) -> tuple[Work, int]:
        """(7) The work of all tiles of a trip."""
        works: list[Work] = []
        open_values = 0
        constants = 0
        for op in call.ops:
            # The iterations of a loop are the rows that it takes: first rows of tiles.
            times = tensor_type(op.rows[0]).get_shape()[0] if isinstance(op, LoopOp) else 1
            for inner in op.walk():
                if isinstance(inner, func.CallOp):
                    work, unknown = self.of(inner, functions, engine, resident)
                    works += [work] * times
                    open_values += unknown * times
                    constants = max(constants, work.constants + _constant_bytes(inner.operands))
        values = [value for value in (*call.reads, *call.gives) if _is_feature(value)]
        whole = sum(byte_count(value.type) or 0 for value in values) + constants
        total = Work(
            call.tiled,
            engine,
            sum(work.operations for work in works),
            sum(work.bytes for work in works),
            sum(work.constants for work in works),
            total_cycles(works),
            resident,
            len(works),
            whole,
            {name: max(work.regions[name] for work in works) for name in (works[0].regions if works else ())},
        )
        return total, open_values

    def _of_function(self, function: func.FuncOp, places: Collection[int] = ()) -> "_FunctionCost":
        cost = PrimitiveCost(function).cost
        held = [op.results[0] for op in function.body.block.ops if is_constant(op)]
        constants = sum(byte_count(value.type) or 0 for value in held)
        numbers = sum(byte_count(value.type) or 0 for value in held if element_count(value.type) == 1)
        flops = cost.flops.number if cost.flops is not None else None
        trip = self.trips.get(function.sym_name.data)
        moved = cost.static_bytes + numbers
        cycles = None if trip is None else self._cycles(trip, moved)
        return _FunctionCost(flops or 0, moved, constants, cycles, cost.open_values, self.regions(function, places))

    def _cycles(self, trip: Trip, moved: int) -> float | None:
        template = self.template_of(trip.template)
        if template is None or not template.bandwidth:
            return None
        units = {unit.name: number for number, unit in enumerate(template.units)}
        work: list[tuple[int, int, int]] = []
        for step in trip.steps:
            if step.unit:
                number = units.get(step.unit)
                if number is None or not (template.units[number].operations or template.units[number].bytes):
                    return None
                size = sum(byte_count(result.type) or 0 for result in step.source.results)
                flops = step.source.flops() if isinstance(step.source, FuseOp) else None
                work.append((number, padded_operations(flops or 0, step.padding), size))
        return trip_cycles(moved, busiest_unit(UnitMatcher(template), work), template)


def _constant_bytes(values: Iterable[SSAValue]) -> int:
    return sum(
        byte_count(value.type) or 0
        for value in dict.fromkeys(values)
        if isinstance(value.owner, Operation) and is_constant(value.owner)
    )


def _is_feature(value: SSAValue) -> bool:
    return not (isinstance(value.owner, Operation) and is_constant(value.owner))


def _resident(calls: Sequence[_Call], arguments: Sequence[SSAValue]) -> list[int]:
    """(5) For each call the bytes of feature maps that are in memory while it runs."""
    last: dict[SSAValue, int] = {}
    for place, call in enumerate(calls):
        last.update(dict.fromkeys(call.reads, place))
        for result in call.gives:
            # What nobody reads is there while it is written; what is returned stays.
            last.setdefault(result, place)
    for value in [*arguments, *(result for call in calls for result in call.gives)]:
        if any(isinstance(use.operation, func.ReturnOp) for use in value.uses):
            last[value] = len(calls)
    ends: dict[int, list[SSAValue]] = {}
    for value, place in last.items():
        ends.setdefault(place, []).append(value)
    held = sum(byte_count(value.type) or 0 for value in arguments if value in last)
    sizes: list[int] = []
    for place, call in enumerate(calls):
        held += sum(byte_count(result.type) or 0 for result in call.gives)
        sizes.append(held)
        held -= sum(byte_count(value.type) or 0 for value in ends.get(place, ()) if _is_feature(value))
    return sizes


def _crossings(calls: Sequence[_Call], engines: Sequence[str], arguments: Sequence[SSAValue]) -> tuple[int, int]:
    """(4) Bytes to the device and back; each value once."""
    giver = dict.fromkeys(arguments, HOST)
    readers_of: dict[SSAValue, set[str]] = {}
    for call, engine in zip(calls, engines, strict=True):
        giver.update(dict.fromkeys(call.gives, engine))
        for value in call.reads:
            readers_of.setdefault(value, set()).add(engine)
    to_device = to_host = 0
    for value, given in giver.items():
        readers = readers_of.get(value, set[str]())
        if any(isinstance(use.operation, func.ReturnOp) for use in value.uses):
            readers = {*readers, HOST}
        size = byte_count(value.type) or 0
        if given == HOST and any(reader != HOST for reader in readers):
            to_device += size
        elif given != HOST and HOST in readers:
            to_host += size
    return to_device, to_host
