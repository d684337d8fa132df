"""How a constant factor is laid out for a micro-kernel: columns in panels. Pure data, and the NumPy that does it.

A panel holds `width` neighbouring columns: for each point of the reduced axes, in order, one element of each column.
Panels follow each other, for each point of the outer axes; columns beyond the last are 0.

For a convolution of 3x3 taps, panels of 4x4 *points* may stand in front of the panels of taps. A point is a weighted
sum of taps: the taps are multiplied by a matrix along each axis. With points, a tile of 2x2 results takes 16
products, with taps 36.

Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks (arXiv:1509.09308), F(2x2, 3x3).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from fuse_dialect.loops.contraction import Contraction, shapes_of
from fuse_dialect.loops.functions import FLOAT_DOT, PAIR_DOT
from fuse_dialect.loops.places import flat_place
from fuse_dialect.loops.program import LoopProgram, Read

_ALIGNMENT = 64
_READ_BYTES = 1 << 25
TAPS = 3
POINTS = 4


@dataclass(frozen=True, slots=True)
class Strided:
    """One axis of a view of the array: its size, and the distance of neighbours in elements."""

    size: int
    stride: int


@dataclass(frozen=True, slots=True)
class Packing:
    """The layout that a kernel expects in place of a dense row-major array."""

    element: str
    """Element type of the panels; f16 and bf16 may be packed as f32, four neighbours of 8 bits as i32."""
    start: int
    """Position of the first element in the array."""
    outer: tuple[Strided, ...]
    columns: Strided
    reduced: tuple[Strided, ...]
    width: int
    has_points: bool = False
    """Whether the panels of points stand in front: for two reduced axes of 3 taps and one more, f32."""

    is_pairs: bool = False
    """Whether 32 bits are two numbers of 16 bits, and not a quad of bytes, or a number."""

    is_halves: bool = False
    """Whether a byte holds the lower halves of two bytes that follow each other along the sum, the first one lower."""

    apart: int = 1
    """How many elements of the array lie from one number of a pair of bf16 to the other."""

    @property
    def depth(self) -> int:
        """Points of the reduced axes."""
        return prod(axis.size for axis in self.reduced)

    @property
    def size(self) -> int:
        """Elements of all panels; bytes where these hold two."""
        elements = prod(axis.size for axis in self.outer) * self.panels * self.width * self.depth
        return (elements // 2 if self.is_halves else elements) + self.points_size

    @property
    def points_size(self) -> int:
        """Elements of the panels of points."""
        panels = prod(axis.size for axis in self.outer) * self.panels
        return panels * self.width * self.depth // TAPS**2 * POINTS**2 if self.has_points else 0

    @property
    def panels(self) -> int:
        """Panels for one point of the outer axes."""
        return -(-self.columns.size // self.width)

    def apply(self, array: NDArray[np.generic], let_go: Callable[[], object] = lambda: None) -> NDArray[np.generic]:
        """The panels of an array, one after the other; the first begins at a multiple of 64 bytes.

        Args:
            array: The elements.
            let_go: Is called whenever some tens of MB have been read: memory of the array may go then, if it can come
                back.
        """
        array = np.ascontiguousarray(array)
        if self.element == "i32" and array.itemsize == 1:
            # Quads of bytes along the last axis, or pairs of bytes, which are numbers of 16 bits now.
            array = (array.astype(np.int16) if self.is_pairs else array).view(np.int32)
        elif self._is_units(array.itemsize):
            array = np.ascontiguousarray(array.reshape(-1, 2, self.apart).swapaxes(1, 2)).view(np.float32)
        axes = self._axes
        # A view only: elements are copied once, into the panels.
        view = np.lib.stride_tricks.as_strided(
            array.reshape(-1)[self.start :],
            [axis.size for axis in axes],
            [axis.stride * array.itemsize for axis in axes],
            writeable=False,
        )
        matrices = view.reshape(prod(axis.size for axis in self.outer), self.columns.size, self.depth)
        if self.element == "f32":
            matrices = matrices.astype(np.float32, copy=False)
        packed = _aligned((len(matrices), self.panels, self.depth, self.width), matrices.dtype)
        # The array is full of zeros, so that columns beyond the last add nothing.
        step = max(1, _READ_BYTES // max(1, packed[:, :1].nbytes))
        for panel in range(self.panels):
            if panel and panel % step == 0:
                let_go()
            columns = matrices[:, panel * self.width : (panel + 1) * self.width]
            packed[:, panel, :, : columns.shape[1]] = columns.swapaxes(1, 2)
        if self.is_halves:
            return _halved(packed)
        return self._with_points(packed) if self.has_points else packed.reshape(-1)

    def can_undo(self, size: int, itemsize: int) -> bool:
        """Whether panels of an array have each of its elements once, so that `undo` finds all of them.

        Args:
            size: Elements of the array.
            itemsize: Bytes of an element.
        """
        units = size // (2 if self.is_pairs else 4) if self._is_units(itemsize) else size
        axes = sorted((axis for axis in self._axes if axis.size != 1), key=lambda axis: axis.stride)
        known = 1
        # A dense array, its axes in some order: each axis steps over all of those that step less.
        for axis in axes:
            if axis.size < 1 or axis.stride != known:
                return False
            known *= axis.size
        return self.start == 0 and known == units

    def undo(self, packed: NDArray[np.generic], dtype: np.dtype[np.generic], size: int) -> NDArray[np.generic]:
        """The elements of the array that was packed, row by row; of halves of bytes as `dtype` has them.

        Args:
            packed: The panels.
            dtype: Of the array.
            size: Elements of the array.

        Raises:
            ValueError: They are not the panels of such an array.
        """
        if self.width < 1 or not self.can_undo(size, dtype.itemsize):
            raise ValueError("panels do not have each element once")
        if packed.size != self.size:
            raise ValueError(f"expected {self.size} elements in panels, got {packed.size}")
        count = prod(axis.size for axis in self.outer)
        if self.is_halves:
            packed = _doubled(packed, dtype, count * self.panels, self.width)
        panels = packed[self.points_size :].reshape(count, self.panels, self.depth, self.width)
        units = np.empty(count * self.columns.size * self.depth, packed.dtype)
        view = np.lib.stride_tricks.as_strided(
            units, [axis.size for axis in self._axes], [axis.stride * units.itemsize for axis in self._axes]
        )
        columns = panels.swapaxes(2, 3).reshape(count, -1, self.depth)[:, : self.columns.size]
        view[...] = columns.reshape(view.shape)
        if self._is_units(dtype.itemsize):
            if self.element == "f32":
                return np.ascontiguousarray(units.view(dtype).reshape(-1, self.apart, 2).swapaxes(1, 2)).reshape(-1)
            return units.view(np.int16).astype(np.int8).view(dtype) if self.is_pairs else units.view(dtype)
        # Narrow floats were widened, which loses nothing.
        return units.astype(dtype, copy=False)

    @property
    def _axes(self) -> tuple[Strided, ...]:
        return (*self.outer, self.columns, *self.reduced)

    def _is_units(self, itemsize: int) -> bool:
        """Whether several elements of so many bytes are one of the panels."""
        return (self.element == "i32" and itemsize == 1) or (self.element == "f32" and self.is_pairs)

    def _with_points(self, packed: NDArray[np.generic]) -> NDArray[np.generic]:
        # For each point of the outer axes the points of weights follow each other, and for each of these the panels.
        taps = packed.reshape(-1, self.panels, TAPS, TAPS, self.depth // TAPS**2, self.width)
        both = _aligned((self.size,), packed.dtype)
        both[self.points_size :] = packed.reshape(-1)
        points = both[: self.points_size].reshape(-1, POINTS, POINTS, self.panels, *taps.shape[4:])
        for row, along in enumerate(_points_of([taps[:, :, tap] for tap in range(TAPS)])):
            for column, values in enumerate(_points_of([along[:, :, tap] for tap in range(TAPS)])):
                points[:, row, column] = values
        return both


def _points_of(taps: Sequence[NDArray[np.generic]]) -> Iterator[NDArray[np.generic]]:
    """Four sums of three taps along one axis."""
    half = taps[0].dtype.type(0.5)
    outer, middle = np.multiply(np.add(taps[0], taps[2]), half), np.multiply(taps[1], half)
    yield taps[0]
    yield np.add(outer, middle)
    yield np.subtract(outer, middle)
    yield taps[2]


def _halved(packed: NDArray[np.generic]) -> NDArray[np.generic]:
    """Two bytes in one, of neighbours along the last axis but one."""
    bytes = packed.view(np.uint8)
    halves = _aligned((packed.size // 2,), np.dtype(np.uint8))
    shape = (*bytes.shape[:2], bytes.shape[2] // 2, bytes.shape[3])
    np.bitwise_or(bytes[:, :, ::2] & 15, bytes[:, :, 1::2] << 4, out=halves.reshape(shape))
    return halves.view(packed.dtype)


def _doubled(halves: NDArray[np.generic], dtype: np.dtype[np.generic], panels: int, width: int) -> NDArray[np.generic]:
    """The bytes of which the lower halves are packed, with their sign if the type has one."""
    rows = halves.view(np.uint8).reshape(panels, -1, width)
    both = np.stack([rows << 4, rows & 240], axis=2).view(dtype)
    return np.right_shift(both, 4).reshape(-1)


def _aligned(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
    room = np.zeros(prod(shape) * dtype.itemsize + _ALIGNMENT, np.uint8)
    first = -room.ctypes.data % _ALIGNMENT
    return room[first : first + prod(shape) * dtype.itemsize].view(dtype).reshape(shape)


def packing_of(program: LoopProgram, contraction: Contraction, constants: frozenset[str], width: int) -> Packing | None:
    """The layout of the columns factor, if it is constant, can be packed, and nothing else reads it.

    Args:
        program: What the contraction is from.
        contraction: Its reduced axes are packed in their order.
        constants: Names of buffers whose values are known.
        width: Columns of a panel.
    """
    read = contraction.columns.constant_read
    if read is None or read.buffer not in constants:
        return None
    stage = contraction.stage
    # Who else reads the buffer, the other factor or what comes behind the sum, would find the panels.
    if sum(isinstance(each, Read) and each.buffer == read.buffer for each in (*stage.body, *stage.finish)) > 1:
        return None
    place = flat_place(read.indices, shapes_of(program)[read.buffer], len(stage.axes))
    if place is None or place.constant.number is None:
        return None

    def strided(axis: int) -> Strided:
        return Strided(_known(stage.axes[axis].size), _known(place.strides[axis].number))

    axes = (*contraction.outer, *contraction.column_axes, *contraction.reduced)
    # Panels are made before the first call, when sizes that have names are not known.
    if any(isinstance(stage.axes[axis].size, str) for axis in axes if axis in contraction.columns.axes):
        return None
    outer = tuple(axis for axis in contraction.outer if axis in contraction.columns.axes)
    return Packing(
        contraction.element,
        place.constant.number,
        tuple(map(strided, outer)),
        strided(contraction.column_axes[-1]),
        tuple(map(strided, contraction.reduced)),
        width,
        is_pairs=contraction.product in (PAIR_DOT, FLOAT_DOT),
        apart=contraction.apart,
    )


def _known(size: int | str | None) -> int:
    assert isinstance(size, int), "constant arrays have known sizes"
    return size
