"""ONNX graphs written as Python: what `growing_loops` and `counted_rows` are made with.

    g = Graph()
    x = g.input("x", np.float32, ["n", 8])
    g.output(g.Relu(x) * 2.0)

Operators of ONNX are methods; numbers and arrays are constants. The body of a loop is a function of Python.
"""

# onnx says little about its types.
# pyright: basic, reportMissingImports=false

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

OPSET = 17


class Value:
    """A value of a graph."""

    def __init__(self, graph: "Graph", name: str):
        self.graph, self.name = graph, name

    def __add__(self, other: Any) -> "Value":
        return self.graph.Add(self, other)

    def __sub__(self, other: Any) -> "Value":
        return self.graph.Sub(self, other)

    def __mul__(self, other: Any) -> "Value":
        return self.graph.Mul(self, other)

    def __truediv__(self, other: Any) -> "Value":
        return self.graph.Div(self, other)

    def __matmul__(self, other: Any) -> "Value":
        return self.graph.MatMul(self, other)


class Graph:
    """A graph that is being built; the body of a loop is one inside another."""

    def __init__(self, outer: "Graph | None" = None):
        self.outer = outer
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.root: Graph = self if outer is None else outer.root
        if outer is None:
            self.weights: list[Any] = []
            self.count = 0
            self.random = np.random.default_rng(0)
            self.current: Graph = self

    def name(self) -> str:
        """A new one."""
        self.root.count += 1
        return f"v{self.root.count}"

    def constant(self, array: Any, dtype: Any = None) -> Value:
        """An initializer; numbers of Python are f32 or i64."""
        from onnx import numpy_helper

        array = np.asarray(array, dtype)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        name = self.name()
        self.root.weights.append(numpy_helper.from_array(array, name))
        return Value(self, name)

    def weight(self, *shape: int) -> Value:
        """A random matrix."""
        return self.constant(self.root.random.standard_normal(shape) / np.sqrt(shape[0]))

    def input(self, name: str, dtype: Any, shape: Sequence[int | str]) -> Value:
        """An argument."""
        from onnx import helper

        type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, type, shape))
        return Value(self, name)

    def output(self, *values: Value) -> None:
        """Results; their types are found when the model is made."""
        self.outputs += [self.Identity(value).name for value in values]

    def op(self, kind: str, inputs: Sequence[Any], outputs: int = 1, **attributes: Any) -> Any:
        """A node, in the body that is being written."""
        from onnx import helper

        names = [
            each.name if isinstance(each, Value) else "" if each is None else self.constant(each).name
            for each in inputs
        ]
        made = [self.name() for _ in range(outputs)]
        self.root.current.nodes.append(helper.make_node(kind, names, made, **attributes))
        values = [Value(self, each) for each in made]
        return values[0] if outputs == 1 else values

    def __getattr__(self, kind: str) -> Callable[..., Any]:
        if not kind[0].isupper():
            raise AttributeError(kind)
        return lambda *inputs, **attributes: self.op(kind, inputs, **attributes)

    def extent(self, value: Value, axis: int) -> Value:
        """A size, as a list of one."""
        return self.Gather(self.Shape(value), [axis], axis=0)

    def scalar(self, value: Value) -> Value:
        """The only element."""
        return self.Squeeze(value)

    def piece(self, value: Value, start: Any, stop: Any, axis: int) -> Value:
        """`value[start:stop]` along an axis; bounds are lists of one."""
        return self.Slice(value, start, stop, [axis])

    def loop(
        self,
        trips: Value | None,
        states: Sequence[Value],
        body: Callable[..., tuple[Sequence[Value], Sequence[Value]]],
        shapes: Sequence[tuple[Any, Sequence[Any]]],
        *,
        goes_on: bool = False,
    ) -> list[Value]:
        """A loop.

        Args:
            trips: How often at most, a scalar.
            states: What it begins with.
            body: Of the counter and the states; gives states and rows of stacks. With `goes_on` the first state that it
                gives is whether there is another iteration.
            shapes: Dtype and shape of each state.
            goes_on: Whether it ends by a condition.
        """
        from onnx import TensorProto, helper

        root = self.root
        inner, before = Graph(self), root.current
        root.current = inner
        i, cond = root.name(), root.name()
        names = [root.name() for _ in states]
        following, stacked = body(Value(self, i), *[Value(self, name) for name in names])
        condition = following[0].name if goes_on else self.Identity(Value(self, cond)).name
        kept = [*(following[1:] if goes_on else following), *stacked]
        ends = [self.Identity(each).name for each in kept]
        root.current = before
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
            for name, (dtype, shape) in zip(names, shapes, strict=True)
        ]
        graph = helper.make_graph(
            inner.nodes,
            root.name(),
            [
                helper.make_tensor_value_info(i, TensorProto.INT64, []),
                helper.make_tensor_value_info(cond, TensorProto.BOOL, []),
                *infos,
            ],
            [
                helper.make_tensor_value_info(condition, TensorProto.BOOL, []),
                *(helper.make_empty_tensor_value_info(name) for name in ends),
            ],
        )
        made = self.op("Loop", [trips, np.array(True), *states], len(ends), body=graph)
        return [made] if len(ends) == 1 else made

    def model(self) -> bytes:
        """The file, with the types of the results inferred."""
        from onnx import helper, shape_inference

        outputs = [helper.make_empty_tensor_value_info(name) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "main", self.inputs, outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        return shape_inference.infer_shapes(model, data_prop=True).SerializeToString()
