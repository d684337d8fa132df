"""A case: one node, its operands, and how it becomes a model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

Array: TypeAlias = NDArray[Any]
Random: TypeAlias = np.random.Generator


@dataclass(frozen=True, slots=True)
class Case:
    """One node of an operator."""

    operator: str
    operands: Sequence[Array | None]
    """`None` for one that is left out."""
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    constants: frozenset[int] = frozenset()
    """Places of operands that are initializers; the others are inputs."""
    domain: str = "com.microsoft"
    outputs: Sequence[int] = (onnx.TensorProto.FLOAT,)
    """Element type of each result, 0 for one that is left out."""
    tolerance: float = 1e-5
    """Largest difference, as a part of the largest element; 0 asks for equal bits."""
    seldom: float = 0.0
    """Share of integers that may be the next number; there may be one such number anyway if it is above 0."""
    opset: int = 17
    version: int = 0
    """Of the operator's domain; 0 for the one that is usual."""

    def model(self, *, has_open_rows: bool = False) -> onnx.ModelProto:
        """The model of this node alone.

        Args:
            has_open_rows: Whether the first axis of each input is open, by one name.
        """
        names = [f"x{index}" if operand is not None else "" for index, operand in enumerate(self.operands)]
        results = [f"y{index}" if kind else "" for index, kind in enumerate(self.outputs)]
        node = helper.make_node(self.operator, names, results, "node", domain=self.domain, **self.attributes)
        inputs, initializers = list[Any](), list[Any]()
        for index, operand in enumerate(self.operands):
            if operand is None:
                continue
            if index in self.constants:
                initializers.append(numpy_helper.from_array(operand, names[index]))
            else:
                kind = helper.np_dtype_to_tensor_dtype(operand.dtype)
                shape = ("rows", *operand.shape[1:]) if has_open_rows else operand.shape
                inputs.append(helper.make_tensor_value_info(names[index], kind, shape))
        outputs = [
            helper.make_tensor_value_info(name, kind, None)
            for name, kind in zip(results, self.outputs, strict=True)
            if kind
        ]
        graph = helper.make_graph([node], "case", inputs, outputs, initializers)
        imports = [helper.make_opsetid("", self.opset)]
        if self.domain:
            usual = 1 if self.domain == "com.microsoft" else 3
            imports.append(helper.make_opsetid(self.domain, self.version or usual))
        return helper.make_model(graph, opset_imports=imports, ir_version=9)

    def feeds(self) -> dict[str, Array]:
        """The model's inputs by name."""
        return {
            f"x{index}": operand
            for index, operand in enumerate(self.operands)
            if operand is not None and index not in self.constants
        }


Maker: TypeAlias = Callable[[Random], Case]


class Makers(dict[str, Maker]):
    """Makers of random cases by the operator's name."""

    def of(self, *names: str) -> Callable[[Callable[[Random, str], Case]], Callable[[Random, str], Case]]:
        """Decorator: the function makes cases of these operators."""

        def register(make: Callable[[Random, str], Case]) -> Callable[[Random, str], Case]:
            for name in names:
                assert name not in self, name
                self[name] = lambda random, name=name: make(random, name)
            return make

        return register


def reals(random: Random, *shape: int, scale: float = 1.0) -> Array:
    """Normal numbers, f32."""
    return (random.standard_normal(shape) * scale).astype(np.float32)


def pick(random: Random, *choices: Any) -> Any:
    """One of the choices."""
    return choices[int(random.integers(len(choices)))]


def maybe(random: Random, value: Any) -> Any:
    """The value, or nothing."""
    return value if random.random() < 0.5 else None
