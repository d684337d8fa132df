"""Gathers and scatters of windows are what the specification's loops over places say.

Source: `gather` and `scatter` in docs/spec.md of openxla/stablehlo; of windows that lie partly outside,
xla/service/scatter_expander.cc.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import fuse_dialect as fd


@dataclass(frozen=True)
class Windows:
    """Windows of a tensor, at places that index vectors say."""

    sizes: tuple[int, ...]
    parts: tuple[int, ...]
    collapsed: tuple[int, ...]
    index_map: tuple[int, ...]
    places: tuple[int, ...]
    offset: tuple[int, ...]
    """Axes of the windows in the gathered tensor."""

    @property
    def gathered(self) -> tuple[int, ...]:
        """The shape of all windows in one tensor."""
        window = iter([part for axis, part in enumerate(self.parts) if axis not in self.collapsed])
        place = iter(self.places)
        rank = len(self.places) + len(self.offset)
        return tuple(next(window) if axis in self.offset else next(place) for axis in range(rank))

    def at(self, full: tuple[int, ...], indices: np.ndarray, *, fits: bool) -> tuple[int, ...]:
        """Where in the tensor an element of the gathered one lies."""
        place = tuple(number for axis, number in enumerate(full) if axis not in self.offset)
        window = iter([number for axis, number in enumerate(full) if axis in self.offset])
        begin = [0] * len(self.sizes)
        for number, axis in zip(indices[place], self.index_map, strict=True):
            begin[axis] = int(np.clip(number, 0, self.sizes[axis] - self.parts[axis])) if fits else int(number)
        return tuple(start + (0 if axis in self.collapsed else next(window)) for axis, start in enumerate(begin))

    def is_inside(self, full: tuple[int, ...], indices: np.ndarray) -> bool:
        """Whether the whole window lies in the tensor to which an element of the gathered one belongs."""
        place = tuple(number for axis, number in enumerate(full) if axis not in self.offset)
        begins = zip(indices[place], self.index_map, strict=True)
        return all(0 <= number <= self.sizes[axis] - self.parts[axis] for number, axis in begins)


def drawn(seed: int) -> tuple[Windows, np.ndarray, np.ndarray]:
    """Windows, a tensor and index vectors, some of which are too small or too large."""
    random = np.random.default_rng(seed)
    rank = int(random.integers(1, 4))
    sizes = tuple(int(each) for each in random.integers(2, 5, rank))
    index_map = tuple(int(each) for each in random.permutation(rank)[: random.integers(1, rank + 1)])
    parts = [int(random.integers(1, size + 1)) for size in sizes]
    collapsed = tuple(axis for axis in sorted(index_map) if random.random() < 0.4)
    for axis in collapsed:
        parts[axis] = 1
    places = tuple(int(each) for each in random.integers(1, 4, random.integers(0, 3)))
    kept = rank - len(collapsed)
    offset = tuple(sorted(int(each) for each in random.permutation(kept + len(places))[:kept]))
    indices = random.integers(-1, 5, (*places, len(index_map))).astype(np.int32)
    tensor = random.integers(-50, 50, sizes).astype(np.int32)
    return Windows(sizes, tuple(parts), collapsed, index_map, places, offset), tensor, indices


def of(array: np.ndarray) -> str:
    return f"tensor<{''.join(f'{size}x' for size in array.shape)}i32>"


@pytest.mark.parametrize("seed", range(24))
def test_gather(seed: int) -> None:
    windows, x, indices = drawn(seed)
    expected = np.array(
        [x[windows.at(full, indices, fits=True)] for full in np.ndindex(windows.gathered)], np.int32
    ).reshape(windows.gathered)
    numbers = (
        f"offset_dims = {list(windows.offset)}, collapsed_slice_dims = {list(windows.collapsed)}, "
        f"start_index_map = {list(windows.index_map)}, index_vector_dim = {len(windows.places)}"
    )
    text = f"""func.func @main(%x: {of(x)}, %i: {of(indices)}) -> {of(expected)} {{
      %r = "stablehlo.gather"(%x, %i) <{{
        dimension_numbers = #stablehlo.gather<{numbers}>,
        slice_sizes = array<i64: {str(list(windows.parts))[1:-1]}>
      }}> : ({of(x)}, {of(indices)}) -> {of(expected)}
      return %r : {of(expected)}
    }}"""
    (found,) = fd.run(fd.parse(text), x, indices)
    np.testing.assert_array_equal(found, expected)
    if seed % 4 == 0:
        (found,) = fd.compile(fd.parse(text), cache=False)(x, indices)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("is_for_xla", [False, True])
@pytest.mark.parametrize("seed", range(24))
def test_scatter(seed: int, is_for_xla: bool) -> None:
    """What is written of a window that lies partly outside: what is inside, and for XLA nothing."""
    windows, x, indices = drawn(seed)
    updates = np.random.default_rng(seed).integers(-50, 50, windows.gathered).astype(np.int32)
    expected = x.copy()
    for full in np.ndindex(windows.gathered):
        place = windows.at(full, indices, fits=False)
        if is_for_xla and not windows.is_inside(full, indices):
            continue
        if all(0 <= number < size for number, size in zip(place, windows.sizes, strict=True)):
            expected[place] += updates[full]
    numbers = (
        f"update_window_dims = {list(windows.offset)}, inserted_window_dims = {list(windows.collapsed)}, "
        f"scatter_dims_to_operand_dims = {list(windows.index_map)}, index_vector_dim = {len(windows.places)}"
    )
    devices = "attributes {mhlo.num_partitions = 1 : i32} " if is_for_xla else ""
    text = f"""module {devices}{{ func.func @main(%x: {of(x)}, %i: {of(indices)}, %u: {of(updates)}) -> {of(x)} {{
      %r = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}> ({{
        ^bb0(%a: tensor<i32>, %b: tensor<i32>):
          %s = stablehlo.add %a, %b : tensor<i32>
          stablehlo.return %s : tensor<i32>
      }}) : ({of(x)}, {of(indices)}, {of(updates)}) -> {of(x)}
      return %r : {of(x)}
    }} }}"""
    (found,) = fd.run(fd.parse(text), x, indices, updates)
    np.testing.assert_array_equal(found, expected)
    if seed % 4 == 0:
        (found,) = fd.compile(fd.parse(text), cache=False)(x, indices, updates)
        np.testing.assert_array_equal(found, expected)


_NARROW = """
func.func @main(%x: tensor<300xf32>, %i: tensor<2x1x{0}>, %at: tensor<{0}>, %u: tensor<2x2xf32>, %w: tensor<200xf32>)
    -> (tensor<2x3xf32>, tensor<300xf32>, tensor<200xf32>, tensor<300xf32>, tensor<2xf32>) {{
  %0 = "stablehlo.gather"(%x, %i) <{{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 3>
  }}> : (tensor<300xf32>, tensor<2x1x{0}>) -> tensor<2x3xf32>
  %1 = "stablehlo.scatter"(%x, %i, %u) <{{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0],
      index_vector_dim = 1>
  }}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }}) : (tensor<300xf32>, tensor<2x1x{0}>, tensor<2x2xf32>) -> tensor<300xf32>
  %2 = stablehlo.dynamic_slice %x, %at, sizes = [200] : (tensor<300xf32>, tensor<{0}>) -> tensor<200xf32>
  %3 = stablehlo.dynamic_update_slice %x, %w, %at
    : (tensor<300xf32>, tensor<200xf32>, tensor<{0}>) -> tensor<300xf32>
  %j = stablehlo.reshape %i : (tensor<2x1x{0}>) -> tensor<2x{0}>
  %4 = "stablehlo.torch_index_select"(%x, %j) <{{dim = 0 : i64, batch_dims = 0 : i64}}>
    : (tensor<300xf32>, tensor<2x{0}>) -> tensor<2xf32>
  return %0, %1, %2, %3, %4 : tensor<2x3xf32>, tensor<300xf32>, tensor<200xf32>, tensor<300xf32>, tensor<2xf32>
}}"""


@pytest.mark.parametrize(("type_", "dtype"), [("i8", np.int8), ("ui8", np.uint8), ("ui16", np.uint16)])
def test_sizes_that_no_index_can_be(type_: str, dtype: type[np.generic]) -> None:
    """The last place at which a part fits is more than the greatest number of the type of the indices."""
    x, u, w = np.arange(300, dtype=np.float32), -np.ones((2, 2), np.float32), -np.ones(200, np.float32)
    places = np.array([[5], [120]], dtype)
    inputs = (x, places, np.array(99, dtype), u, w)
    module = fd.parse(_NARROW.format(type_))
    for results in (fd.run(module, *inputs), fd.compile(module, cache=False)(*inputs)):
        gathered, scattered, part, updated, selected = results
        np.testing.assert_array_equal(gathered, [[5, 6, 7], [120, 121, 122]])
        np.testing.assert_array_equal(np.flatnonzero(scattered == -1), [5, 6, 120, 121])
        np.testing.assert_array_equal(part, x[99:299])
        np.testing.assert_array_equal(np.flatnonzero(updated == -1), np.arange(99, 299))
        np.testing.assert_array_equal(selected, [5, 120])


_BITS = """
func.func @main(%x: tensor<5x7xi32>) -> tensor<5x4xi32> {{
  %i = stablehlo.constant dense<{1}> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %i) <{{
    window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>,
    padding = dense<[[1, 0], [1, 1]]> : tensor<2x2xi64>
  }}> ({{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.{0} %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }}) : (tensor<5x7xi32>, tensor<i32>) -> tensor<5x4xi32>
  return %0 : tensor<5x4xi32>
}}"""


@pytest.mark.parametrize(("name", "start"), [("and", -1), ("or", 0), ("xor", 0), ("and", 6), ("or", 1), ("xor", 5)])
def test_bits_of_windows(name: str, start: int) -> None:
    x = np.random.default_rng(0).integers(-(1 << 31), (1 << 31) - 1, (5, 7), np.int32)
    wide = np.pad(x, [(1, 0), (1, 1)], constant_values=start)
    windows = np.lib.stride_tricks.sliding_window_view(wide, (2, 3))[:, ::2].reshape(5, 4, 6)
    combine = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[name]
    expected = combine(combine.reduce(windows, -1), np.int32(start))
    module = fd.parse(_BITS.format(name, start))
    for (found,) in (fd.run(module, x), fd.compile(module, cache=False)(x)):
        np.testing.assert_array_equal(found, expected)
