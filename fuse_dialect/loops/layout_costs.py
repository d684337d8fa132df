"""What the kernels of this package take for windows over images, by where the channels stand.

All is counted in additions of a vector loop, `Rates.vectors`, so that it holds for machines of other widths and clocks:

1. Channels last, a product reads its image where it lies, or in strips. Lanes are output channels, in whole vectors; a
   single vector has as many reads as products. Outputs of one channel are sums along lanes.
2. Channels last, 3x3 taps become fewer products of sums and differences (`winograd_schedule`).
3. Channels last, each channel by itself, lanes are channels.
4. Channels first, lanes are pixels, and each tap of each channel and pixel is packed into a panel first: that outweighs
   products where few outputs share it, and most where there is one, in depthwise convolutions.
5. Pools combine taps of a channel; channels first they read them at places that are no vectors.
6. A transpose takes longer than moving its bytes, for it reads or writes short runs.
7. Windows over images of open size are copied one by one in any layout, unless each channel is by itself: runs of a few
   channels, or single elements.
8. Bytes are numbers of 32 bits, but for channels last, where some of their products are added up in one instruction.

The factors are measured: `tools/bench_convolutions.py --layouts` on one core of an Intel Sapphire Rapids, for AVX-512
and AVX2. They are within 20 % of 35 of the 40 cases it had then.
"""

from dataclasses import dataclass
from math import prod

from fuse_dialect.loops.winograd_schedule import LEAST_CHANNELS
from fuse_dialect.machines.machine import Machine, Unit

_MULTIPLY_ADD = 2 / 5.4
"""A multiply-add of a tile."""
_OWN_CHANNEL = 2.0
"""A multiply-add of (3), over one of a tile."""
_LONE_VECTOR = 4 / 3
"""A multiply-add of a tile of one vector, over one of a wider one (1)."""
_ONE_OUTPUT_VECTORS = 4
"""Vectors of products that take as long as a sum along lanes (1)."""
_POINTS = 13.0
"""Sums and differences, for each pixel and each channel that comes or goes (2)."""
_POINTS_SHARE = 4 / 9
"""Products that are left of 3x3 taps (2)."""
_LEAST_POINTS_PIXELS = 25
"""Results from which on (2) holds: an image of 5x5."""
_PACKED = 9.0
"""Packing one element of a window (4)."""
_PACKED_RUN = 4.0
"""The same where rows of pixels are copied as they are: one tap, one pixel apart."""
_COPIED_RUNS, _COPIED_ONES = 24.0, 54.0
"""Copying one element of a window of an image of open size, channels last and channels first (7)."""
_BYTE_DOTS, _PAIR_DOTS = 4.0, 1.5
"""Products of bytes in place of one of 32 bits (8)."""
_POOLED_FIRST, _POOLED_LAST = 3.0, 1.0
"""One tap of a pool (5)."""
_TRANSPOSED = 2.5
"""Moving a byte of a transpose, over moving one in order (6)."""
_TRANSPOSE_CALL = 0.3e-6
"""Seconds of a call that a transpose adds."""


@dataclass(frozen=True, slots=True)
class WindowedProduct:
    """The sizes of a convolution, whatever its rank."""

    groups: int
    inputs: int
    """Channels that a group reads."""
    outputs: int
    """Channels that a group gives."""
    pixels: int
    """Results of a channel, of all images."""
    taps: tuple[int, ...]
    has_steps: bool
    """Whether windows are more than a pixel apart."""
    has_constant_weights: bool
    element_bytes: int
    """Of a sum."""
    is_open: bool = False
    """Whether the size of the images is not known."""
    has_bytes: bool = False
    """Whether the factors are integers of 8 bits."""

    def seconds(self, machine: Machine, *, channels_last: bool) -> float:
        """What its arithmetic takes on a machine with rates."""
        additions = self._channels_last(machine) if channels_last else self._channels_first(machine)
        return additions / _additions_per_second(machine, self.element_bytes)

    @property
    def _depth(self) -> int:
        """Products of an element of the result."""
        return self.inputs * prod(self.taps)

    def _channels_last(self, machine: Machine) -> float:
        lanes = machine.lanes(self.element_bytes)
        products = self.groups * self._depth * self.pixels * _MULTIPLY_ADD
        if self.groups > 1 and self.inputs == self.outputs == 1:
            return products * _OWN_CHANNEL  # (3)
        if self.has_bytes:
            products /= _dots(machine)  # (8)
        if self._has_points():
            points = self.groups * self.pixels * (self.inputs + self.outputs) * _POINTS
            return products * _whole(self.outputs, lanes) * _POINTS_SHARE + points  # (2)
        if self.outputs == 1:
            return products * lanes * _ONE_OUTPUT_VECTORS
        # (1) What lanes beyond the last channel compute is thrown away.
        alone = _LONE_VECTOR if self.outputs <= lanes else 1.0
        return products * _whole(self.outputs, lanes) * alone + self._copied * _COPIED_RUNS

    @property
    def _copied(self) -> int:
        """Elements of windows that are copied (7)."""
        is_whole = not self.is_open or prod(self.taps) == 1
        return 0 if is_whole or self.inputs == self.outputs == 1 else self.groups * self._depth * self.pixels

    def _has_points(self) -> bool:
        """Whether (2) holds; see `winograd_schedule.winograd_plan`."""
        return (
            not self.is_open
            and self.taps == (3, 3)
            and not self.has_steps
            and self.has_constant_weights
            and self.element_bytes == 4
            and not self.has_bytes
            and self.pixels >= _LEAST_POINTS_PIXELS
            and min(self.inputs, self.outputs) >= LEAST_CHANNELS
        )

    def _channels_first(self, machine: Machine) -> float:
        lanes = machine.lanes(self.element_bytes)
        packed = _PACKED_RUN if prod(self.taps) == 1 else _COPIED_ONES if self._copied else _PACKED
        products = self.groups * self._depth * self.outputs * _whole(self.pixels, 2 * lanes) * _MULTIPLY_ADD
        return products + self.groups * self._depth * self.pixels * packed  # (4)


def pool_seconds(taps: int, element_bytes: int, machine: Machine, *, channels_last: bool) -> float:
    """What a pool takes that combines so many elements, all windows together (5)."""
    additions = taps * (_POOLED_LAST if channels_last else _POOLED_FIRST)
    return additions / _additions_per_second(machine, element_bytes)


def transpose_seconds(bytes: int, machine: Machine) -> float:
    """What a transpose of so many bytes takes (6)."""
    return _TRANSPOSE_CALL + 2 * _TRANSPOSED * machine.moving(bytes)


def _dots(machine: Machine) -> float:
    """Products of bytes in place of one of 32 bits (8)."""
    if Unit.BYTE_DOTS in machine.units:
        return _BYTE_DOTS
    return _PAIR_DOTS if Unit.PAIR_DOTS in machine.units else 1.0


def _whole(count: int, unit: int) -> int:
    """The count, rounded up to whole units."""
    return -(-count // unit) * unit


def _additions_per_second(machine: Machine, element_bytes: int) -> float:
    """Additions of vectors of such elements."""
    assert machine.rates is not None, "machines.description.with_rates gives a machine its rates"
    return machine.rates.vectors * 4 / element_bytes
