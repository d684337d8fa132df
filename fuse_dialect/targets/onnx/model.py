"""A module as an ONNX model: primitives as local functions, everything else as nodes, large constants as initializers.

1. The function `@main` is the graph; every other function that it calls, directly or not, becomes a function of the
   domain `DOMAIN`, with the name that it has in the module. onnxruntime inlines functions unless a backend takes them.
   A trip through hardware is a function of the domain that its template is called, and its nodes say `fuse.unit`.
2. Functions have no initializers, so a large constant inside of one, as `link-params` makes them, is refused.
3. Tensors take their elements from a weights file when there is one, by its name, offset and length.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import helper
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE
from fuse_dialect.dialect.types import element_dtype, is_tensor
from fuse_dialect.fusion.outlining.regions import kernels_as_functions
from fuse_dialect.targets.onnx.body import DOMAIN, BodyWriter, fields_of, type_info
from fuse_dialect.targets.onnx.element_types import IR_VERSIONS, opset_for
from fuse_dialect.targets.onnx.graph import tensor_proto
from fuse_dialect.targets.weights import Weights

MAX_MODEL_BYTES = 1 << 30
"""Bytes of constants that a model may hold itself; protobuf reads no message of 2 GB."""


def onnx_model(module: ModuleOp, weights: Weights | None = None, weights_name: str = "") -> onnx.ModelProto:
    """The model.

    Args:
        module: A verified module.
        weights: Constants that are in a file; other constants are in the model.
        weights_name: Name of that file, in the model's folder.

    Raises:
        OpError: An op has no ONNX operators, or a constant no elements.
    """
    with kernels_as_functions(module) as outlined:
        return _ModelWriter(outlined, weights, weights_name).run()


def _dtypes(module: ModuleOp) -> set["np.dtype[Any]"]:
    """Element types of all results and arguments."""
    values = [
        value
        for op in module.walk()
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args))
    ]
    types = {value.type.element_type for value in values if is_tensor(value.type)}
    return {element_dtype(type) for type in types}


class _ModelWriter:
    """One model while it is written."""

    def __init__(self, module: ModuleOp, weights: Weights | None, weights_name: str):
        self._module = module
        self._weights = weights
        self._weights_name = weights_name
        self._offsets = {} if weights is None else dict(zip(weights.names(), weights.offsets()[1], strict=True))
        self._functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
        self._domains = {
            name: str(hardware.data)
            for name, op in self._functions.items()
            if isinstance(hardware := op.attributes.get(HARDWARE_ATTRIBUTE), StringAttr) and hardware.data
        }
        """For each function of a trip the domain of its template."""
        self._initializers: list[onnx.TensorProto] = []
        self._bytes = 0
        self._opset = opset_for(_dtypes(module))
        calls = [op.callee.string_value() for op in module.walk() if isinstance(op, func.CallOp)]
        self._calls = Counter(calls)
        self._kernels = {name: op for name, op in self._functions.items() if self._calls[name] == 1}

    def run(self) -> onnx.ModelProto:
        """Write the graph, then the functions that it needs."""
        main = self._functions.get("main")
        if main is None or not main.body.blocks:
            raise OpError(self._module, "'-t onnx' writes the function '@main', which the module does not have")
        graph = self._graph(main)
        imports = self._imports()
        functions = [self._function(callee) for callee in self._called(main)]
        return helper.make_model(
            graph,
            opset_imports=imports,
            functions=functions,
            ir_version=IR_VERSIONS[self._opset],
            producer_name="fuse_dialect",
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
        body = BodyWriter(main, self._add_initializer, self._opset, self._domains, self._kernels)
        taken = [type for value in main.body.block.args for type in fields_of(value.type)]
        inputs = [type_info(name, type, main) for name, type in zip(body.inputs, taken, strict=True)]
        outputs = body.write()
        types = [type for value in body.results for type in fields_of(value.type)]
        results = [type_info(name, type, main) for name, type in zip(outputs, types, strict=True)]
        return helper.make_graph(body.writer.nodes, "main", inputs, results, self._initializers)

    def _function(self, function: func.FuncOp) -> onnx.FunctionProto:
        name = function.sym_name.data
        body = BodyWriter(function, None, self._opset, self._domains, self._kernels, self._calls[name])
        outputs, domain = body.write(), self._domains.get(name, DOMAIN)
        made = helper.make_function(domain, name, body.inputs, outputs, body.writer.nodes, self._imports())
        if name in self._domains:
            # Fields of IR version 10; readers of older ones skip what they do not know.
            helper.set_metadata_props(made, {HARDWARE_ATTRIBUTE: domain})
        return made

    def _imports(self) -> list[onnx.OperatorSetIdProto]:
        """The domains that nodes may be of."""
        own = dict.fromkeys((DOMAIN, *self._domains.values()))
        return [helper.make_opsetid("", self._opset), *(helper.make_opsetid(domain, 1) for domain in own)]

    def _add_initializer(self, name: str, op: Operation, value: DenseIntOrFPElementsAttr) -> None:
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
            hint = "weights= (--weights) writes constants to a file of their own"
            raise OpError(op, f"brings the model to more than {MAX_MODEL_BYTES >> 20} MB of constants", hint)
        self._initializers.append(tensor_proto(name, value, array))
