"""The body of a function as nodes: of the graph, or of an ONNX function.

1. A tuple is the list of its fields: it has no value of its own in ONNX.
2. Results that are inputs, constants or other results get a node `Identity`; the others are named as they are made.
3. Regions of `fuse.loop` and `fuse.if` are graphs inside of nodes. They see the values around them, as in MLIR.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, Union

import numpy as np
import onnx
from onnx import helper
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, DictionaryAttr, StringAttr, TupleType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.hardware import UNIT_ATTRIBUTE
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp, YieldOp
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.dialect.types import DYNAMIC, element_dtype, is_tensor
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.targets.onnx.graph import LARGEST_LIST, GraphWriter, Names, prop, shape_of
from fuse_dialect.targets.onnx.operators import ROWS
from fuse_dialect.targets.onnx.sources import node_source, note_place, note_sources

DOMAIN = "fuse"
"""Domain of the functions that are made of primitives."""

AddInitializer: TypeAlias = Callable[[str, Operation, DenseIntOrFPElementsAttr], object]
"""Makes a constant an initializer of that name."""
Kernels: TypeAlias = Mapping[str, func.FuncOp]
"""Functions by name."""
_Value: TypeAlias = Union[str, "list[_Value]"]
"""The name of a tensor, or the values of a tuple."""


class BodyWriter:
    """The body of one function, as the graph or as an ONNX function."""

    def __init__(
        self,
        function: func.FuncOp,
        add_initializer: AddInitializer | None,
        opset: int,
        domains: Mapping[str, str],
        kernels: Kernels,
        calls: int = 1,
    ):
        """Begin with the names of inputs and results.

        Args:
            function: What is written.
            add_initializer: Makes a constant an initializer; `None` for an ONNX function, which has none.
            opset: Version of ONNX's operators.
            domains: Of functions by name, where they are other than `DOMAIN`.
            kernels: The functions that nothing but one op calls.
            calls: How many ops call this function.
        """
        names = Names()
        is_graph = add_initializer is not None
        self._function, self._add_initializer = function, add_initializer
        self._domains = domains
        self._kernels, self._is_shared = kernels, calls > 1
        self.writer = GraphWriter(names, Names(), opset)
        self._has_subgraphs = False
        self._values: dict[SSAValue, _Value] = {}
        arguments = function.body.block.args
        wanted = _given_names(function.arg_attrs, len(arguments)) if is_graph else [None] * len(arguments)
        results = self.results
        fields = sum(len(list(fields_of(result.type))) for result in results)
        given = _given_names(function.res_attrs, len(results)) if is_graph and fields == len(results) else []
        self.inputs: list[str] = []
        for index, (name, argument) in enumerate(zip(wanted, arguments, strict=True)):
            made = [
                (names.unique(name or argument.name_hint or f"arg{index}"), type) for type in fields_of(argument.type)
            ]
            self.inputs += [field for field, _ in made]
            self._values[argument] = _packed(argument.type, iter([field for field, _ in made]))
            for field, type in made:
                self.writer.note_type(field, type)
        self._outputs = [names.unique((given[index] if given else None) or f"result{index}") for index in range(fields)]

    @property
    def results(self) -> Sequence[SSAValue]:
        """The values that the function returns."""
        last = self._function.body.block.last_op
        return last.operands if isinstance(last, func.ReturnOp) else ()

    def write(self) -> list[str]:
        """Write all ops; gives the names of the results."""
        for op in self._function.body.block.ops:
            if not isinstance(op, func.ReturnOp):
                before = len(self.writer.nodes)
                self._write(op)
                unit = op.attributes.get(UNIT_ATTRIBUTE)
                if isinstance(unit, StringAttr):
                    for node in self.writer.nodes[before:]:
                        helper.set_metadata_props(node, {UNIT_ATTRIBUTE: unit.data})
        results = list(_flat([self._values[value] for value in self.results]))
        made = {name for node in self.writer.nodes for name in node.output}
        renamed: dict[str, str] = {}
        for value, name in zip(results, self._outputs, strict=True):
            if value in made and value not in renamed and not self._has_subgraphs:
                renamed[value] = name
            else:
                # An input, an initializer or another result has a name already.
                source = renamed.get(value, value)
                self.writer.nodes.append(helper.make_node("Identity", [source], [name], name=f"{name}/Identity"))
        for node in self.writer.nodes:
            for names in (node.input, node.output):
                for index, name in enumerate(names):
                    if name in renamed:
                        names[index] = renamed[name]
        return self._outputs

    def _write(self, op: Operation) -> None:
        self.writer.hint = next((result.name_hint for result in op.results if result.name_hint), None) or "v"
        self.writer.op = op
        operands = [self._values[operand] for operand in op.operands]
        if self._is_shared:
            self.writer.source = None
            self._write_nodes(op, operands)
            return
        # A constant has the location of whoever reads it, whose name it must not take.
        source = None if is_constant(op) else node_source(op.location)
        first = len(self.writer.nodes)
        self.writer.source = source.name if source is not None else ""
        self._write_nodes(op, operands)
        if source is not None and (nodes := self.writer.nodes[first:]):
            note_place(nodes, source)
            if not isinstance(op, func.CallOp):
                nodes[-1].name = self.writer.node_names.unique(source.name)
            elif (kernel := self._kernels.get(op.callee.string_value())) is not None:
                note_sources(nodes[-1], kernel.body.block.ops)

    def _write_nodes(self, op: Operation, operands: "list[_Value]") -> None:
        match op:
            case TupleOp():
                self._values[op.results[0]] = operands
            case GetTupleElementOp():
                fields = operands[0]
                assert not isinstance(fields, str), "the verifier has checked that the operand is a tuple"
                self._values[op.results[0]] = fields[prop(op, "index")]
            case func.CallOp():
                types = [field for type in op.result_types for field in fields_of(type)]
                callee = op.callee.string_value()
                domain = self._domains.get(callee, DOMAIN)
                names = self.writer.emit_all(callee, list(_flat(operands)), len(types), domain=domain)
                fields = iter(names)
                for name, field in zip(names, types, strict=True):
                    self.writer.note_type(name, field)
                for result in op.results:
                    self._values[result] = _packed(result.type, fields)
            case LoopOp():
                self._write_loop(op)
            case IfOp():
                one, other = (self._subgraph(region.block, []) for region in (op.then, op.otherwise))
                condition = list(_flat(operands))
                names = self.writer.emit_all("If", condition, len(op.outputs), then_branch=one, else_branch=other)
                for value, name in zip(op.outputs, names, strict=True):
                    self._set(value, name)
            case FuseOp() if type(op) in ROWS:
                made = ROWS[type(op)](self.writer, op, list(_flat(operands)))
                for result, name in zip(op.results, [made] if isinstance(made, str) else made, strict=True):
                    self._set(result, name)
            case _ if is_constant(op):
                self._set(op.results[0], self._constant(op))
            case _:
                raise OpError(op, f"'{op_name(op)}' op cannot be written as ONNX")

    def _set(self, value: SSAValue, name: str) -> None:
        """Say which name a tensor has."""
        self._values[value] = name
        self.writer.note_type(name, value.type)

    def _constant(self, op: Operation) -> str:
        try:
            if not isinstance(op, arith.ConstantOp):
                raise VerifyException(f"'{op_name(op)}' op cannot be written as ONNX")
            array = constant_array(op.value)
        except VerifyException as error:
            raise OpError(op, str(error)) from error
        if not any(array.strides) and array.size > 1:
            number = self.writer.constant(array[(0,) * array.ndim])
            return self.writer.emit("Expand", number, self.writer.integers(array.shape))
        if array.size <= 1 or not isinstance(op.value, DenseIntOrFPElementsAttr):
            return self.writer.constant(array)
        if self._add_initializer is None:
            if array.nbytes > LARGEST_LIST:
                hint = "fuse without link-params, or onto hardware with constants-inside=false: constants are arguments"
                raise OpError(op, "is a large constant in a function, where ONNX has no initializers", hint)
            return self.writer.constant(array)
        name = self.writer.names.unique(self.writer.hint)
        self._add_initializer(name, op, op.value)
        return name

    def _write_loop(self, op: LoopOp) -> None:
        """Write `Loop`; a body that takes rows gathers them by the number of the iteration."""
        names = [self._name_of(value) for value in op.states]
        limit = self._limit(op)
        condition = "" if op.condition is None else self._name_of(op.condition)
        body = self._subgraph(op.body.block, [self._name_of(value) for value in op.rows])
        made = self.writer.emit_all("Loop", [limit, condition, *names], len(op.outputs), body=body)
        for value, name in zip(op.outputs, made, strict=True):
            self._set(value, name)

    def _limit(self, op: LoopOp) -> str:
        """The greatest number of iterations: the limit, or the number of rows, whichever is less; empty for none."""
        bounds = [] if op.limit is None else [self._name_of(op.limit)]
        if op.rows:
            (count, *_), number = shape_of(op.rows[0]), np.dtype(np.int64)
            if count == DYNAMIC:
                sizes = self.writer.emit("Shape", self._name_of(op.rows[0]), start=0, end=1)
                bounds.append(self.writer.emit("Squeeze", sizes, self.writer.integers([0])))
            else:
                bounds.append(self.writer.scalar(count, number))
        return self.writer.emit("Min", *bounds) if len(bounds) > 1 else bounds[0] if bounds else ""

    def _subgraph(self, block: Block, rows: Sequence[str]) -> onnx.GraphProto:
        """A region as a graph that sees the values around it; recursion is as deep as regions are nested."""
        self._has_subgraphs = True
        outer, self.writer = self.writer, GraphWriter(self.writer.names, self.writer.node_names, self.writer.opset)
        graph = self.writer
        graph.op, graph.source = outer.op, outer.source
        inputs: list[onnx.ValueInfoProto] = []
        states = block.args[: len(block.args) - len(rows)]
        for argument in states:
            name = graph.names.unique(argument.name_hint or "arg")
            self._set(argument, name)
            inputs.append(type_info(name, argument.type, self._function))
        if block.args:
            # The body of a loop is told whether the loop goes on, behind the number of the iteration.
            inputs.insert(1, helper.make_tensor_value_info(graph.names.unique("going_on"), onnx.TensorProto.BOOL, []))
        for row, argument in zip(rows, block.args[len(states) :], strict=True):
            graph.hint = argument.name_hint or "row"
            self._set(argument, graph.emit("Gather", row, inputs[0].name, axis=0))
        end = block.last_op
        assert isinstance(end, YieldOp), "the verifier has checked that regions end so"
        for op in block.ops:
            if op is not end:
                self._write(op)
        outputs: list[onnx.ValueInfoProto] = []
        if block.args:
            source = inputs[1].name if end.condition is None else self._name_of(end.condition)
            outputs.append(self._output(source, onnx.TensorProto.BOOL, []))
        for value in end.values:
            info = type_info("", value.type, self._function).type.tensor_type
            shape = [dim.dim_value if dim.HasField("dim_value") else None for dim in info.shape.dim]
            outputs.append(self._output(self._name_of(value), info.elem_type, shape))
        self.writer = outer
        return helper.make_graph(graph.nodes, graph.names.unique("body"), inputs, outputs)

    def _output(self, value: str, element: int, shape: Sequence[int | None]) -> onnx.ValueInfoProto:
        """A result of a graph inside, with a name of its own: the value may be one from outside."""
        self.writer.hint = "yielded"
        return helper.make_tensor_value_info(self.writer.emit("Identity", value), element, shape)

    def _name_of(self, value: SSAValue) -> str:
        name = self._values[value]
        assert isinstance(name, str), "the verifier has checked that the value is a tensor"
        return name


def fields_of(type: Attribute) -> Iterator[Attribute]:
    """The types of the tensors in a value of this type."""
    pending = [type]
    while pending:
        inner = pending.pop()
        if isinstance(inner, TupleType):
            pending.extend(reversed(inner.types.data))
        else:
            yield inner


def _flat(values: Sequence[_Value]) -> Iterator[str]:
    """The tensors in the values."""
    pending = list(reversed(values))
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        else:
            pending.extend(reversed(value))


def _packed(type: Attribute, names: Iterator[str]) -> _Value:
    """A value of the type, of the next tensors; recursion is as deep as tuples are nested."""
    return [_packed(field, names) for field in type.types] if isinstance(type, TupleType) else next(names)


def _given_names(attributes: "ArrayAttr[DictionaryAttr] | None", count: int) -> list[str | None]:
    """The names that arguments or results had in an ONNX model."""
    if attributes is None:
        return [None] * count
    found = [entry.data.get("onnx.name") for entry in attributes]
    return [name.data or None if isinstance(name, StringAttr) else None for name in found]


def type_info(name: str, type: Attribute, function: func.FuncOp) -> onnx.ValueInfoProto:
    if not is_tensor(type):
        raise OpError(function, f"takes or returns a value of type {type}, which ONNX does not have")
    shape = [None if size == DYNAMIC else size for size in type.get_shape()]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(element_dtype(type.element_type)), shape)
