"""Recorded Relay programs as IR text, and what our pass makes of them in the words of the records.

A Relay operator becomes a generic op `"relay.<name>"` with the recorded kind in `fuse.pattern_kind`, so that nothing
but `fuse-ops` decides. Every op carries its node number in the attribute `id`; arguments are named `%arg<id>`.
"""

import gc
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import heapify, heappop, heappush
from typing import Any, TypeAlias

from recorded_graphs import recorded
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.pattern_kind import PatternKind

Case: TypeAlias = dict[str, Any]
RelayNode: TypeAlias = dict[str, Any]

EXPRESSIBLE = {"input", "op", "tuple", "tuple_get", "const"}
"""Kinds of recorded nodes that have a counterpart in our IR; functions, let, if and references have none."""

BARRIER = "annotation.stop_fusion"

RESHAPES = {
    "contrib_reverse_reshape",
    "dyn.reshape",
    "dyn.squeeze",
    "expand_dims",
    "nn.batch_flatten",
    "reshape",
    "squeeze",
}
"""Relay operators with the attribute `TReshapeOp`; see `op_patterns.json`."""

_ELEMENT_TYPES = {"float16": "f16", "float32": "f32", "int8": "i8", "int32": "i32", "int64": "i64", "bool": "i1"}


def inexpressible(case: Case) -> str | None:
    """Why the case's program cannot be written in our IR, or `None` if it can."""
    if "error" in case:
        return "TVM itself fails"
    kinds = {node["kind"] for node in case["graph"]["nodes"]} - EXPRESSIBLE
    return ", ".join(sorted(kinds)) or None


@dataclass(frozen=True)
class Function:
    """An outlined function: numbers of its root, its nodes and its arguments, and whether it only reshapes.

    What stands in Relay for one result of an operator with several has no op in our IR: it is left out of the nodes,
    and as root or argument its operator stands for it.
    """

    root: int
    nodes: tuple[int, ...]
    arguments: tuple[int, ...]
    reshape_only: bool


class RelayProgram:
    """One recorded program."""

    def __init__(self, case: Case):
        self.nodes: Sequence[RelayNode] = case["graph"]["nodes"]
        self.params: Sequence[int] = case["graph"]["params"]
        (self.output,) = case["graph"]["outputs"]

    def owner(self, number: int) -> int:
        """What stands for the node in our IR: the operator, for one of its several results; the value that a barrier
        lets through, for the barrier; else the node itself.
        """
        node = self.nodes[number]
        if node.get("op") == BARRIER:
            return self.owner(node["inputs"][0])
        return node["inputs"][0] if self._is_result(node) else number

    def root_tuple(self) -> int | None:
        """The tuple that the program returns; our functions return its fields."""
        return self.output if self.nodes[self.output]["kind"] == "tuple" else None

    def text(self, shuffle: random.Random | None = None) -> str:
        """The program as IR; the operators in some other valid order when `shuffle` is given."""
        body = [n["id"] for n in self.nodes if n["kind"] != "input" and n["id"] != self.root_tuple()]
        if shuffle is not None:
            body = self._shuffled(body, shuffle)
        lines = [line for number in body if (line := self._line(self.nodes[number]))]
        outputs = self._outputs()
        arguments = ", ".join(f"%arg{i}: {_type(self.nodes[i])}" for i in self.params)
        types = ", ".join(type for _, type in outputs)
        returned = ", ".join(value for value, _ in outputs)
        tail = f"func.return {returned} : {types}"
        return "\n".join([f"func.func @main({arguments}) -> ({types}) {{", *lines, tail, "}"])

    def _outputs(self) -> list[tuple[str, str]]:
        node = self.nodes[self.output]
        if node["kind"] == "tuple":
            return [(self._value(i), _type(self.nodes[i])) for i in node["inputs"]]
        if "tuple" in node and node["kind"] == "op":
            return [(f"%v{self.output}#{i}", _type(field)) for i, field in enumerate(node["tuple"])]
        return [(self._value(self.output), _type(node))]

    def _shuffled(self, body: list[int], shuffle: random.Random) -> list[int]:
        """The nodes in a random topological order."""
        inside = set(body)
        waiting = {number: set(self.nodes[number]["inputs"]) & inside for number in body}
        users: dict[int, list[int]] = {number: [] for number in body}
        for number, inputs in waiting.items():
            for i in inputs:
                users[i].append(number)
        ready = [(shuffle.random(), number) for number, inputs in waiting.items() if not inputs]
        heapify(ready)
        ordered: list[int] = []
        while ready:
            _, number = heappop(ready)
            ordered.append(number)
            for user in users[number]:
                waiting[user].discard(number)
                if not waiting[user]:
                    heappush(ready, (shuffle.random(), user))
        return ordered

    def _value(self, number: int) -> str:
        node = self.nodes[number]
        if node["kind"] == "input":
            return f"%arg{number}"
        if self._is_result(node):
            return f"%v{node['inputs'][0]}#{node['index']}"
        return f"%v{number}"

    def _is_result(self, node: RelayNode) -> bool:
        """Whether the node is one of several results of an operator."""
        return node["kind"] == "tuple_get" and self.nodes[node["inputs"][0]]["kind"] == "op"

    def _line(self, node: RelayNode) -> str:
        number, kind = node["id"], node["kind"]
        if self._is_result(node):
            return ""
        if kind == "const":
            return f"%v{number} = arith.constant {{id = {number} : i64}} dense<{_literal(node)}> : {_type(node)}"
        operands = ", ".join(self._value(i) for i in node["inputs"])
        operand_types = ", ".join(_type(self.nodes[i]) for i in node["inputs"])
        attributes = f"id = {number} : i64"
        properties = ""
        if kind == "tuple":
            name, results = "fuse.tuple", _type(node)
        elif kind == "tuple_get":
            name, results = "fuse.get_tuple_element", _type(node)
            properties = f" <{{index = {node['index']} : i64}}>"
        elif node["op"] == BARRIER:
            name, results = "fuse.stop_fusion", _type(node)
        else:
            name = f"relay.{node['op']}"
            results = ", ".join(map(_type, node["tuple"])) if "tuple" in node else _type(node)
            attributes += f", fuse.pattern_kind = #fuse.pattern_kind<{PatternKind(node['pattern']).keyword}>"
            attributes += ", fuse.reshape_only" if node["op"] in RESHAPES else ""
        count = f":{len(node['tuple'])}" if "tuple" in node and kind == "op" else ""
        return (
            f'%v{number}{count} = "{name}"({operands}){properties} {{{attributes}}} : ({operand_types}) -> ({results})'
        )

    def parse(self, shuffle: random.Random | None = None) -> ModuleOp:
        """The program as a module."""
        return parse_mlir(self.text(shuffle), "relay.mlir", context(allow_unregistered=True))

    def recorded_functions(self, run: Case) -> set[Function]:
        """What TVM outlined, in our terms."""
        return {
            Function(
                self.owner(function["root"]),
                *self._nodes_and_arguments(function, run["link_params"]),
                bool(function["reshape_only"]),
            )
            for function in run["functions"]
            if function["primitive"]
        }

    def _nodes_and_arguments(self, function: Case, link_params: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Nodes and arguments; a constant that is embedded is a node of ours, although TVM's group lacks it."""
        inside = set(function["nodes"])
        reads = [i for number in function["nodes"] for i in self.nodes[number]["inputs"]]
        embedded = {i for i in reads if link_params and self.nodes[i]["kind"] == "const" and i not in inside}
        arguments = tuple(dict.fromkeys(self.owner(i) for i in function["args"] if i not in embedded))
        return self._own_nodes([*inside, *embedded]), arguments

    def _own_nodes(self, numbers: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(i for i in numbers if self.owner(i) == i and i != self.root_tuple()))


def _type(node: RelayNode) -> str:
    if "tuple" in node:
        return f"tuple<{', '.join(map(_type, node['tuple']))}>"
    return f"tensor<{''.join(f'{dim}x' for dim in node['shape'])}{_ELEMENT_TYPES[node['dtype']]}>"


def _literal(node: RelayNode) -> str:
    value = node.get("value")
    scalar: Callable[[Any], str] = {
        "b": lambda item: str(bool(item)).lower(),
        "f": lambda item: repr(float(item)),
        "i": lambda item: str(int(item)),
    }[node["dtype"][0]]
    if isinstance(value, list):
        value = None
    return scalar(value or 0)


_parsed: dict[str, ModuleOp] = {}
"""Modules by their text with the ops in recorded order; many recorded programs are equal."""


@cache
def recorded_programs(name: str) -> list[tuple[Case, RelayProgram, ModuleOp]]:
    """The cases of a file that our IR can express, parsed; every second one with its ops in some other valid order.

    The modules are shared between tests: fuse a copy.
    """
    shuffle = random.Random(0)
    found: list[tuple[Case, RelayProgram, ModuleOp]] = []
    for number, case in enumerate(case for case in recorded(name) if inexpressible(case) is None):
        program = RelayProgram(case)
        text = program.text()
        if text not in _parsed:
            _parsed[text] = program.parse(shuffle if number % 2 else None)
        found.append((case, program, _parsed[text]))
    gc.freeze()  # they stay: no need for the garbage collector to go through them again and again
    return found


def outlined_functions(module: ModuleOp) -> list[Function]:
    """The primitives of a module that was parsed from `RelayProgram.text`, one for each call, in call order."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    return [_function(call, functions) for call in functions["main"].body.block.ops if isinstance(call, func.CallOp)]


def _function(call: func.CallOp, functions: dict[str, func.FuncOp]) -> Function:
    callee = functions[_name(call.callee)]
    assert "primitive" in callee.attributes
    block = callee.body.block
    nodes = [_number(op) for op in block.ops if not isinstance(op, func.ReturnOp)]
    assert isinstance(block.last_op, func.ReturnOp)
    root = {_origin(value, functions) for value in block.last_op.operands}
    arguments = dict.fromkeys(_origin(value, functions) for value in call.operands)
    (only_root,) = root
    return Function(only_root, tuple(sorted(nodes)), tuple(arguments), "fuse.reshape_only" in callee.attributes)


def _origin(value: SSAValue, functions: dict[str, func.FuncOp]) -> int:
    """Number of the node whose value this is."""
    if isinstance(value, BlockArgument):
        return int((value.name_hint or "").removeprefix("arg"))
    assert isinstance(value, OpResult)
    if isinstance(value.op, func.CallOp):
        block = functions[_name(value.op.callee)].body.block
        assert block.last_op is not None
        return _origin(block.last_op.operands[value.index], functions)
    return _number(value.op)


def _number(op: Operation) -> int:
    number = op.attributes["id"]
    assert isinstance(number, IntegerAttr)
    return number.value.data


def _name(symbol: SymbolRefAttr) -> str:
    return symbol.root_reference.data
