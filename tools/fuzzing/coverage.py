"""What programs have met: ops with element types and sizes, and which kind of op reads which."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute

from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuzzing.arrays import ELEMENTS, SIZE_CLASSES, name_of, size_class
from fuzzing.complex_way import program_of
from fuzzing.generator import kind_of
from fuzzing.op_edges import OP_EDGES, edges_met, possible
from fuzzing.program import RandomProgram
from fuzzing.structures import expected, met
from fuzzing.vendor_way import operator_of


@dataclass(slots=True)
class Coverage:
    """Counts over many programs."""

    met: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    """By op, element type and size class."""
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """By kind of the op that makes a value, and kind of the op that reads it."""
    neighbours: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """By op that makes a value, and op that reads it."""
    edges: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """By op and structural edge of an op, how many programs."""
    structures: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """By kind and name of a row of structures: an edge, or options together."""
    own: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """By way that makes programs of its own, and operator or step, how many programs."""
    programs: int = 0

    def add(self, program: RandomProgram) -> None:
        """Count a program."""
        self.programs += 1
        types: dict[int, Attribute] = {number: source.type for number, source in program.sources.items()}
        shapes = {number: source.array.shape for number, source in program.sources.items()}
        self.edges.update(dict.fromkeys(edges_met(program), 1))
        makers: dict[int, str] = {}
        for step in program.steps:
            types.update(zip(step.results, step.result_types, strict=True))
            shapes.update(zip(step.results, step.shapes, strict=False))
            name, kind = step.op_class.name, kind_of(step.op_class).name
            makers.update(dict.fromkeys(step.results, name))
            for number in (*step.operands, *step.results):
                type = types[number]
                if is_tensor(type) and number in shapes:
                    classes = [size_class(shapes[number]), *["open"] * (DYNAMIC in type.get_shape())]
                    self.met.update((name, str(type.element_type), each) for each in classes)
                self.met.update((name, element, "scalar") for element in _fields(type))
            for operand in step.operands:
                if operand in makers:
                    maker = makers[operand]
                    self.pairs[_KINDS[maker], kind] += 1
                    self.neighbours[maker, name] += 1

    def add_own(self, seed: int, way: str) -> None:
        """Count what the program of a way of its own has."""
        if way == "structures":
            self.add_structure(seed)
        else:
            self.own.update((way, name) for name in ("programs", *OWN_NAMES[way](seed)))

    def add_structure(self, seed: int) -> None:
        """Count the structural edges of a seed, and the options that they ran with."""
        self.structures.update(met(seed))

    def merge(self, other: "Coverage") -> None:
        """Add the counts of others."""
        self.met.update(other.met)
        self.pairs.update(other.pairs)
        self.neighbours.update(other.neighbours)
        self.edges.update(other.edges)
        self.structures.update(other.structures)
        self.own.update(other.own)
        self.programs += other.programs

    def elements_of(self, op: str) -> set[str]:
        """The element types that an op was met with."""
        return {element for name, element, _ in self.met if name == op}

    def sizes_of(self, op: str) -> set[str]:
        """The size classes that an op was met with."""
        return {size for name, _, size in self.met if name == op}

    def never(self) -> list[str]:
        """Rows of structures that were never met."""
        return [name for kind, name in expected() if not self.structures[kind, name]]

    def edges_never(self) -> list[str]:
        """Edges that an op can have and has never had."""
        return [
            f"{op_class.name}: {edge}"
            for op_class in ALL_OPS
            for edge in OP_EDGES
            if edge in possible(op_class) and not self.edges[op_class.name, edge]
        ]

    def edges_of_ops(self) -> str:
        """How often each op was met with each edge of an op; a dash where it cannot have it."""
        lines = [f"{'':<22}" + "".join(f"{edge:>19}" for edge in OP_EDGES)]
        for op_class in ALL_OPS:
            can = possible(op_class)
            counts = [self.edges[op_class.name, edge] if edge in can else "-" for edge in OP_EDGES]
            name = op_class.name.removeprefix("fuse.")
            lines.append(f"{name:<22}" + "".join(f"{count:>19}" for count in counts))
        return "\n".join(lines)

    def structural(self) -> str:
        """How often each structural edge was met, and each choice of options."""
        lines: list[str] = []
        for heading in ("edges", "options"):
            rows = [name for kind, name in expected() if kind == heading]
            lines += [f"{heading:<52}{'programs':>9}"]
            lines += [f"  {name:<50}{self.structures[heading, name]:>9}" for name in rows]
        return "\n".join(lines)

    def own_programs(self) -> str:
        """How often each operator and step was met in programs that ways have made."""
        return "\n".join(f"  {way}: {name:<50}{count:>9}" for (way, name), count in sorted(self.own.items()))

    def table(self) -> str:
        """Element types and size classes of every op, and pairs of kinds."""
        columns = [name_of(element) for element in ELEMENTS]
        lines = [f"{'':<22}" + "".join(f"{column:>6}" for column in columns) + "  size classes"]
        for op_class in ALL_OPS:
            counts = Counter[str]()
            for (name, element, _), count in self.met.items():
                if name == op_class.name:
                    counts[element] += count
            sizes = self.sizes_of(op_class.name)
            missing = [size for size in SIZE_CLASSES if size not in sizes]
            words = "all" if not missing else f"all but {', '.join(missing)}"
            row = "".join(f"{counts[column] or '-':>6}" for column in columns)
            lines.append(f"{op_class.name.removeprefix('fuse.'):<22}{row}  {words}")
        kinds = sorted({kind for pair in self.pairs for kind in pair})
        lines.append("\n" + f"{'makes / reads':<20}" + "".join(f"{kind:>19}" for kind in kinds))
        for maker in kinds:
            lines.append(f"{maker:<20}" + "".join(f"{self.pairs[maker, kind]:>19}" for kind in kinds))
        return "\n".join(lines)


def _steps_of(seed: int) -> Iterable[str]:
    return dict.fromkeys(program_of(seed).steps)


OWN_NAMES: Mapping[str, Callable[[int], Iterable[str]]] = {
    "vendor": lambda seed: [operator_of(seed)],
    "complex": _steps_of,
}
"""What the program of a seed has, by the name of its way."""
_KINDS = {op_class.name: kind_of(op_class).name for op_class in ALL_OPS}


def _fields(type: Attribute) -> Iterable[str]:
    """Element types of the fields of a tuple."""
    if isinstance(type, TupleType):
        for each in type.types:
            yield from [str(each.element_type)] if is_tensor(each) else _fields(each)
