"""Random programs of products, and of moves between them: what is padded, cut, turned, put in a circle, or repeated.

All values have one shape: an image in either layout, a matrix, or a batch of matrices. What an op reads may be any
earlier value, so ends and operands of products are moved results of others. All that nobody reads is a result.
"""

from collections.abc import Callable, Sequence
from random import Random

from fuzzing.chains import Chain, Shape, tensor

_Step = Callable[["_Moves", str], str]


def random_moves(seed: int, *, sizes: Sequence[int] = (5, 14, 28), channels: Sequence[int] = (3, 16, 32)) -> Chain:
    """A program.

    Args:
        seed: The same number gives the same program.
        sizes: Of which an image has one, for height and width.
        channels: Of which an image has one; a matrix has twice as many rows and columns.
    """
    moves = _Moves(Random(seed), sizes, channels)
    for _ in range(moves.random.randint(3, 9)):
        step = moves.random.choice(_STEPS)
        moves.values.append(step(moves, moves.random.choice(moves.values[-3:])))
    return moves.program()


class _Moves:
    """A program that is being written."""

    def __init__(self, random: Random, sizes: Sequence[int], channels: Sequence[int]):
        self.random = random
        size, count = random.choice(sizes), random.choice(channels)
        self.kind, self.shape = random.choice(
            [
                ("NCHW", (1, count, size, size)),
                ("NHWC", (1, size, size, count)),
                ("matmul", (2 * count, 2 * count)),
                ("batch_matmul", (random.choice((2, 3)), count, count)),
            ]
        )
        self.arguments: list[Shape] = [self.shape]
        self.values = ["%a0"]
        self.lines: list[str] = []
        self.read: set[str] = set()
        self.count = 0

    @property
    def axes(self) -> list[int]:
        """Axes of several elements."""
        return [axis for axis, size in enumerate(self.shape) if size > 1]

    def argument(self, shape: Shape) -> str:
        """One more argument."""
        self.arguments.append(shape)
        return f"%a{len(self.arguments) - 1}"

    def op(self, text: str, operands: Sequence[tuple[str, Shape]], shape: Shape | None = None, more: str = "") -> str:
        """Write an op; its result."""
        self.count += 1
        self.read.update(value for value, _ in operands)
        values = ", ".join(value for value, _ in operands)
        types = ", ".join(tensor(each) for _, each in operands)
        attributes = f", {more}" if more else ""
        self.lines.append(
            f"%v{self.count} = fuse.{text} {values}{attributes} : ({types}) -> {tensor(shape or self.shape)}"
        )
        return f"%v{self.count}"

    def cut(self, value: str, axis: int, begin: int, end: int) -> tuple[str, Shape]:
        """A slice along an axis, with its shape."""
        shape = self.along(axis, end - begin)
        more = f"begin = [{begin}], end = [{end}], axes = [{axis}]"
        return self.op("strided_slice", [(value, self.shape)], shape, more), shape

    def along(self, axis: int, size: int) -> Shape:
        """The shape with another size of an axis."""
        return (*self.shape[:axis], size, *self.shape[axis + 1 :])

    def program(self) -> Chain:
        """What has been written; all that nobody reads is a result."""
        results = [value for value in self.values[1:] if value not in self.read]
        types = ", ".join(tensor(self.shape) for _ in results)
        parameters = ", ".join(f"%a{number}: {tensor(shape)}" for number, shape in enumerate(self.arguments))
        zero = "%zero = arith.constant dense<0.0> : tensor<f32>"
        body = "\n  ".join([zero, *self.lines, f"return {', '.join(results)} : {types}"])
        return Chain(f"func.func @main({parameters}) -> ({types}) {{\n  {body}\n}}\n", tuple(self.arguments))


def _product(moves: _Moves, value: str) -> str:
    shape, random = moves.shape, moves.random
    if moves.kind in ("matmul", "batch_matmul"):
        other = random.choice(moves.values) if random.random() < 0.5 else moves.argument(shape)
        operands = [(value, shape), (other, shape)]
        random.shuffle(operands)
        return moves.op(moves.kind, operands)
    last, taps = moves.kind == "NHWC", random.choice((1, 1, 3))
    channels = shape[3 if last else 1]
    kernel = (taps, taps, channels, channels) if last else (channels, channels, taps, taps)
    layouts = ['data_layout = "NHWC"', 'kernel_layout = "HWIO"'] if last else []
    more = ", ".join([f"padding = {[taps // 2] * 4}", *layouts])
    return moves.op("conv2d", [(value, shape), (moves.argument(kernel), kernel)], None, more)


def _padded(moves: _Moves, value: str) -> str:
    axis = moves.random.choice(moves.axes)
    size = moves.shape[axis]
    assert isinstance(size, int)
    left_out = moves.random.randint(1, size - 1)
    begin, before = moves.random.choice((0, left_out)), moves.random.choice((0, left_out))
    part, shape = moves.cut(value, axis, begin, begin + size - left_out)
    low, high = ([0] * len(moves.shape) for _ in range(2))
    low[axis], high[axis] = before, left_out - before
    return moves.op("pad", [(part, shape), ("%zero", ())], None, f"low = {low}, high = {high}")


def _in_a_circle(moves: _Moves, value: str) -> str:
    axis = moves.random.choice(moves.axes)
    size = moves.shape[axis]
    assert isinstance(size, int)
    place = moves.random.randint(1, size - 1)
    parts = [moves.cut(value, axis, place, size), moves.cut(value, axis, 0, place)]
    return moves.op("concatenate", parts, None, f"axis = {axis}")


def _turned(moves: _Moves, value: str) -> str:
    return moves.op("reverse", [(value, moves.shape)], None, f"axes = [{moves.random.choice(moves.axes)}]")


def _transposed(moves: _Moves, value: str) -> str:
    pairs = [(one, other) for one in moves.axes for other in moves.axes if one < other]
    pairs = [(one, other) for one, other in pairs if moves.shape[one] == moves.shape[other]]
    order = list(range(len(moves.shape)))
    one, other = moves.random.choice(pairs)
    order[one], order[other] = other, one
    return moves.op("transpose", [(value, moves.shape)], None, f"permutation = {order}")


def _repeated(moves: _Moves, value: str) -> str:
    part = moves.cut(value, moves.random.choice(moves.axes), 0, 1)
    return moves.op("add", [(moves.random.choice(moves.values), moves.shape), part])


def _with_bias(moves: _Moves, value: str) -> str:
    axis = moves.random.choice(moves.axes)
    shape = tuple(size if place == axis else 1 for place, size in enumerate(moves.shape))
    return moves.op("add", [(value, moves.shape), (moves.argument(shape), shape)])


def _together(moves: _Moves, value: str) -> str:
    name = moves.random.choice(("add", "multiply"))
    return moves.op(name, [(value, moves.shape), (moves.random.choice(moves.values), moves.shape)])


def _function(moves: _Moves, value: str) -> str:
    return moves.op(moves.random.choice(("relu", "tanh")), [(value, moves.shape)])


def _softmax(moves: _Moves, value: str) -> str:
    return moves.op("softmax", [(value, moves.shape)])


_STEPS: Sequence[_Step] = (
    *(_product,) * 3,
    _padded,
    _in_a_circle,
    _turned,
    _transposed,
    _repeated,
    *(_together,) * 2,
    _with_bias,
    _function,
    _softmax,
)
