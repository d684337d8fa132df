"""A module as an ONNX model: primitives as local functions, everything else as nodes, large constants as initializers.

1. The function `@main` is the graph; every other function that it calls, directly or not, becomes a function of the
   domain `DOMAIN`, with the name that it has in the module. onnxruntime inlines functions unless a backend takes them.
2. A tuple is the list of its fields: it has no value of its own in ONNX.
3. Functions have no initializers, so a large constant inside of one, as `link-params` makes them, is refused.
4. Tensors take their elements from a weights file when there is one, by its name, offset and length.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias, Union

import onnx
from onnx import helper
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, DictionaryAttr, ModuleOp, StringAttr, TupleType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.analysis.constants import is_constant
from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.dialect.types import DYNAMIC, element_dtype, is_tensor
from fuse_dialect.kinds.kind_of import op_name
from fuse_dialect.targets.onnx.graph import LARGEST_LIST, OPSET, GraphWriter, Names, prop, tensor_proto
from fuse_dialect.targets.onnx.operators import ROWS
from fuse_dialect.targets.weights import Weights

DOMAIN = "fuse"
"""Domain of the functions that are made of primitives."""
IR_VERSION = 10
"""Version of the file format."""
MAX_MODEL_BYTES = 1 << 30
"""Bytes of constants that a model may hold itself; protobuf reads no message of 2 GB."""

_Value: TypeAlias = Union[str, "list[_Value]"]
"""The name of a tensor, or the values of a tuple."""


def onnx_model(module: ModuleOp, weights: Weights | None = None, weights_name: str = "") -> onnx.ModelProto:
    """The model.

    Args:
        module: A verified module.
        weights: Constants that are in a file; other constants are in the model.
        weights_name: Name of that file, in the model's folder.

    Raises:
        OpError: An op has no ONNX operators, or a constant no elements.
    """
    return _ModelWriter(module, weights, weights_name).run()


class _ModelWriter:
    """One model while it is written."""

    def __init__(self, module: ModuleOp, weights: Weights | None, weights_name: str):
        self._module = module
        self._weights = weights
        self._weights_name = weights_name
        self._offsets = {} if weights is None else dict(zip(weights.names(), weights.offsets()[1], strict=True))
        self._functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
        self._initializers: list[onnx.TensorProto] = []
        self._bytes = 0

    def run(self) -> onnx.ModelProto:
        """Write the graph, then the functions that it needs, each before those that call it."""
        main = self._functions.get("main")
        if main is None or not main.body.blocks:
            raise OpError(self._module, "'-t onnx' writes the function '@main', which the module does not have")
        graph = self._graph(main)
        imports = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, 1)]
        functions = [self._function(callee) for callee in self._called(main)]
        return helper.make_model(
            graph, opset_imports=imports, functions=functions, ir_version=IR_VERSION, producer_name="fuse_dialect"
        )

    def _called(self, main: func.FuncOp) -> Iterator[func.FuncOp]:
        """The functions that are called from `main` on, in the order of the module."""
        pending, found = [main], {"main"}
        while pending:
            for op in pending.pop().walk():
                if isinstance(op, func.CallOp) and (name := op.callee.string_value()) not in found:
                    found.add(name)
                    callee = self._functions.get(name)
                    if callee is None or not callee.body.blocks:
                        raise OpError(op, f"calls '@{name}', which has no body")
                    pending.append(callee)
        return (function for name, function in self._functions.items() if name in found and name != "main")

    def _graph(self, main: func.FuncOp) -> onnx.GraphProto:
        body = _Body(self, main, Names(), is_graph=True)
        inputs = [_value_info(name, value, main) for name, value in zip(body.inputs, main.body.block.args, strict=True)]
        outputs = body.write()
        types = [type for field in body.results for type in _fields(field.type)]
        results = [_type_info(name, type, main) for name, type in zip(outputs, types, strict=True)]
        return helper.make_graph(body.writer.nodes, "main", inputs, results, self._initializers)

    def _function(self, function: func.FuncOp) -> onnx.FunctionProto:
        body = _Body(self, function, Names(), is_graph=False)
        outputs = body.write()
        imports = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_function(DOMAIN, function.sym_name.data, body.inputs, outputs, body.writer.nodes, imports)

    def initializer(self, name: str, op: Operation, value: DenseIntOrFPElementsAttr) -> None:
        """Add a tensor to the graph.

        Raises:
            OpError: The tensors do not fit into one model.
        """
        weight = None if self._weights is None else self._weights.name_of(value)
        array = constant_array(value)
        if weight is not None:
            tensor = onnx.TensorProto(name=name, dims=value.get_shape(), data_location=onnx.TensorProto.EXTERNAL)
            tensor.data_type = helper.np_dtype_to_tensor_dtype(array.dtype)
            place = {"location": self._weights_name, "offset": self._offsets[weight], "length": array.nbytes}
            for key, entry in place.items():
                tensor.external_data.add(key=key, value=str(entry))
            self._initializers.append(tensor)
            return
        self._bytes += array.nbytes
        if self._bytes > MAX_MODEL_BYTES:
            hint = "--weights writes constants to a file of their own"
            raise OpError(op, f"brings the model to more than {MAX_MODEL_BYTES >> 20} MB of constants", hint)
        self._initializers.append(tensor_proto(name, value, array))


class _Body:
    """The body of one function, as the graph or as an ONNX function."""

    def __init__(self, model: _ModelWriter, function: func.FuncOp, names: Names, *, is_graph: bool):
        self._model, self._function, self._is_graph = model, function, is_graph
        self.writer = GraphWriter(names)
        self._values: dict[SSAValue, _Value] = {}
        arguments = function.body.block.args
        wanted = _given_names(function.arg_attrs, len(arguments)) if is_graph else [None] * len(arguments)
        results = self.results
        fields = sum(len(list(_fields(result.type))) for result in results)
        given = _given_names(function.res_attrs, len(results)) if is_graph and fields == len(results) else []
        self.inputs = [
            names.unique(name or argument.name_hint or f"arg{index}")
            for index, (name, argument) in enumerate(zip(wanted, arguments, strict=True))
        ]
        self._outputs = [names.unique((given[index] if given else None) or f"result{index}") for index in range(fields)]
        for argument, name in zip(arguments, self.inputs, strict=True):
            if isinstance(argument.type, TupleType):
                raise OpError(function, f"takes a tuple, '{argument.type}', which ONNX does not have")
            self._values[argument] = name

    @property
    def results(self) -> Sequence[SSAValue]:
        """The values that the function returns."""
        last = self._function.body.block.last_op
        return last.operands if isinstance(last, func.ReturnOp) else ()

    def write(self) -> list[str]:
        """Write all ops; gives the names of the results."""
        for op in self._function.body.block.ops:
            if not isinstance(op, func.ReturnOp):
                self._write(op)
        results = list(_flat([self._values[value] for value in self.results]))
        made = {name for node in self.writer.nodes for name in node.output}
        renamed: dict[str, str] = {}
        for value, name in zip(results, self._outputs, strict=True):
            if value in made and value not in renamed:
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
        operands = [self._values[operand] for operand in op.operands]
        match op:
            case TupleOp():
                self._values[op.results[0]] = operands
            case GetTupleElementOp():
                fields = operands[0]
                assert not isinstance(fields, str), "the verifier has checked that the operand is a tuple"
                self._values[op.results[0]] = fields[prop(op, "index")]
            case func.CallOp():
                types = [field for type in op.result_types for field in _fields(type)]
                names = self.writer.emit_all(op.callee.string_value(), list(_flat(operands)), len(types), domain=DOMAIN)
                fields = iter(names)
                for result in op.results:
                    self._values[result] = _packed(result.type, fields)
            case FuseOp() if type(op) in ROWS:
                made = ROWS[type(op)](self.writer, op, list(_flat(operands)))
                for result, name in zip(op.results, [made] if isinstance(made, str) else made, strict=True):
                    self._values[result] = name
            case _ if is_constant(op):
                self._values[op.results[0]] = self._constant(op)
            case _:
                raise OpError(op, f"'{op_name(op)}' op cannot be written as ONNX")

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
        if not self._is_graph:
            if array.nbytes > LARGEST_LIST:
                hint = "fuse without link-params, which passes constants as arguments"
                raise OpError(op, "is a large constant in a function, where ONNX has no initializers", hint)
            return self.writer.constant(array)
        name = self.writer.names.unique(self.writer.hint)
        self._model.initializer(name, op, op.value)
        return name


def _fields(type: Attribute) -> Iterator[Attribute]:
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


def _value_info(name: str, value: SSAValue, function: func.FuncOp) -> onnx.ValueInfoProto:
    return _type_info(name, value.type, function)


def _type_info(name: str, type: Attribute, function: func.FuncOp) -> onnx.ValueInfoProto:
    if not is_tensor(type):
        raise OpError(function, f"takes or returns a value of type {type}, which ONNX does not have")
    shape = [None if size == DYNAMIC else size for size in type.get_shape()]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(element_dtype(type.element_type)), shape)
