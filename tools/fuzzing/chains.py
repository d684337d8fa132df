"""Random chains of products, reductions and maps that share rows: attention, norms before products, layers of networks.

A chain begins with rows, and each link reads what came before: a product with a matrix for each batch or one for all,
from an argument that is transposed or not; a softmax, a norm, a sum to divide by; a map with a bias, a mask, or an
earlier link. Most of them may run in strips, and some may not: heads that change places, rows that are read across.

`random_pass` makes attention to columns of open length: what may pass block by block.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

import numpy as np

Shape: TypeAlias = tuple[int | str, ...]
"""Sizes; those that are open have names."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A function `main` of text, and the shapes of its arguments."""

    text: str
    shapes: tuple[Shape, ...]

    def shapes_at(self, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
        """The shapes for some sizes."""
        return [tuple(sizes[size] if isinstance(size, str) else size for size in shape) for shape in self.shapes]


@dataclass
class _Writer:
    random: np.random.Generator
    arguments: list[Shape] = field(default_factory=list[Shape])
    lines: list[str] = field(default_factory=list[str])
    count: int = 0

    def pick(self, *choices: int) -> int:
        return int(self.random.choice(choices))

    def argument(self, shape: Shape) -> str:
        self.arguments.append(shape)
        return f"%a{len(self.arguments) - 1}"

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def op(self, text: str, operands: list[tuple[str, Shape]], shape: Shape, more: str = "") -> str:
        name = self.name()
        values = ", ".join(value for value, _ in operands)
        types = ", ".join(tensor(each) for _, each in operands)
        attributes = f", {more}" if more else ""
        self.lines.append(f"{name} = fuse.{text} {values}{attributes} : ({types}) -> {tensor(shape)}")
        return name

    def chain(self, value: str, shape: Shape) -> Chain:
        """What has been written, with a result."""
        parameters = ", ".join(f"%a{n}: {tensor(each)}" for n, each in enumerate(self.arguments))
        body = "\n  ".join([*self.lines, f"func.return {value} : {tensor(shape)}"])
        return Chain(f"func.func @main({parameters}) -> {tensor(shape)} {{\n  {body}\n}}\n", tuple(self.arguments))

    def scalar(self, value: float) -> str:
        name = self.name()
        text = "0xFF800000" if value == -inf else f"{value:e}"
        self.lines.append(f"{name} = arith.constant dense<{text}> : tensor<f32>")
        return name


def tensor(shape: Shape) -> str:
    """The type as MLIR writes it."""
    sizes = ("?" if isinstance(size, str) else str(size) for size in shape)
    return f"tensor<{'x'.join((*sizes, 'f32'))}>"


def random_chain(seed: int) -> Chain:
    """The chain of a seed."""
    w = _Writer(np.random.default_rng(seed))
    lead = tuple(w.pick(1, 2, 3, 4) for _ in range(w.pick(0, 1, 1, 2)))
    rows = w.pick(1, 2, 7, 13, 16, 29, 45, 70)
    shape = (*lead, rows, w.pick(3, 8, 16, 20, 64))
    earlier: list[tuple[str, Shape]] = []
    value = w.argument(shape)
    for _ in range(w.pick(2, 3, 4, 5, 6)):
        link = (_product, _product, _softmax, _norm, _map, _map, _row_sum)[w.pick(*range(7))]
        earlier.append((value, shape))
        value, shape = link(w, value, shape, earlier)
    if w.pick(0, 0, 1) and len(shape) > 2:
        axes = [*range(len(shape) - 3), len(shape) - 2, len(shape) - 3, len(shape) - 1]
        turned = tuple(shape[axis] for axis in axes)
        value, shape = w.op("transpose", [(value, shape)], turned, f"permutation = {axes}"), turned
    return w.chain(value, shape)


def random_pass(seed: int) -> Chain:
    """Attention of a seed, to `n` keys; the batch `b` and the queries `m` may be open, too."""
    w = _Writer(np.random.default_rng(seed))
    lead: Shape = ((), (w.pick(1, 2, 3),), ("b", w.pick(2, 3)), (2, 2))[w.pick(0, 1, 2, 3)]
    rows = ("m", 1, 2, 3, 4, 5, 17)[w.pick(*range(7))]
    depth, width = w.pick(3, 8, 16, 20, 64), w.pick(1, 5, 16, 24, 64)
    queries, scores = (*lead, rows, depth), (*lead, rows, "n")
    value = w.argument(queries)
    if w.pick(0, 0, 1):
        value = w.op("multiply", [(value, queries), (w.scalar(0.5), ())], queries)
    is_turned = w.pick(0, 1, 1)
    keys = (*lead, "n", depth) if is_turned else (*lead, depth, "n")
    name = "batch_matmul" if lead else "matmul"
    turned = f"transpose_b = {'true' if is_turned else 'false'}"
    value = w.op(name, [(value, queries), (w.argument(keys), keys)], scores, turned)
    for _ in range(w.pick(0, 1, 2)):
        value = _changed_scores(w, value, scores)
    value = w.op("softmax", [(value, scores)], scores)
    if w.pick(0, 0, 0, 1):
        value = w.op("multiply", [(value, scores), (w.scalar(1.5), ())], scores)
    values, shape = (*lead, "n", width), (*lead, rows, width)
    value = w.op(name, [(value, scores), (w.argument(values), values)], shape, "transpose_b = false")
    kind = w.pick(0, 0, 1, 2)
    if kind == 1:
        value = w.op("add", [(value, shape), (w.argument(shape), shape)], shape)
    if kind == 2 and len(shape) > 2:
        axes = [*range(len(shape) - 3), len(shape) - 2, len(shape) - 3, len(shape) - 1]
        turned_shape = tuple(shape[axis] for axis in axes)
        value, shape = w.op("transpose", [(value, shape)], turned_shape, f"permutation = {axes}"), turned_shape
    return w.chain(value, shape)


def _changed_scores(w: _Writer, value: str, shape: Shape) -> str:
    """A scale, a mask or a bias of some broadcast shape, or a cap."""
    kind = w.pick(0, 1, 2, 3, 4, 4)
    if kind == 0:
        return w.op("multiply", [(value, shape), (w.scalar(0.25), ())], shape)
    if kind == 1:
        kept = (*(size if w.pick(0, 1) else 1 for size in shape[:-1]), shape[-1])
        return w.op("add", [(value, shape), (w.argument(kept), kept)], shape)
    if kind == 2:
        last = shape[-1:]
        return w.op("add", [(value, shape), (w.argument(last), last)], shape)
    if kind == 3:
        return w.op("tanh", [(value, shape)], shape)
    kept = (*(size if w.pick(0, 1) else 1 for size in shape[:-1]), shape[-1])
    seen, hidden = w.name(), w.scalar((-inf, -1e30)[w.pick(0, 1)])
    mask, types = tensor(kept).replace("f32", "i1"), f"({tensor(kept)}, tensor<f32>)"
    w.lines.append(f"{seen} = fuse.greater {w.argument(kept)}, {w.scalar(-0.2)} : {types} -> {mask}")
    name = w.name()
    if w.pick(0, 1):
        types = f"({mask}, tensor<f32>, tensor<f32>)"
        w.lines.append(f"{name} = fuse.where {seen}, {w.scalar(0.0)}, {hidden} : {types} -> {tensor(kept)}")
        return w.op("add", [(value, shape), (name, kept)], shape)
    types = f"({mask}, {tensor(shape)}, tensor<f32>)"
    w.lines.append(f"{name} = fuse.where {seen}, {value}, {hidden} : {types} -> {tensor(shape)}")
    return name


def _product(w: _Writer, value: str, shape: Shape, earlier: list[tuple[str, Shape]]) -> tuple[str, Shape]:
    """A product with a matrix for each batch, one for all, or one that groups of batches share."""
    *lead, rows, depth = shape
    columns = w.pick(2, 5, 16, 31, 48, 70)
    shared: Shape = (1,) * len(lead) if w.pick(0, 1) else ()
    outer = tuple(lead) if w.pick(0, 1, 1) else shared
    is_turned = w.pick(0, 1)
    matrix = (columns, depth) if is_turned else (depth, columns)
    operand = (*outer, *matrix)
    if outer and w.pick(0, 0, 1):
        # Heads that stand behind the rows, as an exporter writes them.
        axes = [*range(len(outer) - 1), len(outer), len(outer) - 1, len(outer) + 1]
        stored = tuple(operand[axis] for axis in axes)
        name = w.op("transpose", [(w.argument(stored), stored)], operand, f"permutation = {axes}")
    else:
        name = w.argument(operand)
    result = (*lead, rows, columns)
    if len(shape) < 3 and len(operand) < 3:
        turned = f"transpose_b = {'true' if is_turned else 'false'}"
        return w.op("matmul", [(value, shape), (name, operand)], result, turned), result
    turned = f"transpose_b = {'true' if is_turned else 'false'}"
    return w.op("batch_matmul", [(value, shape), (name, operand)], result, turned), result


def _softmax(w: _Writer, value: str, shape: Shape, earlier: list[tuple[str, Shape]]) -> tuple[str, Shape]:
    name = ("softmax", "log_softmax")[w.pick(0, 0, 0, 1)]
    return w.op(name, [(value, shape)], shape), shape


def _norm(w: _Writer, value: str, shape: Shape, earlier: list[tuple[str, Shape]]) -> tuple[str, Shape]:
    """A layer norm of the last axis, or a root mean square by hand."""
    last = shape[-1:]
    if w.pick(0, 1):
        operands = [(value, shape), (w.argument(last), last), (w.argument(last), last)]
        return w.op("layer_norm", operands, shape), shape
    one = (*shape[:-1], 1)
    axes = f"axes = [{len(shape) - 1}], keepdims = true"
    square = w.op("multiply", [(value, shape), (value, shape)], shape)
    mean = w.op("mean", [(square, shape)], one, axes)
    some = w.op("add", [(mean, one), (w.scalar(0.5), ())], one)
    return w.op("multiply", [(value, shape), (w.op("rsqrt", [(some, one)], one), one)], shape), shape


def _row_sum(w: _Writer, value: str, shape: Shape, earlier: list[tuple[str, Shape]]) -> tuple[str, Shape]:
    """Rows less their maximum, or over one and the sum of their squares; or a reduction across rows."""
    axis = len(shape) - 1 if w.pick(0, 1, 1, 1) else max(len(shape) - 2, 0)
    one = (*shape[:axis], 1, *shape[axis + 1 :])
    axes = f"axes = [{axis}], keepdims = true"
    if w.pick(0, 1):
        return w.op("subtract", [(value, shape), (w.op("max", [(value, shape)], one, axes), one)], shape), shape
    square = w.op("multiply", [(value, shape), (value, shape)], shape)
    total = w.op("add", [(w.op("sum", [(square, shape)], one, axes), one), (w.scalar(1.0), ())], one)
    return w.op("divide", [(value, shape), (total, one)], shape), shape


def _map(w: _Writer, value: str, shape: Shape, earlier: list[tuple[str, Shape]]) -> tuple[str, Shape]:
    """A scale, a bias, a mask of each broadcast shape, an activation, or the sum with an earlier link."""
    kind = w.pick(0, 1, 2, 3)
    same = [each for each in earlier[:-1] if each[1] == shape]
    if kind == 0:
        return w.op("multiply", [(value, shape), (w.scalar(0.25), ())], shape), shape
    if kind == 1:
        kept = tuple(size if w.pick(0, 1) else 1 for size in shape)
        return w.op("add", [(value, shape), (w.argument(kept), kept)], shape), shape
    if kind == 2 and same:
        return w.op("add", [(value, shape), same[w.pick(*range(len(same)))]], shape), shape
    name = ("relu", "gelu", "sigmoid", "tanh")[w.pick(0, 1, 2, 3)]
    return w.op(name, [(value, shape)], shape), shape
