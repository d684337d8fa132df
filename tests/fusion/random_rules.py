"""Random tables of rules that keep to the conditions of `fuse_dialect.fusion.core.rules`."""

from random import Random

from plain_partition import PlainRule

from fuse_dialect.fusion.core.rules import FusionRule, RuleTable
from fuse_dialect.pattern_kind import PatternKind as Kind

ANCHOR = Kind.OUT_EWISE_FUSABLE
SOURCES = (Kind.ELEMWISE, Kind.BROADCAST, Kind.INJECTIVE, Kind.COMM_REDUCE, ANCHOR, Kind.TUPLE)
SINKS = (Kind.ELEMWISE, Kind.BROADCAST, Kind.INJECTIVE, Kind.COMM_REDUCE, ANCHOR)


def some(rng: Random, kinds: tuple[Kind, ...], chance: float) -> frozenset[Kind]:
    """A random choice of the kinds, at least one."""
    return frozenset(kind for kind in kinds if rng.random() < chance) or frozenset({rng.choice(kinds)})


def random_rules(rng: Random) -> RuleTable:
    """A table of one to four phases in any order, whose rows share out the kinds of sources."""
    rows: list[FusionRule] = []
    for phase in rng.sample(range(6), rng.randint(1, 4)):
        into_tuple = rng.random() < 0.3
        kinds = list(some(rng, SOURCES, 0.7))
        rng.shuffle(kinds)
        while kinds:
            count = rng.randint(1, len(kinds))
            sources, kinds = frozenset(kinds[:count]), kinds[count:]
            sinks = some(rng, tuple(kind for kind in SINKS if kind is not ANCHOR or ANCHOR not in sources), 0.7)
            is_strict = rng.random() < 0.2
            rows.append(
                FusionRule(
                    name=f"row-{len(rows)}",
                    phases=(phase,),
                    sources=sources,
                    edges=frozenset({Kind.ELEMWISE}) if is_strict else some(rng, tuple(Kind), 0.7),
                    path_limit=Kind.BROADCAST if is_strict else Kind.INJECTIVE,
                    sinks=(sinks - {Kind.INJECTIVE} or frozenset({Kind.ELEMWISE})) if is_strict else sinks,
                    into_tuple=into_tuple,
                )
            )
    return RuleTable(tuple(rows))


def plain_rules(table: RuleTable) -> list[PlainRule]:
    """The same rules for the plain partition."""
    return [
        PlainRule(phase, row.sources, row.edges, row.path_limit, row.sinks, row.into_tuple)
        for row in table.rows
        for phase in row.phases
    ]
