"""Functions with quantized numbers as text, as frontends write them."""

from dataclasses import dataclass, field

import numpy as np

from fuse_dialect.dialect.op import Array


@dataclass
class Writer:
    """Text of a function with quantized numbers, as frontends write them."""

    random: np.random.Generator
    lines: list[str] = field(default_factory=list[str])

    def op(
        self, text: str, operands: tuple[str, ...], types: tuple[str, ...], result: str, properties: str = ""
    ) -> str:
        name = f"%v{len(self.lines)}"
        inputs = f"({', '.join(types)})"
        self.lines.append(f"{name} = fuse.{text} {', '.join(operands)}{properties} : {inputs} -> {result}")
        return name

    def constant(self, array: Array, type: str) -> str:
        name = f"%v{len(self.lines)}"
        numbers = str(array.tolist()).lower()  # true, not True
        self.lines.append(f"{name} = arith.constant dense<{numbers}> : {type}")
        return name

    def reals(self, q: str, shape: str, zero: int, scale: float, element: str = "i8") -> str:
        wide, real = f"tensor<{shape}i32>", f"tensor<{shape}f32>"
        value = self.op("cast", (q,), (f"tensor<{shape}{element}>",), wide)
        z = self.constant(np.array(zero, np.int32), "tensor<i32>")
        value = self.op("subtract", (value, z), (wide, "tensor<i32>"), wide)
        s = self.constant(np.array(scale, np.float32), "tensor<f32>")
        return self.op("multiply", (self.op("cast", (value,), (wide,), real), s), (real, "tensor<f32>"), real)

    def weights(self, v: Array, scale: Array) -> str:
        shape = "".join(f"{size}x" for size in v.shape)
        wide, real = f"tensor<{shape}i32>", f"tensor<{shape}f32>"
        along = f"tensor<{len(v)}x{'1x' * (v.ndim - 1)}f32>"
        q = self.constant(v, f"tensor<{shape}i8>")
        value = self.op("cast", (self.op("cast", (q,), (f"tensor<{shape}i8>",), wide),), (wide,), real)
        s = self.constant(scale.reshape(-1, *(1,) * (v.ndim - 1)), along)
        return self.op("multiply", (value, s), (real, along), real)

    def quantized(self, x: str, shape: str, zero: int, scale: float, element: str = "i8") -> str:
        real = f"tensor<{shape}f32>"
        low, high = (-128.0, 127.0) if element == "i8" else (0.0, 255.0)
        s, z = (self.constant(np.array(each, np.float32), "tensor<f32>") for each in (scale, zero))
        x = self.op("round", (self.op("divide", (x, s), (real, "tensor<f32>"), real),), (real,), real)
        x = self.op("add", (x, z), (real, "tensor<f32>"), real)
        x = self.op("clip", (x,), (real,), real, f", min = {low}, max = {high}")
        return self.op("cast", (x,), (real,), f"tensor<{shape}{element}>")

    def module(self, parameter: str, result: str, value: str) -> str:
        body = "\n  ".join(self.lines)
        return f"func.func @main(%x: {parameter}) -> {result} {{\n  {body}\n  func.return {value} : {result}\n}}"
