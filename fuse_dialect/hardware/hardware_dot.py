"""`-t hardware-dot`: the hardware as a picture, and in it the way that the data of each group takes.

One box for each function that `fuse-ops-hw` has made, with all units and links of its template. Units that run an
operator are filled and say which, in the order of the trip; the way between them is drawn thick, also through units
that only let the data pass. The box says the bytes that the trip moves, its cycles, if the template has rates, and what
it holds in each region of memory. A module without such functions gives one box for each `fuse.hardware` op.

The output is DOT; `dot -Tsvg` of Graphviz (https://graphviz.org) draws it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import IO

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.target import Target

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.hardware_templates import read_template
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE, UNIT_ATTRIBUTE, HardwareOp
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.hardware.estimate import Costs
from fuse_dialect.hardware.template_file import known_templates
from fuse_dialect.hardware.trips import trips_of
from fuse_dialect.templates.template import HardwareTemplate

_HINT = "put the template of a file into the module first: --insert-hardware='template=\"file.mlir\"'"


@dataclass(frozen=True)
class HardwareDotTarget(Target):
    """A picture of hardware and groups, in the language of Graphviz."""

    name = "hardware-dot"

    function: str = ""
    """Name of the only function to draw; empty for all."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the graph.

        Raises:
            PassFailedException: There is nothing to draw.
            OpError: The template of a function is not known.
        """
        described = [read_template(op)[0] for op in module.walk() if isinstance(op, HardwareOp)]
        templates = known_templates(module)
        boxes = list(self._boxes(module, templates))
        if not boxes and not self.function:
            boxes = [_Box(template.name, template, ()) for template in described]
        if not boxes:
            if self.function:
                raise PassFailedException(f"the module has no function '@{self.function}' for hardware")
            raise PassFailedException("the module has no function for hardware, and describes none")
        output.write("digraph hardware {\n  rankdir=LR;\n  node [shape=box, style=filled, fillcolor=white];\n")
        for number, box in enumerate(boxes):
            output.writelines(f"  {line}\n" for line in box.lines(number))
        output.write("}\n")

    def _boxes(self, module: ModuleOp, templates: Mapping[str, HardwareTemplate]) -> Iterator["_Box"]:
        costs = Costs({trip.name: trip for trip in trips_of(module)}, templates.get)
        for op in module.walk():
            if not isinstance(op, func.FuncOp) or self.function not in ("", op.sym_name.data):
                continue
            name = op.attributes.get(HARDWARE_ATTRIBUTE)
            if isinstance(name, StringAttr):
                if name.data not in templates:
                    what = f"@{op.sym_name.data} is for hardware '{name.data}', which no fuse.hardware op describes"
                    raise OpError(op, what, _HINT)
                moved, cycles = costs.trip_cost(op)
                cost = f"{moved} bytes" if cycles is None else f"{moved} bytes, {cycles:.0f} cycles"
                held = costs.regions(op).items()
                cost = "\n".join([cost, *(f"{size} bytes in {region}" for region, size in held)])
                yield _Box(f"@{op.sym_name.data}", templates[name.data], _trip(op, templates[name.data]), cost)


def _trip(function: func.FuncOp, template: HardwareTemplate) -> list[tuple[str, str]]:
    """Unit and operator of each step.

    Raises:
        OpError: The template has no such unit.
    """
    names = {unit.name for unit in template.units}
    steps: list[tuple[str, str]] = []
    for op in function.walk():
        unit = op.attributes.get(UNIT_ATTRIBUTE)
        if isinstance(unit, StringAttr):
            if unit.data not in names:
                what = f"'{op_name(op)}' op runs on unit '{unit.data}', which template '{template.name}' does not have"
                raise OpError(op, what, _HINT)
            steps.append((unit.data, op_name(op)))
    return steps


@dataclass(frozen=True, slots=True)
class _Box:
    """One picture of a template."""

    title: str
    template: HardwareTemplate
    trip: Sequence[tuple[str, str]]
    """Unit and operator of each step."""
    cost: str = ""
    """What it moves, and how long it takes."""

    def lines(self, number: int) -> Iterator[str]:
        """The lines of a cluster."""
        yield f"subgraph cluster_{number} {{"
        title = f"{self.title} on {self.template.name}" if self.trip else self.title
        label = "\n".join(each for each in (title, self.cost) if each)
        yield f"  label={_quoted(label)};"
        for unit in self.template.units:
            steps = [f"{step}. {word}" for step, (name, word) in enumerate(self.trip, 1) if name == unit.name]
            colour = ", fillcolor=lightblue" if steps else ", fontcolor=gray40" if self.trip else ""
            capacity = f" x{unit.capacity}" if unit.capacity != 1 else ""
            label = "\n".join([f"{unit.name} [{unit.kind}{capacity}]", *steps])
            yield f"  {_quoted(f'{number}.{unit.name}')} [label={_quoted(label)}{colour}];"
        thick = self.way()
        for link in self.template.links:
            ends = f"{_quoted(f'{number}.{link.source}')} -> {_quoted(f'{number}.{link.sink}')}"
            style = " [penwidth=3]" if (link.source, link.sink) in thick else " [color=gray60]" if self.trip else ""
            yield f"  {ends}{style};"
        yield "}"

    def way(self) -> set[tuple[str, str]]:
        """The links that the data goes along, from the source on."""
        stops = [self.template.source, *(unit for unit, _ in self.trip)] if self.trip else []
        links: set[tuple[str, str]] = set()
        for start, end in pairwise(stops):
            links.update(shortest_way(self.template, start, end))
        return links


def shortest_way(template: HardwareTemplate, start: str, end: str) -> list[tuple[str, str]]:
    """The links of the shortest way from one unit to another, ties by the order of links.

    Empty for the same unit, and where there is no way: the strict replay of the OPU article makes such steps.
    """
    successors = template.successors()
    came_from: dict[str, str] = {start: start}
    for unit in (queue := [start]):
        for sink in successors[unit]:
            if sink not in came_from:
                came_from[sink] = unit
                queue.append(sink)
    links: list[tuple[str, str]] = []
    while end != start and end in came_from:
        links.append((came_from[end], end))
        end = came_from[end]
    return links[::-1]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
