"""TVM's fusion rules.

Source: TVM `GraphPartitioner::RunFuse`, src/relay/analysis/graph_partitioner.cc (v0.18).
"""

from fuse_dialect.fusion.core.rules import FusionRule, RuleTable, up_to
from fuse_dialect.pattern_kind import PatternKind

TVM_RULES = RuleTable(
    (
        # conv2d -> relu: the epilogue is computed on each output element while it is at hand.
        FusionRule(
            name="complex-epilogue",
            phases=(0,),
            sources=frozenset({PatternKind.OUT_EWISE_FUSABLE}),
            edges=frozenset({PatternKind.ELEMWISE}),
            path_limit=PatternKind.BROADCAST,
            sinks=up_to(PatternKind.BROADCAST),
        ),
        # exp -> add, exp -> sum, and exp beside a convolution that has already joined their common consumer.
        FusionRule(
            name="broadcast-into-consumer",
            phases=(0, 1),
            sources=up_to(PatternKind.BROADCAST),
            edges=up_to(PatternKind.COMM_REDUCE),
            path_limit=PatternKind.INJECTIVE,
            sinks=up_to(PatternKind.OUT_EWISE_FUSABLE),
        ),
        # transpose -> exp; phase 1, so that convolutions have taken their epilogues before.
        FusionRule(
            name="injective-into-consumer",
            phases=(1,),
            sources=frozenset({PatternKind.INJECTIVE, PatternKind.TUPLE}),
            edges=frozenset(PatternKind),
            path_limit=PatternKind.INJECTIVE,
            sinks=up_to(PatternKind.INJECTIVE),
        ),
        # exp -> tuple, once the tuple itself has joined a concatenation.
        FusionRule(
            name="injective-into-tuple",
            phases=(2,),
            sources=up_to(PatternKind.INJECTIVE),
            edges=frozenset(PatternKind),
            path_limit=PatternKind.INJECTIVE,
            sinks=up_to(PatternKind.INJECTIVE),
            into_tuple=True,
        ),
    )
)
"""The rules of TVM's Relay and Relax `FuseOps`."""
