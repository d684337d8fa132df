"""Convolutions and pools of open height and width are native, and right at every size."""

import os
from dataclasses import dataclass

import numpy as np
import pytest

import fuse_dialect as fd

SEEDS = range(60)
KINDS = ("conv", "conv", "transpose", "max_pool2d", "avg_pool2d", "depthwise", "depthwise")


@dataclass
class Windows:
    """A random op on windows with something behind it, whose spatial sizes and batch are open."""

    seed: int

    def __post_init__(self):
        self.random = np.random.default_rng(self.seed)
        self.kind = str(self.random.choice(KINDS))
        self.rank = int(self.random.integers(1, 4)) if self.kind == "conv" else 2
        self.is_last = bool(self.random.integers(0, 2))
        self.groups = int(self.random.choice([1, 1, 2])) if self.kind in ("conv", "transpose") else 1
        self.inputs, self.outputs = (int(each) * self.groups for each in self.random.choice([1, 3, 4, 8], 2))
        if self.kind == "depthwise":
            self.groups = self.inputs = self.outputs = int(self.random.choice([3, 8, 16, 33]))
        self.extent = self.numbers(1, 8 if self.kind == "depthwise" else 5)

    def numbers(self, low, high, count=0):
        return [int(each) for each in self.random.integers(low, high, count or self.rank)]

    def shape(self, batch, channels, sizes):
        return [batch, *sizes, channels] if self.is_last else [batch, channels, *sizes]

    @property
    def weight(self):
        """The shape of the kernel; one element for a pool, which has none."""
        match self.kind:
            case "conv" | "depthwise":
                return [self.outputs, self.inputs // self.groups, *self.extent]
            case "transpose":
                return [self.inputs, self.outputs // self.groups, *self.extent]
            case _:
                return [1]

    @property
    def text(self):
        letters = {1: "W", 2: "HW", 3: "DHW"}[self.rank]
        layout = f"N{letters}C" if self.is_last else f"NC{letters}"
        strides, padding, dilation = self.numbers(1, 4), self.numbers(0, 3, 2 * self.rank), self.numbers(1, 3)
        windows = f"strides = {strides}, padding = {padding}, dilation = {dilation}"
        is_pool = "pool" in self.kind
        channels = self.inputs if is_pool else self.outputs
        x, w, y = (
            f"tensor<{'x'.join(map(str, shape))}xf32>"
            for shape in (
                self.shape("?", self.inputs, "?" * self.rank),
                self.weight,
                self.shape("?", channels, "?" * self.rank),
            )
        )
        if is_pool:
            op = f'fuse.{self.kind} %x, pool_size = {self.extent}, {windows}, layout = "{layout}" : ({x}) -> {y}'
        else:
            name = "_transpose" if self.kind == "transpose" else ""
            op = f"fuse.conv{self.rank}d{name} %x, %w, {windows}, groups = {self.groups}, "
            op += f'data_layout = "{layout}" : ({x}, {w}) -> {y}'
        return f"""
        func.func @main(%x: {x}, %w: {w}) -> {y} {{
          %c = {op}
          %r = fuse.relu %c : {y}
          return %r : {y}
        }}"""


def outcome(run, inputs):
    """The results, or `None` when an op rejects what it gets."""
    try:
        return run(*inputs)
    except fd.FuseError:
        return None


@pytest.mark.parametrize("seed", SEEDS)
def test_windows_of_open_sizes_are_native_and_right(seed, monkeypatch):
    if not os.environ.get("FUSE_CHECKED"):
        monkeypatch.setenv("FUSE_CHECKED", "plans")
    windows = Windows(seed)
    module = fd.parse(windows.text)
    program = fd.compile(module, cache=False, strategy=("tvm", "cost")[seed % 2], threads=1 + seed % 3)
    assert all(kernel.family != "numpy" for kernel in program.kernels)
    for _ in range(6):
        shape = windows.shape(int(windows.random.integers(0, 3)), windows.inputs, windows.numbers(0, 14))
        inputs = [windows.random.standard_normal(each).astype(np.float32) for each in (shape, windows.weight)]
        wanted, found = (outcome(run, inputs) for run in (lambda *arrays: fd.run(module, *arrays), program))
        assert (found is None) == (wanted is None)
        if found is not None:
            assert found[0].shape == wanted[0].shape
            np.testing.assert_allclose(found[0], wanted[0], rtol=1e-4, atol=1e-4)
