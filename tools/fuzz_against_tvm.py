"""Random graphs, partitioned by us and by TVM's own `FuseOps`.

    pip install ".[oracle]"
    python tools/fuzz_against_tvm.py --graphs 50000 --seed 1 [--cluster local:2]

The graphs are those of `tests/fusion/random_graphs.py`: chains, layers, windows with far operands, nested and
parallel skips, fans, series-parallel graphs, with several outputs, tuples and all kinds. Each depends on the seed and
on its own number alone, so one that differs is found again with `--only NUMBER`. Graphs whose edges no Relax module
has are left out and counted. Exit code 1 when a partition differs.
"""

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "fusion"))

from checking.cluster import add_cluster, spread
from random_graphs import random_graph
from tvm_oracle import InexactError, our_groups, tvm, tvm_groups

from fuse_dialect.fusion.core.forward_graph import ForwardGraph

DEPTHS = (None, None, 1, 2, 3, 4, 5, 8, 16, 64, 256)
SIZES = (4, 8, 12, 20, 30, 40, 60)
"""Nodes; every hundredth graph has about ten times as many."""
PORTION = 1000
"""Graphs of one process on a cluster."""


@dataclass(slots=True)
class Tally:
    """What a run has found so far."""

    compared: int = 0
    inexact: int = 0
    different: list[int] = field(default_factory=list[int])
    groups: int = 0
    nodes: int = 0
    depths: Counter[int | None] = field(default_factory=Counter[int | None])

    def __str__(self) -> str:
        return (
            f"{self.compared} graphs of {self.nodes} nodes compared, {self.groups} groups of several nodes, "
            f"{self.inexact} left out, {len(self.different)} different"
        )


def graph_and_limit(seed: int, number: int) -> tuple[ForwardGraph, int | None]:
    """The graph of that number, and a depth limit."""
    rng = Random(f"{seed}/{number}")
    size = rng.choice(SIZES) * (10 if number % 100 == 99 else 1)
    graph = random_graph(rng, size)
    return graph, rng.choice(DEPTHS) if rng.random() < 0.8 else rng.randint(1, 256)


def compare(seed: int, number: int, tally: Tally) -> None:
    """Partition one graph twice."""
    graph, max_depth = graph_and_limit(seed, number)
    try:
        theirs = tvm_groups(graph, max_depth=max_depth)
    except InexactError:
        tally.inexact += 1
        return
    ours = our_groups(graph, max_depth=max_depth)
    tally.compared += 1
    tally.groups += len(theirs)
    tally.nodes += len(graph)
    tally.depths[max_depth] += 1
    if ours != theirs:
        tally.different.append(number)
        print(f"graph {number}, max-depth {max_depth}: {graph}\n  ours {ours}\n  TVM  {theirs}")


def main() -> int:
    """Compare as many graphs as asked for; returns the exit code."""
    parser = argparse.ArgumentParser(description="Partition random graphs and compare with TVM's FuseOps.")
    parser.add_argument("--graphs", type=int, default=1000, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER", help="of the first graph (default: 0)")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this graph alone")
    add_cluster(parser)
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.graphs)
    if options.cluster is not None:
        return spread(options.cluster, __file__, None, numbers, PORTION, first_by="--first", counted_by="--graphs")
    tally = Tally()
    start = perf_counter()
    for number in numbers if options.only is None else [options.only]:
        compare(options.seed, number, tally)
        if number % 5000 == 4999:
            print(f"{tally}, {perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    print(f"seed {options.seed}, TVM {tvm.__version__}: {tally}")
    return int(bool(tally.different))


if __name__ == "__main__":
    sys.exit(main())
