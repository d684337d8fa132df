"""Forms of StableHLO that nothing prints any more, or that only tests write: they mean what the usual forms mean."""

from io import StringIO

import pytest

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.mlir.reader import context
from fuse_dialect.loading.module_file import module_of_text
from fuse_dialect.targets.mlir import FuseMLIRTarget

CONVOLUTION = """
func.func @f(%x: tensor<8x1x8x3xf32>, %w: tensor<3x3x4x3xf32>) -> tensor<1x6x6x4xf32> {{
  %0 = "stablehlo.convolution"(%x, %w) <{{
    dimension_numbers = #stablehlo.conv<{numbers}>, feature_group_count = 1 : i64, batch_group_count = 1 : i64
  }}> : (tensor<8x1x8x3xf32>, tensor<3x3x4x3xf32>) -> tensor<1x6x6x4xf32>
  return %0 : tensor<1x6x6x4xf32>
}}
"""
RAW = """raw
  input_batch_dimension = 1, input_feature_dimension = 3, input_spatial_dimensions = [0, 2],
  kernel_input_feature_dimension = 3, kernel_output_feature_dimension = 2, kernel_spatial_dimensions = [1, 0],
  output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [2, 1]"""
GATHER = """
func.func @f(%x: tensor<8x4xf32>, %i: tensor<2x1xi32>) -> tensor<2x4xf32> {{
  %0 = "stablehlo.gather"(%x, %i) <{{
    dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: 1, 4>
  }}> : (tensor<8x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}}
"""
FIELDS = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"


def printed(text: str) -> str:
    """The module of a text, verified, as `fuse-opt` prints it."""
    out = StringIO()
    FuseMLIRTarget().emit(context(), module_of_text(text, "written.mlir").module, out)
    return out.getvalue()


@pytest.mark.parametrize("end", ["", ",", ",\n  "])
def test_raw_dimension_numbers_say_the_same_as_lists(end: str) -> None:
    lists = "[0, b, 1, f]x[1, 0, o, i]->[b, 1, 0, f]"
    assert printed(CONVOLUTION.format(numbers=RAW + end)) == printed(CONVOLUTION.format(numbers=lists))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("output_batch_dimension = 0", "output_batch_dimension = 3", "dimensions of the output to be each of 0 to 3"),
        ("kernel_spatial_dimensions = [1, 0]", "kernel_spatial_dimensions = [1]", "dimensions of the kernel"),
        ("input_batch_dimension", "kernel_input_feature_dimension", "repeated field 'kernel_input_feature_dimension'"),
        ("input_batch_dimension", "batch", "unknown or repeated field 'batch'"),
    ],
)
def test_raw_dimension_numbers_name_each_axis_once(old: str, new: str, message: str) -> None:
    with pytest.raises(FuseError, match=message):
        printed(CONVOLUTION.format(numbers=RAW.replace(old, new, 1)))


def test_fields_may_end_with_a_comma() -> None:
    assert printed(GATHER.format(numbers=f"{FIELDS},")) == printed(GATHER.format(numbers=FIELDS))


@pytest.mark.parametrize("numbers", [f"{FIELDS},,", ",", f"{FIELDS} offset_dims = [1]"])
def test_fields_stand_between_commas(numbers: str) -> None:
    with pytest.raises(FuseError, match=r"written\.mlir:4"):
        printed(GATHER.format(numbers=numbers))
