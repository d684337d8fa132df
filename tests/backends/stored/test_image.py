"""Images as header and payload: what was written comes back, and what was not is refused, whatever it says."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuse_dialect as fd
from fuse_dialect.backends.stored.image import ALIGNMENT, Image, decoded, encoded
from fuse_dialect.backends.stored.image_builder import image_of

pytest.importorskip("llvmlite")

TEXT = """
func.func @main(%x: tensor<5x8xf32> {fuse.sizes = ["n", ""]}, %k: tensor<3xi8>) -> (tensor<5x16xf32>, tensor<3xi8>) {
  %w = arith.constant dense<0.25> : tensor<16x8xf32>
  %p = fuse.dense %x, %w : (tensor<5x8xf32>, tensor<16x8xf32>)
  %r = fuse.relu %p : tensor<5x16xf32>
  %n = fuse.negative %k : tensor<3xi8>
  return %r, %n : tensor<5x16xf32>, tensor<3xi8>
}
"""


def an_image() -> Image:
    image = image_of(fd.compile(fd.parse(TEXT), cache=False))
    assert image is not None
    return image


def written(image: Image) -> tuple[dict[str, Any], bytes, bytes]:
    header, payload = encoded(image)
    constants = b"".join(bytes(part) + bytes(-len(part) % ALIGNMENT) for part in image.constants)
    return json.loads(json.dumps(header)), b"".join(bytes(part) for part in payload), constants


@pytest.fixture(scope="module")
def entry() -> tuple[dict[str, Any], bytes, bytes]:
    return written(an_image())


def test_an_image_comes_back() -> None:
    image = an_image()
    again = decoded(*written(image))
    assert again is not None
    assert again.interface == image.interface
    assert list(again.kernels) == list(image.kernels)
    assert (bytes(again.code), again.imports, again.inside, again.driver) == (
        bytes(image.code), image.imports, image.inside, image.driver,
    )  # fmt: skip
    for name in ("words", "in_arena", "in_slots", "rows"):
        assert np.array_equal(getattr(again.table, name), np.array(getattr(image.table, name)).reshape(-1)) or (
            np.array_equal(getattr(again.table, name), getattr(image.table, name))
        )
    for name in ("segments", "forms", "memory_bytes", "threads", "left", "most_ops"):
        assert getattr(again.table, name) == getattr(image.table, name), name
    assert bytes(again.constants[0]).startswith(bytes(image.constants[0]))
    assert written(again)[0]["parts"]["code"] == written(image)[0]["parts"]["code"]


def test_programs_that_need_their_ir_have_no_image() -> None:
    for text in (
        TEXT.replace("5x", "?x"),
        "func.func @main(%x: tensor<4x4x4xf32>) -> tensor<4xf32> {\n"
        "  %r = fuse.det %x : (tensor<4x4x4xf32>)\n  return %r : tensor<4xf32>\n}",
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}",
    ):
        assert image_of(fd.compile(fd.parse(text), cache=False)) is None
    assert image_of(fd.compile(fd.parse(TEXT), "numpy")) is None


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the values of a header are, inner ones too."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inside for place in places(each, (*path, key)))]


JSON = st.sampled_from([None, True, -1, 1 << 70, 10**9, 0.5, "", "x", "<f4", [], [1], {}, {"a": 1}])


@given(st.data())
def test_a_changed_header_is_refused_or_means_something(
    entry: tuple[dict[str, Any], bytes, bytes], data: st.DataObject
) -> None:
    header = json.loads(json.dumps(entry[0]))
    path = data.draw(st.sampled_from(places(header)[1:]))
    inner = header
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = data.draw(JSON)
    image = decoded(header, *entry[1:])
    assert image is None or isinstance(image, Image)
    if image is not None:
        table = image.table
        assert all(0 <= word < len(table.words) for _, words in (*table.inputs, *table.outputs) for word in words)
        assert all(0 <= place < len(image.code) for place in (*image.driver.values(), *image.imports.values()))


@pytest.mark.parametrize("name", ["words", "rows", "in_arena", "in_slots", "in_constants", "code"])
def test_a_part_that_is_not_there_is_refused(entry: tuple[dict[str, Any], bytes, bytes], name: str) -> None:
    header = json.loads(json.dumps(entry[0]))
    header["parts"][name] = [0, len(entry[1]) + 1]
    assert decoded(header, *entry[1:]) is None


@pytest.mark.parametrize("name", ["in_arena", "in_constants", "rows"])
def test_numbers_that_point_at_nothing_are_refused(entry: tuple[dict[str, Any], bytes, bytes], name: str) -> None:
    start, size = entry[0]["parts"][name]
    assert size
    payload = bytearray(entry[1])
    payload[start : start + 8] = np.int64(1 << 40).tobytes()
    assert decoded(entry[0], bytes(payload), entry[2]) is None


def test_a_constant_behind_the_last_is_refused(entry: tuple[dict[str, Any], bytes, bytes]) -> None:
    start, _ = entry[0]["parts"]["in_constants"]
    size = len(entry[2])
    payload = bytearray(entry[1])
    for offset, is_there in ((size, True), (size + 1, False), (-1, False)):
        payload[start + 8 : start + 16] = np.int64(offset).tobytes()  # behind the number of its word
        assert (decoded(entry[0], bytes(payload), entry[2]) is not None) == is_there
