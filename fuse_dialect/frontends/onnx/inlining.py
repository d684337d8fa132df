"""Model functions put in the place of their calls, in the protobuf, in time linear in the result.

1. Functions are sorted by their calls first. A cycle is an error, and the number of nodes that every call expands to is
   known before anything is copied, so a model that doubles itself costs nothing (see `fuse_dialect.budget`).
2. A call is replaced by copies of the function's nodes; calls among those come next. Every node of the result is
   copied once, however deep the calls are.
3. Values and nodes of a copy keep their names where they are free, else they get a number; inputs and outputs are those
   of the call. A value that nothing defines stays undefined, whatever the caller names so.
4. A copy that does not say where it comes from comes from where the call does; without a name it takes the call's.
5. An attribute that refers to one of the function takes the call's, else the function's default, else it is left out.

Source: ONNX, docs/IR.md, "Model Local Functions". `onnx_ir`'s pass takes quadratic time for names, and knows no budget.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import onnx

from fuse_dialect.budget import Budget
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.source_names import TORCH_SCOPES, TORCH_STACK

_Key: TypeAlias = tuple[str, str, str]
"""Domain, name and overload of a function."""
_SOURCES = (TORCH_SCOPES, TORCH_STACK)
_MOST_CHARACTERS = 1 << 10
"""Of a call's source that every copy gets: models are untrusted."""
_GRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


def inline_functions(model: onnx.ModelProto, budget: Budget) -> onnx.ModelProto:
    """The model without functions; a copy, unless it has none.

    Raises:
        FuseError: The functions call each other in a cycle, do not fit their calls or the model's opsets, or expand to
            more nodes or bytes than the budget has.
    """
    if not model.functions:
        return model
    inlined = onnx.ModelProto()
    inlined.CopyFrom(model)
    del inlined.functions[:]
    _Inliner(model, inlined, budget).run()
    return inlined


def _key(node: onnx.NodeProto) -> _Key:
    return _domain(node.domain), node.op_type, node.overload


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _subgraphs(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.GraphProto]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield attribute.g
            elif attribute.type == onnx.AttributeProto.GRAPHS:
                yield from attribute.graphs


def _all_graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    pending = [graph]
    while pending:
        inner = pending.pop()
        yield inner
        pending.extend(_subgraphs(inner.node))


def _all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """The nodes, and those in their subgraphs."""
    pending: list[Iterable[onnx.NodeProto]] = [nodes]
    while pending:
        level = pending.pop()
        yield from level
        pending.extend(graph.node for graph in _subgraphs(level))


class _Names:
    """Names that are taken, and the next number for each that was asked for again."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def take(self, name: str) -> None:
        """Take a name as it is."""
        self._taken.add(name)

    def unique(self, name: str) -> str:
        """The name, or the name and a number, whichever is free; numbers begin with 2."""
        new, number = name, self._next.get(name, 2)
        while new in self._taken:
            new, number = f"{name}_{number}", number + 1
            self._next[name] = number
        self._taken.add(new)
        return new


class _Inliner:
    """One model being inlined."""

    def __init__(self, model: onnx.ModelProto, inlined: onnx.ModelProto, budget: Budget):
        self._functions = {(_domain(f.domain), f.name, f.overload): f for f in model.functions}
        self._model = inlined
        self._budget = budget
        self._opsets = {_domain(entry.domain): entry.version for entry in inlined.opset_import}
        self._values, self._nodes = _Names(), _Names()
        self._sizes = self._expanded_sizes()

    def run(self) -> None:
        """Replace the calls in all graphs of the model."""
        for graph in _all_graphs(self._model.graph):
            self._take_names(graph)
        # A graph's subgraphs, those of copied nodes too, come after its own calls are replaced.
        for graph in _all_graphs(self._model.graph):
            if any(_key(node) in self._functions for node in graph.node):
                nodes = list(self._expand(graph.node))
                del graph.node[:]
                graph.node.extend(nodes)

    def _take_names(self, graph: onnx.GraphProto) -> None:
        for value in (*graph.input, *graph.initializer):
            self._values.take(value.name)
        for node in graph.node:
            self._nodes.take(node.name)
            for name in node.output:
                self._values.take(name)

    def _expanded_sizes(self) -> dict[_Key, int]:
        """Nodes that are copied for a call of each function, calls among them included.

        Raises:
            FuseError: The functions call each other in a cycle.
        """
        calls = {
            key: Counter(_key(node) for node in _all_nodes(function.node)) for key, function in self._functions.items()
        }
        callers: dict[_Key, list[_Key]] = {key: [] for key in calls}
        waiting = dict.fromkeys(calls, 0)
        for key, counts in calls.items():
            for callee in counts:
                if callee in callers:
                    callers[callee].append(key)
                    waiting[key] += 1
        ready = [key for key, count in waiting.items() if not count]
        sizes: dict[_Key, int] = {}
        for key in ready:
            sizes[key] = sum(count * (1 + sizes.get(callee, 0)) for callee, count in calls[key].items())
            for caller in callers[key]:
                waiting[caller] -= 1
                if not waiting[caller]:
                    ready.append(caller)
        if len(sizes) < len(calls):
            name = next(key for key in calls if key not in sizes)[1]
            raise FuseError(f"the function '{name}' calls itself, or functions that call each other in a cycle")
        return sizes

    def _expand(self, nodes: Sequence[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
        """The nodes with all calls replaced, in order."""
        pending = list(reversed(nodes))
        while pending:
            node = pending.pop()
            function = self._functions.get(_key(node))
            if function is None:
                yield node
                continue
            what = f"'{node.op_type}' node '{node.name or next(iter(node.output), 'unnamed')}'"
            size = self._sizes[_key(node)]
            if size > self._budget.ops:
                self._budget.spend(what, ops=size)
            copies = _Call(self, node, function).copies()
            count = sum(1 for _ in _all_nodes(copies))
            self._budget.spend(what, ops=count, bytes=sum(copy.ByteSize() for copy in copies))
            pending.extend(reversed(copies))

    def import_opsets(self, function: onnx.FunctionProto) -> None:
        """Let the model have the opsets of a function.

        Raises:
            FuseError: It has another version of one.
        """
        for entry in function.opset_import:
            domain = _domain(entry.domain)
            if domain not in self._opsets:
                self._opsets[domain] = entry.version
                self._model.opset_import.add(domain=domain, version=entry.version)
            if (version := self._opsets[domain]) != entry.version:
                raise FuseError(
                    f"the function '{function.name}' uses version {entry.version} of the opset "
                    f"'{domain or 'ai.onnx'}', the model version {version}"
                )

    def unique_value(self, name: str) -> str:
        """A name for a value of a copy."""
        return self._values.unique(name or "val")

    def unique_node(self, name: str) -> str:
        """A name for a copied node."""
        return self._nodes.unique(name)


class _Call:
    """The copies of a function's nodes for one call."""

    def __init__(self, inliner: _Inliner, call: onnx.NodeProto, function: onnx.FunctionProto):
        if len(call.input) > len(function.input) or len(call.output) > len(function.output):
            raise FuseError(
                f"'{call.op_type}' node '{call.name}' has {len(call.input)} inputs and {len(call.output)} outputs, "
                f"but the function takes {len(function.input)} and gives {len(function.output)}"
            )
        inliner.import_opsets(function)
        self._sources = [
            entry for entry in call.metadata_props if entry.key in _SOURCES and len(entry.value) <= _MOST_CHARACTERS
        ]
        self._inliner, self._call, self._function = inliner, call, function
        given = list(call.input) + [""] * (len(function.input) - len(call.input))
        self._names: dict[str, str] = {"": "", **dict(zip(function.input, given, strict=True))}
        self._attributes: Mapping[str, onnx.AttributeProto] = {
            **{default.name: default for default in function.attribute_proto},
            **{attribute.name: attribute for attribute in call.attribute},
        }
        if any(attribute.type in _GRAPHS for attribute in self._attributes.values()):
            raise FuseError(f"'{call.op_type}' node '{call.name}' passes a graph to a function, which is not supported")

    def copies(self) -> list[onnx.NodeProto]:
        """The copies, in the order of the function."""
        identities: list[onnx.NodeProto] = []
        for inner, outer in zip(self._function.output, self._call.output, strict=False):
            if not outer:
                continue
            if inner in self._names:
                # An input, or a result that the call names twice: something has to give it the second name.
                identities.append(
                    onnx.NodeProto(
                        op_type="Identity",
                        name=self._inliner.unique_node(f"{self._call.name}_{outer}"),
                        input=[self._names[inner]],
                        output=[outer],
                    )
                )
            else:
                self._names[inner] = outer
        return [*self._copied(self._function.node), *identities]

    def _copied(self, nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
        """Copies of the nodes of one level; recursion is as deep as subgraphs are nested, which protobuf limits."""
        for node in nodes:
            for name in node.output:
                if name and name not in self._names:
                    self._names[name] = self._inliner.unique_value(name)
        copies: list[onnx.NodeProto] = []
        for node in nodes:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            own = f"{self._call.name}/{node.op_type}" if self._call.name else node.op_type
            copy.name = self._inliner.unique_node(node.name or own)
            copy.input[:] = [self._name(name) for name in node.input]
            copy.output[:] = [self._names[name] for name in node.output]
            if not any(entry.key in _SOURCES for entry in copy.metadata_props):
                copy.metadata_props.extend(self._sources)
            self._resolve_attributes(copy)
            for graph in _subgraphs([copy]):
                self._rename_graph(graph)
            copies.append(copy)
        return copies

    def _name(self, name: str) -> str:
        known = self._names.get(name)
        if known is None:
            known = self._names[name] = self._inliner.unique_value(name)
        return known

    def _resolve_attributes(self, node: onnx.NodeProto) -> None:
        if not any(attribute.ref_attr_name for attribute in node.attribute):
            return
        resolved: list[onnx.AttributeProto] = []
        for attribute in node.attribute:
            if not attribute.ref_attr_name:
                resolved.append(attribute)
            elif (value := self._attributes.get(attribute.ref_attr_name)) is not None:
                copy = onnx.AttributeProto()
                copy.CopyFrom(value)
                copy.name = attribute.name
                resolved.append(copy)
        kept = [onnx.AttributeProto.FromString(attribute.SerializeToString()) for attribute in resolved]
        del node.attribute[:]
        node.attribute.extend(kept)

    def _rename_graph(self, graph: onnx.GraphProto) -> None:
        """Rename the values of a subgraph of a copied node; its own are not seen outside of it."""
        own = [value.name for value in (*graph.input, *graph.initializer)]
        own.extend(name for node in graph.node for name in node.output)
        hidden = {name: self._names.pop(name) for name in own if name and name in self._names}
        for value in (*graph.input, *graph.initializer):
            # An initializer may give the default of an input of the same name.
            value.name = self._name(value.name)
        nodes = self._copied(graph.node)
        del graph.node[:]
        graph.node.extend(nodes)
        for value in graph.output:
            value.name = self._name(value.name)
        del graph.value_info[:]
        for name in own:
            if name:
                self._names.pop(name, None)
        self._names.update(hidden)
