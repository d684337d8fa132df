"""Results that are views: PyTorch makes them of the tensor that they show, as it does without a backend.

Where a result shows an argument or another result, PyTorch makes the tensor that it hands out anew, from the sizes, the
strides and the offset of what the backend gave. A copy in memory of its own says nothing of these.
"""

# PyTorch is no dependency of the checks.
# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

import operator
from typing import Any, cast

import torch
from torch import fx


def leave_views(module: fx.GraphModule) -> set[str]:
    """Give the graph nodes of their own for results that show an argument or another result.

    Args:
        module: The graph; it changes.

    Returns:
        Names of these nodes, which stay PyTorch's: they take no time.

    Complexity: linear in the nodes.
    """
    output = next(node for node in module.graph.nodes if node.op == "output")
    results = cast(Any, output.args[0])
    if not isinstance(results, list | tuple):
        return set()
    chains = [_chain(each) if isinstance(each, fx.Node) else [] for each in results]
    given = {each for each, chain in zip(results, chains, strict=True) if isinstance(each, fx.Node) and not chain}
    copies = dict[fx.Node, fx.Node]()
    kept = list(results)
    with module.graph.inserting_before(output):
        for place, chain in enumerate(chains):
            if not chain or not (_shown(chain[0]).op == "placeholder" or _shown(chain[0]) in given):
                continue
            for node in chain:
                if node not in copies:
                    copies[node] = module.graph.node_copy(node, lambda each: copies.get(each, each))
            kept[place] = copies[chain[-1]]
    output.args = (type(results)(kept),)
    for node in reversed(list(module.graph.nodes)):
        if node in copies and not node.users:
            module.graph.erase_node(node)
    module.recompile()
    return {node.name for node in copies.values()}


def _chain(node: fx.Node) -> list[fx.Node]:
    """The views between a tensor with memory of its own and a node, in order, with the node; none if it is no view."""
    chain = list[fx.Node]()
    while _is_view(node):
        chain.append(node)
        node = _shown(node)
    return chain[::-1]


def _shown(node: fx.Node) -> fx.Node:
    """What a view, or the field of several views, shows."""
    return cast(fx.Node, node.args[0])


def _is_view(node: fx.Node) -> bool:
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], fx.Node):
        return False
    if node.target is operator.getitem:
        return _is_view(_shown(node))
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    returns = node.target._schema.returns
    alias = returns[0].alias_info if len(returns) == 1 else None
    return alias is not None and not alias.is_write
