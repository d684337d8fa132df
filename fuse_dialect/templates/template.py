"""What an accelerator's pipeline looks like: units, the links between them, and which operators they run.

A template is data and knows nothing of compilers. Data enters a trip at the source and follows links; a unit on the
way either runs operators or lets the data pass. `HardwareTemplate.problems` says what is wrong with a template, and
about which part; the same rules hold for templates written in Python and for those written as IR.

The idea of fusing onto a graph of hardware units is that of the OPU compiler (https://github.com/OPU-Lab/opu-compiler).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TypeAlias

from fuse_dialect.templates.constraint import Constraint, contradictions, parse_constraint


class Predicate(StrEnum):
    """Conditions that a mapping may put on an operator, besides its name."""

    ALWAYS = "always"
    """No condition."""
    BIAS = "bias"
    """An operand is a constant, or is broadcast: a bias or a scale rather than a second feature map."""
    RESIDUAL = "residual"
    """All operands are computed values, of the shape of the result."""
    SCALAR = "scalar"
    """An operand is a constant of one element."""
    NEAREST = "nearest"
    """The interpolation takes the nearest element."""
    UNGROUPED = "ungrouped"
    """The convolution has one group."""
    DEPTHWISE = "depthwise"
    """The convolution has one group for each channel."""
    MIN_ZERO = "min-zero"
    """The lower bound is zero: relu6 and its relatives."""
    OVER_SPACE = "over-space"
    """The reduction is over the two last axes of four, or the two in the middle: a pool of all of an image."""


@dataclass(frozen=True, slots=True)
class HardwareUnit:
    """One unit of the pipeline."""

    name: str
    kind: str
    """What the unit can do; mappings name kinds, and several units may have the same."""
    capacity: int = 1
    """Operators that it runs during one trip of data."""
    operations: int = 0
    """Arithmetic operations that it does in a cycle, a multiply-add being two; 0 if they are not said."""
    bytes: int = 0
    """Bytes of results that it gives in a cycle; 0 if they are not said."""
    required: bool = False
    """Whether every trip must use it: data cannot pass it unchanged."""
    stores: bool = False
    """Whether what it gives can be written to memory; if no unit of a template says so, all can."""
    cascades: bool = False
    """Whether trips that use it may run together with those before and behind, stripe by stripe of rows."""


@dataclass(frozen=True, slots=True)
class HardwareLink:
    """A wire from one unit to the next. Of units that are equally near, that of the earlier link is taken."""

    source: str
    sink: str


@dataclass(frozen=True, slots=True)
class OperatorMapping:
    """An operator and the kinds of units that run it; several rows for one operator add up."""

    operator: str
    """Name of the op: `fuse.conv2d`, or any name of another dialect."""
    kinds: tuple[str, ...]
    predicate: str = Predicate.ALWAYS
    constraints: tuple[Constraint, ...] = ()
    """What must hold besides; each is a reason of its own."""
    stream: int | None = None
    """The operand that streams by; `None` for any. Weights and biases come from memory."""
    check: str = ""
    """Name of a function of the entry point group `fuse_dialect.hardware_checks` that says what no row can."""


@dataclass(frozen=True, slots=True)
class HardwareRequirement:
    """A constraint of all mapped operators."""

    constraint: Constraint
    excepted: tuple[str, ...] = ()
    """Operators that it does not bind."""


@dataclass(frozen=True, slots=True)
class VirtualOperator:
    """An operator that costs nothing, because it only changes how memory is addressed."""

    operator: str


@dataclass(frozen=True, slots=True)
class HardwareLimits:
    """Bounds of one group; 0 is no limit. A size that is not known exceeds every limit on it."""

    operands: int = 0
    """Most values that a group reads from memory, constants included."""
    buffer_bytes: int = 0
    """Most bytes of a value that goes from one unit to the next."""
    channel_alignment: int = 0
    """Channels of the result of every product (convolution, dense) must be a multiple of this."""
    results: int = 0
    """Most values that a group writes to memory."""
    products: int = 0
    """Most products (convolution, dense) in a group."""
    trip_bytes: int = 0
    """Most bytes of all that a group reads, writes, and passes from unit to unit."""
    feature_bytes: int = 0
    """The same without constants."""
    constant_bytes: int = 0
    """Most bytes of constants that a group reads."""


class Role(StrEnum):
    """What bytes are to a trip; the order in which they are placed in memory."""

    INPUTS = "inputs"
    """Computed values that it reads."""
    WEIGHTS = "weights"
    """Constants that it reads."""
    OUTPUTS = "outputs"
    """Values that it writes."""
    BETWEEN = "between"
    """Values that pass from unit to unit alone."""


@dataclass(frozen=True, slots=True)
class HardwareRegion:
    """A memory: what of a trip may live in it, and how much."""

    name: str
    holds: tuple[str, ...]
    """Roles. One that several regions hold goes to the first of them that has room for it."""
    bytes: int = 0
    """Its size; 0 for as much as there is."""
    streams: bool = False
    """Whether what is larger passes through it in parts, so that its size is no limit."""
    sentence: str = ""
    """What a refusal says first."""


TemplatePart: TypeAlias = (
    HardwareUnit | HardwareLink | OperatorMapping | VirtualOperator | HardwareRequirement | HardwareRegion
)


@dataclass(frozen=True, slots=True)
class TemplateProblem:
    """Something wrong with a template."""

    message: str
    part: TemplatePart | None = None
    """The very part that is wrong; `None` for the template as a whole."""


class TemplateError(ValueError):
    """A template that cannot be used."""

    def __init__(self, template: "HardwareTemplate", problem: TemplateProblem):
        super().__init__(f"hardware template '{template.name}': {problem.message}")
        self.problem = problem


@dataclass(frozen=True, slots=True)
class HardwareTemplate:
    """An accelerator.

    Example:
        >>> template = HardwareTemplate(
        ...     name="tiny",
        ...     source="mac",
        ...     units=(HardwareUnit("mac", "mac"), HardwareUnit("act", "activation")),
        ...     links=(HardwareLink("mac", "act"),),
        ...     mappings=(OperatorMapping("fuse.conv2d", ("mac",)), OperatorMapping("fuse.relu", ("activation",))),
        ... )
        >>> template.validate()
    """

    name: str
    source: str
    """Name of the unit where data enters; a search for the first operator of a group starts at it."""
    units: tuple[HardwareUnit, ...]
    links: tuple[HardwareLink, ...] = ()
    mappings: tuple[OperatorMapping, ...] = ()
    virtual: tuple[VirtualOperator, ...] = ()
    limits: HardwareLimits = HardwareLimits()
    requirements: tuple[HardwareRequirement, ...] = ()
    bandwidth: int = 0
    """Bytes that move from and to memory in a cycle; 0 if they are not said."""
    regions: tuple[HardwareRegion, ...] = ()
    """Memories; none if they are not said."""

    def constraints_of(self, row: OperatorMapping) -> tuple[Constraint, ...]:
        """What must hold of an operator for a row: the requirements of the template, and the row's own."""
        common = [each.constraint for each in self.requirements if row.operator not in each.excepted]
        return (*common, *row.constraints)

    def validate(self) -> None:
        """Check the template.

        Raises:
            TemplateError: It has a problem; the first one is named.
        """
        problem = next(self.problems(), None)
        if problem is not None:
            raise TemplateError(self, problem)

    def problems(self) -> Iterator[TemplateProblem]:
        """Everything that is wrong with the template; links come first, since a wrong one cuts units off."""
        if not self.units:
            yield TemplateProblem("expects at least one unit, got none")
        names = {unit.name for unit in self.units}
        if self.units and self.source not in names:
            yield TemplateProblem(f"expects the source to be one of its units, got '{self.source}'")
        for limit in fields(HardwareLimits):
            if getattr(self.limits, limit.name) < 0:
                got = getattr(self.limits, limit.name)
                yield TemplateProblem(f"expects limit '{limit.name}' of 0 or more, got {got}")
        if self.bandwidth < 0:
            yield TemplateProblem(f"expects a bandwidth of 0 or more, got {self.bandwidth}")
        yield from self._link_problems(names)
        yield from self._unit_problems(names)
        yield from self._way_problems()
        yield from self._mapping_problems()
        yield from self._region_problems()

    def _unit_problems(self, names: set[str]) -> Iterator[TemplateProblem]:
        reachable = self.reachable_units() if self.source in names else names
        seen: set[str] = set()
        for unit in self.units:
            if unit.name in seen:
                yield TemplateProblem(f"expects unit names to differ, got '{unit.name}' twice", unit)
            elif unit.name not in reachable:
                yield TemplateProblem(f"expects a way from source '{self.source}' to unit '{unit.name}'", unit)
            seen.add(unit.name)
            if not unit.kind:
                yield TemplateProblem(f"expects a kind of unit '{unit.name}', got ''", unit)
            if min(unit.operations, unit.bytes) < 0:
                yield TemplateProblem(f"expects rates of unit '{unit.name}' of 0 or more", unit)
            if unit.capacity < 1:
                yield TemplateProblem(f"expects unit '{unit.name}' of capacity 1 or more, got {unit.capacity}", unit)

    def _region_problems(self) -> Iterator[TemplateProblem]:
        seen: set[str] = set()
        for region in self.regions:
            if region.name in seen:
                yield TemplateProblem(f"expects names of regions to differ, got '{region.name}' twice", region)
            seen.add(region.name)
            wrong = next((role for role in region.holds if role not in set(Role)), None)
            if wrong is not None or not region.holds:
                known, got = ", ".join(Role), repr(wrong) if wrong is not None else "nothing"
                yield TemplateProblem(f"expects region '{region.name}' to hold some of {known}, got {got}", region)
            if region.bytes < 0:
                yield TemplateProblem(f"expects region '{region.name}' of 0 bytes or more, got {region.bytes}", region)
            if region.streams and not region.bytes:
                yield TemplateProblem(f"expects the bytes of region '{region.name}', which streams", region)
        held = {role for region in self.regions for role in region.holds}
        for role in Role if self.regions else ():
            if role not in held:
                yield TemplateProblem(f"expects a region that holds {role}, got none")

    def _way_problems(self) -> Iterator[TemplateProblem]:
        """What keeps trips from passing all units that they must, or from memory."""
        ahead = {unit.name: self.reachable_units(unit.name) for unit in self.units if unit.required or self.storing}
        mapped = {kind for row in self.mappings for kind in row.kinds}
        required = [unit for unit in self.units if unit.required]
        for place, unit in enumerate(required):
            if unit.kind not in mapped:
                text = f"expects an operator for unit '{unit.name}', which every trip must use, got none"
                yield TemplateProblem(text, unit)
            for other in required[:place]:
                if other.name not in ahead[unit.name] and unit.name not in ahead[other.name]:
                    what = f"units '{other.name}' and '{unit.name}', which every trip must use"
                    yield TemplateProblem(f"expects a way between {what}", unit)
        for unit in self.units:
            if self.storing and self.storing.isdisjoint(ahead[unit.name]):
                yield TemplateProblem(f"expects a way from unit '{unit.name}' to one that stores", unit)

    @property
    def storing(self) -> frozenset[str]:
        """Units that can write to memory; none if all can."""
        return frozenset(unit.name for unit in self.units if unit.stores)

    def _link_problems(self, names: set[str]) -> Iterator[TemplateProblem]:
        seen: set[HardwareLink] = set()
        for link in self.links:
            for end in (link.source, link.sink):
                if end not in names:
                    yield TemplateProblem(f"expects a link between units, got '{end}', which is none", link)
            if link in seen:
                yield TemplateProblem(f"expects links to differ, got '{link.source}' to '{link.sink}' twice", link)
            seen.add(link)

    def _mapping_problems(self) -> Iterator[TemplateProblem]:
        kinds = {unit.kind for unit in self.units}
        predicates = set(Predicate)
        seen: set[OperatorMapping] = set()
        for row in self.mappings:
            if not row.operator:
                yield TemplateProblem("expects the name of an operator, got ''", row)
            if not row.kinds:
                yield TemplateProblem(f"expects '{row.operator}' to be mapped to a kind of unit, got nothing", row)
            unknown = next((kind for kind in row.kinds if kind not in kinds), None)
            if unknown is not None:
                yield TemplateProblem(f"expects the kind of a unit for '{row.operator}', got '{unknown}'", row)
            if row.predicate not in predicates:
                known = ", ".join(Predicate)
                yield TemplateProblem(f"expects a predicate among {known}, got '{row.predicate}'", row)
            # Rows that ask for the same are one row with more kinds.
            asked = replace(row, kinds=())
            if asked in seen:
                yield TemplateProblem(f"expects one row for '{row.operator}' if '{row.predicate}', got two", row)
            seen.add(asked)
            if row.stream is not None and row.stream < 0:
                yield TemplateProblem(f"expects the number of an operand to stream, got {row.stream}", row)
            for one, other in contradictions(self.constraints_of(row)):
                what = f"'{one.text}' and '{other.text}'"
                yield TemplateProblem(f"expects constraints of '{row.operator}' that can all hold, got {what}", row)
        if not self.mappings:
            yield TemplateProblem("expects at least one operator that is mapped to a unit, got none")
        counts = Counter(each.operator for each in self.virtual)
        mapped = {row.operator for row in self.mappings}
        for each in self.virtual:
            if each.operator in mapped:
                yield TemplateProblem(f"expects '{each.operator}' to be virtual or mapped, got both", each)
            if counts[each.operator] > 1:
                yield TemplateProblem(f"expects virtual operators to differ, got '{each.operator}' twice", each)

    def successors(self) -> dict[str, list[str]]:
        """For each unit those that its links lead to, in the order of the links."""
        successors: dict[str, list[str]] = {unit.name: [] for unit in self.units}
        for link in self.links:
            if link.source in successors and link.sink in successors:
                successors[link.source].append(link.sink)
        return successors

    def reachable_units(self, start: str | None = None) -> set[str]:
        """Units that data from a unit can come to, itself included; from the source, if none is named."""
        successors = self.successors()
        start = self.source if start is None else start
        reached: set[str] = set()
        pending: list[str] = [start] if start in successors else []
        while pending:
            unit = pending.pop()
            if unit not in reached:
                reached.add(unit)
                pending.extend(successors[unit])
        return reached


def units(*rows: tuple[str, str]) -> tuple[HardwareUnit, ...]:
    """Units of capacity 1 from pairs of name and kind."""
    return tuple(HardwareUnit(name, kind) for name, kind in rows)


def links(*rows: tuple[str, str]) -> tuple[HardwareLink, ...]:
    """Links from pairs of names."""
    return tuple(HardwareLink(source, sink) for source, sink in rows)


def virtual(*operators: str) -> tuple[VirtualOperator, ...]:
    """Virtual operators from names."""
    return tuple(VirtualOperator(operator) for operator in operators)


def mapped(
    kind: str,
    operators: Sequence[str],
    predicate: str = Predicate.ALWAYS,
    *,
    where: Sequence[str] = (),
    stream: int | None = None,
) -> tuple[OperatorMapping, ...]:
    """One mapping to `kind` for each operator, with constraints as lines of text."""
    constraints = tuple(map(parse_constraint, where))
    return tuple(OperatorMapping(operator, (kind,), predicate, constraints, stream) for operator in operators)


def required(*lines: str, excepted: Sequence[str] = ()) -> tuple[HardwareRequirement, ...]:
    """A requirement for each line of text."""
    return tuple(HardwareRequirement(parse_constraint(line), tuple(excepted)) for line in lines)
