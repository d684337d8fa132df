"""Random hardware templates, and random graphs of operators for them."""

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from fuse_dialect.templates.graph import HardwareGraph, HardwareNode, HardwareRole
from fuse_dialect.templates.template import (
    HardwareLimits,
    HardwareLink,
    HardwareTemplate,
    HardwareUnit,
    OperatorMapping,
    VirtualOperator,
)

Draw = Callable[[st.SearchStrategy[int]], int]

KINDS = ("a", "b", "c", "d")


@st.composite
def random_templates(
    draw: Draw, operators: Sequence[str], predicates: Sequence[str] = ("always",), virtual: Sequence[str] = ()
) -> HardwareTemplate:
    """A valid template of one to seven units, often with cycles, that maps some of the operators."""
    count = draw(st.integers(1, 7))
    units = tuple(
        HardwareUnit(f"u{i}", KINDS[draw(st.integers(0, 3))], 1 + max(0, draw(st.integers(-3, 2))))
        for i in range(count)
    )
    links = {HardwareLink(f"u{draw(st.integers(0, i - 1))}", f"u{i}"): None for i in range(1, count)}
    for _ in range(draw(st.integers(0, 6))):
        links[HardwareLink(f"u{draw(st.integers(0, count - 1))}", f"u{draw(st.integers(0, count - 1))}")] = None
    present = sorted({unit.kind for unit in units})
    mappings: dict[tuple[str, str], OperatorMapping] = {}
    for operator in operators:
        for _ in range(draw(st.integers(0, 2))):
            predicate = predicates[draw(st.integers(0, len(predicates) - 1))]
            kinds = {present[draw(st.integers(0, len(present) - 1))]: None for _ in range(draw(st.integers(1, 2)))}
            mappings[operator, predicate] = OperatorMapping(operator, tuple(kinds), predicate)
    if not mappings:
        mappings[operators[0], "always"] = OperatorMapping(operators[0], (present[0],))
    limits = HardwareLimits(
        max(0, draw(st.integers(-6, 5))), max(0, draw(st.integers(-4, 1)) * 100), max(0, draw(st.integers(-4, 2)))
    )
    free = tuple(VirtualOperator(each) for each in virtual if draw(st.integers(0, 2)))
    template = HardwareTemplate("random", "u0", units, tuple(links), tuple(mappings.values()), free, limits)
    template.validate()
    return template


@st.composite
def random_hardware_graphs(draw: Draw, template: HardwareTemplate, max_nodes: int = 24) -> HardwareGraph:
    """A graph of nodes of every role; most operators run on some kinds of the template's units."""
    kinds = sorted({unit.kind for unit in template.units})
    nodes = [HardwareNode(HardwareRole.INPUT, "%in")]
    producers, sizes = [0], [64]
    barriers: list[int] = []
    for number in range(1, draw(st.integers(2, max_nodes))):
        dice = draw(st.integers(0, 13))
        recent = max(0, len(producers) - 4)
        reads = tuple(
            draw(st.integers(recent if draw(st.integers(0, 2)) else 0, len(producers) - 1))
            for _ in range(draw(st.integers(1, 3)))
        )
        label = f"%{number}"
        if dice == 0:
            nodes.append(HardwareNode(HardwareRole.CONSTANT, label))
        elif dice == 1:
            nodes.append(HardwareNode(HardwareRole.BARRIER, label, reads=reads, after=tuple(barriers[-1:])))
            barriers.append(number)
        elif dice == 2:
            nodes.append(HardwareNode(HardwareRole.OPERATOR, label, reads=reads))
        elif dice < 5:
            nodes.append(HardwareNode(HardwareRole.VIRTUAL, label, reads=reads[:1]))
        else:
            own = tuple({kinds[draw(st.integers(0, len(kinds) - 1))]: None for _ in range(draw(st.integers(1, 2)))})
            nodes.append(HardwareNode(HardwareRole.OPERATOR, label, own, own, reads, channels=draw(st.integers(0, 4))))
        for _ in range(1 + (draw(st.integers(0, 5)) == 5)):
            producers.append(number)
            sizes.append((None, 32, 64, 128)[draw(st.integers(0, 3))])
    escapes = [draw(st.integers(0, 5)) == 0 for _ in producers]
    escapes[-1] = True
    return HardwareGraph(nodes, producers, sizes, escapes)
