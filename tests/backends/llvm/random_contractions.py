"""Random programs around one product or one pool, as text: layouts, strides, pads, groups, types, epilogues."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Case:
    """A function `main` of text, whose argument 1, if there is one, may be a constant."""

    text: str
    shapes: tuple[tuple[int, ...], ...]
    element: str
    depth: int
    """How many products a result adds up."""
    has_weight: bool


def tensor(shape: tuple[int, ...], element: str) -> str:
    """The type as MLIR writes it."""
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>"


class _Writer:
    def __init__(self, random: np.random.Generator, element: str):
        self.random, self.element = random, element
        self.arguments: list[tuple[int, ...]] = []
        self.lines: list[str] = []

    def pick(self, *choices: int) -> int:
        return int(self.random.choice(choices))

    def argument(self, shape: tuple[int, ...]) -> str:
        self.arguments.append(shape)
        return f"%a{len(self.arguments) - 1}"

    def op(
        self, name: str, operands: list[str], attributes: str, types: list[tuple[int, ...]], shape: tuple[int, ...]
    ) -> str:
        name_of = f"%v{len(self.lines)}"
        attributes = f", {attributes}" if attributes else ""
        inputs = ", ".join(tensor(each, self.element) for each in types)
        result = tensor(shape, self.element)
        self.lines.append(f"{name_of} = fuse.{name} {', '.join(operands)}{attributes} : ({inputs}) -> {result}")
        return name_of

    def epilogue(self, value: str, shape: tuple[int, ...]) -> str:
        """Up to three ops: biases of every broadcast shape, residuals, activations."""
        for _ in range(self.pick(0, 1, 2, 3)):
            kind = self.pick(0, 1, 2, 3)
            if kind == 0:
                kept = tuple(size if self.pick(0, 1) else 1 for size in shape)
                value = self.op("add", [value, self.argument(kept)], "", [shape, kept], shape)
            elif kind == 1:
                value = self.op("multiply", [value, self.argument(shape)], "", [shape, shape], shape)
            elif kind == 2 and self.element.startswith("f"):
                name = ("relu", "sigmoid", "tanh", "gelu", "silu")[self.pick(0, 1, 2, 3, 4)]
                value = self.op(name, [value], "", [shape], shape)
            else:
                value = self.op("add", [value, self.argument(shape[-1:])], "", [shape, shape[-1:]], shape)
        return value

    def case(self, value: str, shape: tuple[int, ...], depth: int, has_weight: bool) -> Case:
        parameters = ", ".join(f"%a{n}: {tensor(each, self.element)}" for n, each in enumerate(self.arguments))
        result = tensor(shape, self.element)
        body = "\n  ".join([*self.lines, f"func.return {value} : {result}"])
        text = f"func.func @main({parameters}) -> {result} {{\n  {body}\n}}"
        return Case(text, tuple(self.arguments), self.element, depth, has_weight)


def random_product(random: np.random.Generator, element: str) -> Case:
    """A dense layer, a matrix product or a batch of them."""
    w = _Writer(random, element)
    m, n, k = w.pick(1, 2, 5, 14, 33, 70), w.pick(1, 3, 16, 40, 64, 131), w.pick(1, 2, 7, 32, 65, 200)
    if w.pick(0, 1):
        x, weight = (m, k), (n, k)
        value = w.op("dense", [w.argument(x), w.argument(weight)], "", [x, weight], (m, n))
        return w.case(w.epilogue(value, (m, n)), (m, n), k, True)
    flags = [w.pick(0, 1), w.pick(0, 1)]
    batch = (2, 3)[: w.pick(0, 1, 2)]
    x = (*batch, *((k, m) if flags[0] else (m, k)))
    batches = batch if w.pick(0, 1) else tuple(1 for _ in batch)
    weight = (*batches, *((n, k) if flags[1] else (k, n)))
    words = ("false", "true")
    attributes = f"transpose_a = {words[flags[0]]}, transpose_b = {words[flags[1]]}"
    shape = (*batch, m, n)
    value = w.op(
        "batch_matmul" if batch else "matmul", [w.argument(x), w.argument(weight)], attributes, [x, weight], shape
    )
    return w.case(w.epilogue(value, shape), shape, k, True)


def random_convolution(random: np.random.Generator, element: str) -> Case:
    """A convolution in either layout, grouped or depthwise or not."""
    w = _Writer(random, element)
    nhwc, batch = w.pick(0, 1), w.pick(1, 2)
    groups = w.pick(1, 1, 1, 2, 4)
    inputs, outputs = groups * w.pick(1, 3, 8, 17), groups * w.pick(1, 5, 16, 33)
    if w.pick(0, 0, 1):
        groups = outputs = inputs = w.pick(4, 16, 21)
    height, width = w.pick(1, 5, 7, 12), w.pick(3, 7, 14, 29)
    taps = (w.pick(1, 3), w.pick(1, 2, 3, 5))
    strides, dilation = (w.pick(1, 2), w.pick(1, 2, 3)), (w.pick(1, 2), w.pick(1, 2))
    reach = [(t - 1) * d + 1 for t, d in zip(taps, dilation, strict=True)]
    pads = [w.pick(0, 1, 2), w.pick(0, 1, 2), w.pick(0, 1, 2), w.pick(0, 1, 2)]
    for axis, size in enumerate((height, width)):
        pads[axis] += max(0, reach[axis] - size - pads[axis] - pads[axis + 2])
    counts = [
        (size + pads[axis] + pads[axis + 2] - reach[axis]) // strides[axis] + 1
        for axis, size in enumerate((height, width))
    ]
    x = (batch, height, width, inputs) if nhwc else (batch, inputs, height, width)
    weight = (*taps, inputs // groups, outputs) if nhwc else (outputs, inputs // groups, *taps)
    shape = (batch, *counts, outputs) if nhwc else (batch, outputs, *counts)
    attributes = f"strides = [{strides[0]}, {strides[1]}], padding = {pads}, "
    attributes += f"dilation = [{dilation[0]}, {dilation[1]}], groups = {groups}"
    if nhwc:
        attributes += ', data_layout = "NHWC", kernel_layout = "HWIO"'
    value = w.op("conv2d", [w.argument(x), w.argument(weight)], attributes, [x, weight], shape)
    return w.case(w.epilogue(value, shape), shape, taps[0] * taps[1] * inputs // groups, True)


def random_depthwise(random: np.random.Generator, element: str) -> Case:
    """A depthwise convolution whose windows may reach far beyond the image, which may be smaller than they are."""
    w = _Writer(random, element)
    nhwc, batch, channels = w.pick(0, 1, 1), w.pick(1, 2), w.pick(3, 17, 64, 70, 130)
    sizes, taps = (w.pick(1, 4, 9, 16), w.pick(1, 6, 14, 17, 23)), (w.pick(1, 3, 5, 9), w.pick(1, 3, 5, 9, 13))
    strides, dilation = (w.pick(1, 1, 2), w.pick(1, 1, 2, 3)), (w.pick(1, 1, 2), w.pick(1, 1, 2))
    reach = [(t - 1) * d + 1 for t, d in zip(taps, dilation, strict=True)]
    pads = [int(random.integers(0, reach[axis % 2])) for axis in range(4)]
    for axis, size in enumerate(sizes):
        pads[axis] += max(0, reach[axis] - size - pads[axis] - pads[axis + 2])
    counts = [
        (size + pads[axis] + pads[axis + 2] - reach[axis]) // strides[axis] + 1 for axis, size in enumerate(sizes)
    ]
    x = (batch, *sizes, channels) if nhwc else (batch, channels, *sizes)
    weight = (*taps, 1, channels) if nhwc else (channels, 1, *taps)
    shape = (batch, *counts, channels) if nhwc else (batch, channels, *counts)
    attributes = f"strides = [{strides[0]}, {strides[1]}], padding = {pads}, "
    attributes += f"dilation = [{dilation[0]}, {dilation[1]}], groups = {channels}"
    if nhwc:
        attributes += ', data_layout = "NHWC", kernel_layout = "HWIO"'
    value = w.op("conv2d", [w.argument(x), w.argument(weight)], attributes, [x, weight], shape)
    return w.case(w.epilogue(value, shape), shape, taps[0] * taps[1], True)


def random_pool(random: np.random.Generator, element: str) -> Case:
    """A pool in either layout."""
    w = _Writer(random, element)
    nhwc, batch, channels = w.pick(0, 1), w.pick(1, 2), w.pick(3, 16, 37)
    height, width = w.pick(5, 8, 13), w.pick(5, 9, 33)
    size, strides = (w.pick(1, 2, 3), w.pick(2, 3)), (w.pick(1, 2), w.pick(1, 2))
    pads = [w.pick(0, 1) if size[0] > 1 else 0, w.pick(0, 1), w.pick(0, 1) if size[0] > 1 else 0, w.pick(0, 1)]
    counts = [
        (extent + pads[axis] + pads[axis + 2] - size[axis]) // strides[axis] + 1
        for axis, extent in enumerate((height, width))
    ]
    x = (batch, height, width, channels) if nhwc else (batch, channels, height, width)
    shape = (batch, *counts, channels) if nhwc else (batch, channels, *counts)
    attributes = f"pool_size = [{size[0]}, {size[1]}], strides = [{strides[0]}, {strides[1]}], padding = {pads}"
    if nhwc:
        attributes += ', layout = "NHWC"'
    name = ("max_pool2d", "avg_pool2d")[w.pick(0, 1) if element.startswith("f") else 0]
    value = w.op(name, [w.argument(x)], attributes, [x], shape)
    return w.case(w.epilogue(value, shape), shape, size[0] * size[1], False)
