"""Loops that count: the same results whether rows and stacks are recognised or not."""

import re
from pathlib import Path

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.frontends.stablehlo import convert_stablehlo_to_fuse

FILE = Path(__file__).parents[1] / "filecheck/transforms/convert-stablehlo-to-fuse/scans.mlir"
PROGRAMS = [re.sub("func.func @[a-z_]+", "func.func @main", part) for part in FILE.read_text().split("// -----")]


def counted(first: str, step: str, index: str, dtype: str = "i32", count: int = 5) -> str:
    """A scan over five rows whose index is computed by some ops."""
    t = f"tensor<{dtype}>"
    return f"""
func.func @main(%x: tensor<5x2xf32>, %all: tensor<5x2xf32>) -> (tensor<5x2xf32>, {t}) {{
  %i = stablehlo.constant dense<{first}> : {t}
  %r:3 = "stablehlo.while"(%i, %x, %all) ({{
  ^bb0(%k: {t}, %a: tensor<5x2xf32>, %o: tensor<5x2xf32>):
    %n = stablehlo.constant dense<{count}> : {t}
    %c = stablehlo.compare LT, %k, %n, SIGNED : ({t}, {t}) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }}, {{
  ^bb0(%k: {t}, %a: tensor<5x2xf32>, %o: tensor<5x2xf32>):
    %z = stablehlo.constant dense<0> : {t}
    %one = stablehlo.constant dense<{step}> : {t}
    {index}
    %row = stablehlo.dynamic_slice %a, %at, %z, sizes = [1, 2] : (tensor<5x2xf32>, {t}, {t}) -> tensor<1x2xf32>
    %t = stablehlo.exponential %row : tensor<1x2xf32>
    %w = stablehlo.dynamic_update_slice %o, %t, %at, %z
      : (tensor<5x2xf32>, tensor<1x2xf32>, {t}, {t}) -> tensor<5x2xf32>
    %m = stablehlo.add %k, %one : {t}
    stablehlo.return %m, %a, %w : {t}, tensor<5x2xf32>, tensor<5x2xf32>
  }}) : ({t}, tensor<5x2xf32>, tensor<5x2xf32>) -> ({t}, tensor<5x2xf32>, tensor<5x2xf32>)
  func.return %r#2, %r#0 : tensor<5x2xf32>, {t}
}}"""


SAME = "%at = stablehlo.add %k, %z : tensor<i32>"
FROM_END = """%four = stablehlo.constant dense<4> : tensor<i32>
    %at = stablehlo.subtract %four, %k : tensor<i32>"""
JAX_INDEX = """%five = stablehlo.constant dense<5> : tensor<i32>
    %low = stablehlo.compare LT, %k, %z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %up = stablehlo.add %k, %five : tensor<i32>
    %at = stablehlo.select %low, %up, %k : tensor<i1>, tensor<i32>"""
SHIFTED = "%at = stablehlo.add %k, %one : tensor<i32>"
TWICE = "%at = stablehlo.add %k, %k : tensor<i32>"
WIDER = """%wide = stablehlo.convert %k : (tensor<i32>) -> tensor<i64>
    %at = stablehlo.convert %wide : (tensor<i64>) -> tensor<i32>"""

RECOGNISED = [counted("0", "1", index) for index in (SAME, FROM_END, JAX_INDEX, WIDER)]
STAY = [
    counted("0", "1", SHIFTED),
    counted("0", "1", TWICE),
    counted("1", "1", SAME),
    counted("0", "2", SAME),
    counted("0", "1", SAME, count=4),
    counted("0", "1", SAME, count=7),
]


def results(text: str) -> list[np.ndarray]:
    module = fd.parse(text)
    rng = np.random.default_rng(0)
    (main,) = module.body.block.ops
    shapes = [tuple(type.get_shape()) for type in main.function_type.inputs]
    return fd.run(module, *(rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes))


@pytest.mark.parametrize("text", [*PROGRAMS, *RECOGNISED, *STAY])
def test_recognition_changes_no_result(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    got = results(text)
    monkeypatch.setattr(convert_stablehlo_to_fuse, "convert_scan", lambda op: None)
    for one, other in zip(got, results(text), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("text", "is_scan"), [*((text, True) for text in RECOGNISED), *((text, False) for text in STAY)]
)
def test_only_an_index_that_counts_all_rows_is_a_scan(text: str, is_scan: bool) -> None:
    module = fd.parse(text)
    convert_stablehlo_to_fuse.ConvertStableHLOToFusePass().apply(None, module)
    assert (" rows(" in str(module)) == is_scan
