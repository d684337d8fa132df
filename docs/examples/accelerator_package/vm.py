"""A virtual machine with a MAC array: its code generator, and a simulator that computes and counts cycles.

Nothing here computes by the meaning of ops: the machine has its own loops over integers, as a device has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np

import fuse_dialect as fd

Array = np.ndarray[Any, np.dtype[Any]]
LANES = 16
"""Rows and columns of the array, and bytes a cycle of memory and of the units behind it."""
FILL = 24
"""Cycles until the first result of a trip has passed all units."""


@dataclass(frozen=True)
class Instruction:
    """One step of a program for the machine."""

    opcode: str
    target: str
    sources: tuple[str, ...]
    fields: dict[str, Any] = field(default_factory=dict)


OPCODES = {
    "fuse.conv2d": "CONV",
    "fuse.bias_add": "BIAS",
    "fuse.requantize": "SCALE",
    "fuse.requantize_sum": "SUM",
    "fuse.max_pool2d": "POOL",
}


def generate(trip: fd.Trip) -> list[Instruction]:
    """The program of a trip: what it loads, what the units do, what it stores."""
    loads = [Instruction("LOAD", value.name, ()) for value in (*trip.inputs, *trip.constants)]
    steps = [
        Instruction(OPCODES[step.op], step.results[0].name, tuple(step.operands), dict(step.attributes))
        for step in trip.steps
    ]
    return [*loads, *steps, *(Instruction("STORE", name, ()) for name in trip.outputs)]


@dataclass
class Machine:
    """Runs programs, and counts."""

    programs: dict[str, list[Instruction]]
    cycles: int = 0
    trips: int = 0

    def __call__(self, trip: fd.Trip, inputs: Sequence[Array]) -> list[Array]:
        """Run one trip: what `fd.run` asks for in the place of its meaning."""
        memory = dict(zip((value.name for value in trip.inputs), inputs, strict=True)) | trip.weights
        values: dict[str, Array] = {}
        stored: list[Array] = []
        busy: dict[str, int] = {}
        for each in self.programs[trip.name]:
            if each.opcode == "LOAD":
                values[each.target] = memory[each.target]
                busy["memory"] = busy.get("memory", 0) + memory[each.target].nbytes
            elif each.opcode == "STORE":
                stored.append(values[each.target])
                busy["memory"] = busy.get("memory", 0) + values[each.target].nbytes
            else:
                values[each.target], work = UNITS[each.opcode](each.fields, *(values[name] for name in each.sources))
                busy[each.opcode] = busy.get(each.opcode, 0) + work
        busy["memory"] = ceil(busy["memory"] / LANES)
        self.cycles += max(busy.values()) + FILL
        self.trips += 1
        return stored


def conv(fields: dict[str, Any], x: Array, w: Array) -> tuple[Array, int]:
    """A convolution on the array: 16 input channels by 16 filters a cycle, for each place and tap."""
    (top, left, bottom, right), (down, across) = fields["padding"], fields["strides"]
    padded = np.pad(
        x.astype(np.int64), [(0, 0), (0, 0), (top, bottom), (left, right)], constant_values=fields["pad_value"]
    )
    filters, channels, height, width = w.shape
    rows = (padded.shape[2] - height) // down + 1
    columns = (padded.shape[3] - width) // across + 1
    sums = np.zeros((filters, rows * columns), np.int64)
    for i in range(height):
        for j in range(width):
            window = padded[0, :, i : i + down * rows : down, j : j + across * columns : across]
            sums += (w[:, :, i, j].astype(np.float64) @ window.reshape(channels, -1)).astype(np.int64)
    work = rows * columns * height * width * ceil(channels / LANES) * ceil(filters / LANES)
    return sums.reshape(1, filters, rows, columns).astype(np.int32), work


def bias(fields: dict[str, Any], x: Array, b: Array) -> tuple[Array, int]:
    """Sums and a vector; 16 sums of 4 bytes a cycle."""
    return (x + b.reshape(1, -1, 1, 1)).astype(np.int32), ceil(x.size / LANES)


def rounded(fields: dict[str, Any], x: Array) -> Array:
    """Numbers in units of the result as 8 bits."""
    least, most = (0, 255) if fields["out_dtype"] == "ui8" else (-128, 127)
    low, high = fields.get("low", least), fields.get("high", most)
    clipped = np.clip(np.rint(x) + np.float32(fields["zero"]), max(low, least), min(high, most))
    return clipped.astype(np.uint8 if fields["out_dtype"] == "ui8" else np.int8)


def scale(fields: dict[str, Any], x: Array, s: Array) -> tuple[Array, int]:
    """Sums as bytes, 16 a cycle."""
    factors = s.reshape(1, -1, 1, 1) if s.ndim else s
    return rounded(fields, (x - np.int32(fields["input_zero"])).astype(np.float32) * factors), ceil(x.size / LANES)


def total(fields: dict[str, Any], a: Array, b: Array) -> tuple[Array, int]:
    """Two feature maps, each with its scale."""
    one = (a.astype(np.int32) - fields["lhs_zero"]).astype(np.float32) * np.float32(fields["lhs_scale"])
    other = (b.astype(np.int32) - fields["rhs_zero"]).astype(np.float32) * np.float32(fields["rhs_scale"])
    return rounded(fields, (one + other) / np.float32(fields["scale"])), ceil(a.size / LANES)


def pool(fields: dict[str, Any], x: Array) -> tuple[Array, int]:
    """The greatest of each window; 16 results a cycle."""
    (height, width), (down, across) = fields["pool_size"], fields["strides"]
    rows, columns = (x.shape[2] - height) // down + 1, (x.shape[3] - width) // across + 1
    windows = [
        x[:, :, i : i + down * rows : down, j : j + across * columns : across]
        for i in range(height)
        for j in range(width)
    ]
    result = np.max(windows, axis=0)
    return result, ceil(result.size / LANES)


UNITS = {"CONV": conv, "BIAS": bias, "SCALE": scale, "SUM": total, "POOL": pool}
