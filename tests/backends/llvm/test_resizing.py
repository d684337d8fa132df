"""Images at another resolution: tables of places and shares give what NumPy gives, in each layout, at borders too."""

from random import Random

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import fuse_dialect as fd
from fuse_dialect.dialect.resampling import COORDINATE_MODES

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16}


def random_program(rng: Random) -> tuple[str, tuple[int, ...], str]:
    """A resize of a small image, the image's shape and its element type."""
    sizes, counts = [[rng.choice([1, 2, 5, 8, 21]) for _ in "HW"] for _ in range(2)]
    layout, element = rng.choice(["NCHW", "NHWC"]), rng.choice(list(TYPES))
    batch, channels = rng.choice([(1, 3), (2, 1), (1, 17)])
    shape, result = (
        (batch, channels, *size) if layout == "NCHW" else (batch, *size, channels) for size in (sizes, counts)
    )
    mode = rng.choice(COORDINATE_MODES[:-1])
    extra = [f'coordinate_transformation_mode = "{mode}"', f'layout = "{layout}"', f"size = {counts}"]
    method = rng.choice(["nearest", "linear", "cubic", "cubic"])
    extra += [f'method = "{method}"', f"cubic_alpha = {rng.choice([-0.5, -0.75])} : f64"]
    if method != "nearest" and rng.random() < 0.3:
        extra.append("exclude_outside = true")
    given, made = (f"tensor<{'x'.join(map(str, each))}x{element}>" for each in (shape, result))
    text = f"""func.func @main(%x: {given}) -> {made} {{
  %y = fuse.resize2d %x, {", ".join(extra)} : ({given}) -> {made}
  return %y : {made}
}}"""
    return text, shape, element


@pytest.mark.parametrize("seed", range(30))
def test_a_resize_gives_its_meaning(seed: int) -> None:
    text, shape, element = random_program(Random(seed))
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(TYPES[element])
    if seed % 5 == 0:
        x.flat[rng.integers(0, x.size)] = rng.choice([np.inf, np.nan])
    module = fd.parse(text.replace(" : f64", ""))
    program = fd.compile(module, threads=1 + seed % 2, cache=False)
    assert {kernel.family for kernel in program.kernels} <= {"map", "rows", "view"}
    tolerance = {"f32": 2e-5, "f64": 1e-12, "f16": 4e-3}[element]
    np.testing.assert_allclose(program(x)[0], fd.run(module, x)[0], tolerance, tolerance, err_msg=text)


@pytest.mark.parametrize("method", ["linear", "cubic"])
@pytest.mark.parametrize("mode", ["half_pixel", "asymmetric", "align_corners"])
@pytest.mark.parametrize("size", [(9, 5), (1, 1), (3, 4)])
def test_places_without_a_pixel_inside_are_nan(method: str, mode: str, size: tuple[int, int]) -> None:
    """Scales of their own put places behind the operand, where no pixel has a share."""
    result = f"tensor<1x1x{size[0]}x{size[1]}xf32>"
    module = fd.parse(f"""func.func @main(%x: tensor<1x1x1x2xf32>) -> {result} {{
  %y = fuse.resize2d %x, size = {list(size)}, method = "{method}", scales = [2.0, 1.0],
      coordinate_transformation_mode = "{mode}", exclude_outside = true : (tensor<1x1x1x2xf32>) -> {result}
  return %y : {result}
}}""")
    x = np.array([[[[1.5, -2]]]], np.float32)
    np.testing.assert_allclose(fd.compile(module, cache=False)(x)[0], fd.run(module, x)[0], rtol=1e-6)
