"""How many stages well-known primitives have, and what they look like."""

import numpy as np
import pytest
from fuzzing.comparing import assert_agrees
from xdsl.dialects import func

import fuse_dialect as fd
from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.loops.bodies import reads
from fuse_dialect.loops.indices import loop, number
from fuse_dialect.loops.printing import program_text
from fuse_dialect.loops.program import Apply, Combiner, LoopProgram, Role
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower


def simplified(text: str, unknown: int = 3) -> LoopProgram:
    """The simplified program of a function, checked against NumPy with `unknown` for every `?`."""
    module = parse_mlir(f"func.func @main{text}", "test.mlir", context())
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    program = lower(function)
    assert isinstance(program, LoopProgram), program.reason
    simple = simplify(program)
    random = np.random.default_rng(0)
    inputs: list[np.ndarray] = []
    for argument in function.body.block.args:
        assert is_tensor(argument.type)
        shape = [unknown if size == DYNAMIC else size for size in argument.type.get_shape()]
        inputs.append(random.uniform(0.5, 2, shape).astype(np.float32))
    assert_agrees(module, inputs, run_loops(simple, inputs))
    return simple


def names(program: LoopProgram) -> list[str]:
    return [stage.name for stage in program.stages]


def test_convolution_takes_its_epilogue_in() -> None:
    program = simplified(
        """(%x: tensor<2x4x8x8xf32>, %w: tensor<8x4x3x3xf32>, %b: tensor<8xf32>, %r: tensor<2x8x8x8xf32>)
            -> tensor<2x8x8x8xf32> {
          %conv = fuse.conv2d %x, %w, padding = [1, 1, 1, 1] : (tensor<2x4x8x8xf32>, tensor<8x4x3x3xf32>)
          %biased = fuse.bias_add %conv, %b : (tensor<2x8x8x8xf32>, tensor<8xf32>)
          %sum = fuse.add %biased, %r : tensor<2x8x8x8xf32>
          %y = fuse.relu %sum : tensor<2x8x8x8xf32>
          return %y : tensor<2x8x8x8xf32>
        }"""
    )
    assert names(program) == ["conv2d_bias_add_add_relu"]
    (stage,) = program.stages
    assert [axis.size for axis in stage.axes if axis.is_reduced] == [4, 3, 3]
    assert [read.buffer for read in reads(stage.body)] == ["x", "w"]
    assert [read.buffer for read in reads(stage.finish)] == ["b", "r"]


def test_pointwise_convolution_reduces_channels_alone() -> None:
    program = simplified(
        """(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x1x1xf32>) -> tensor<1x6x5x5xf32> {
          %y = fuse.conv2d %x, %w : (tensor<1x4x5x5xf32>, tensor<6x4x1x1xf32>)
          return %y : tensor<1x6x5x5xf32>
        }"""
    )
    (stage,) = program.stages
    assert [axis.size for axis in stage.axes if axis.is_reduced] == [4]
    assert not any(read.guards for read in reads(stage.body))


def test_dense_takes_bias_and_gelu_in() -> None:
    program = simplified(
        """(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>, %b: tensor<6xf32>) -> tensor<4x6xf32> {
          %product = fuse.dense %x, %w : (tensor<4x8xf32>, tensor<6x8xf32>)
          %biased = fuse.bias_add %product, %b : (tensor<4x6xf32>, tensor<6xf32>)
          %y = fuse.gelu %biased : tensor<4x6xf32>
          return %y : tensor<4x6xf32>
        }"""
    )
    assert names(program) == ["dense_bias_add_gelu"]


def test_elementwise_chain_with_broadcasts_is_one_map() -> None:
    program = simplified(
        """(%x: tensor<4x8xf32>, %row: tensor<8xf32>, %column: tensor<4x1xf32>) -> tensor<4x8xf32> {
          %exp = fuse.exp %x : tensor<4x8xf32>
          %scaled = fuse.multiply %exp, %row : (tensor<4x8xf32>, tensor<8xf32>)
          %shifted = fuse.add %scaled, %column : (tensor<4x8xf32>, tensor<4x1xf32>)
          %again = fuse.subtract %shifted, %exp : tensor<4x8xf32>
          %y = fuse.sigmoid %again : tensor<4x8xf32>
          return %y : tensor<4x8xf32>
        }"""
    )
    (stage,) = program.stages
    assert stage.reduction is None
    assert program_text(program).count("math.exp") == 2  # one of them is the sigmoid's


def test_softmax_is_maximum_exponentials_sum_and_quotients() -> None:
    program = simplified(
        """(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
          %y = fuse.softmax %x : tensor<4x8xf32>
          return %y : tensor<4x8xf32>
        }"""
    )
    reductions = [stage.reduction.combiner if stage.reduction else None for stage in program.stages]
    assert reductions == [Combiner.MAXIMUM, None, Combiner.ADD, None]
    assert program_text(program).count("math.exp") == 1


def test_layer_norm_is_mean_deviation_and_one_map() -> None:
    program = simplified(
        """(%x: tensor<4x8xf32>, %gamma: tensor<8xf32>, %beta: tensor<8xf32>) -> tensor<4x8xf32> {
          %y = fuse.layer_norm %x, %gamma, %beta : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
          return %y : tensor<4x8xf32>
        }"""
    )
    reductions = [stage.reduction.combiner if stage.reduction else None for stage in program.stages]
    assert reductions == [Combiner.ADD, Combiner.ADD, None]
    assert "math.sqrt" in program_text(program).split("stage ")[2]


def test_batch_norm_computes_its_scale_once_a_channel() -> None:
    program = simplified(
        """(%x: tensor<2x3x4x4xf32>, %g: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>)
            -> tensor<2x3x4x4xf32> {
          %y = fuse.batch_norm %x, %g, %b, %m, %v
            : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
          return %y : tensor<2x3x4x4xf32>
        }"""
    )
    assert [len(stage.axes) for stage in program.stages] == [1, 4]


def test_mean_divides_at_its_end() -> None:
    program = simplified(
        """(%x: tensor<4x8xf32>) -> tensor<4xf32> {
          %exp = fuse.exp %x : tensor<4x8xf32>
          %mean = fuse.mean %exp, axes = [1] : (tensor<4x8xf32>)
          %y = fuse.sqrt %mean : tensor<4xf32>
          return %y : tensor<4xf32>
        }"""
    )
    assert names(program) == ["exp_mean_sqrt"]
    assert "8.0 : f32" in program_text(program)


def test_transpose_is_an_index() -> None:
    program = simplified(
        """(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
          %moved = fuse.transpose %x, permutation = [1, 0] : (tensor<4x8xf32>)
          %y = fuse.exp %moved : tensor<8x4xf32>
          return %y : tensor<8x4xf32>
        }"""
    )
    assert names(program) == ["transpose_exp"]
    assert "x[i1, i0]" in program_text(program)


@pytest.mark.parametrize(("index", "place"), [(5, 5), (-1, 63), (-70, 0), (99, 63)])
def test_a_place_that_is_known_is_no_computed_one(index: int, place: int) -> None:
    """An index of 64 bits in the body would halve the vectors, and nothing merges along what is computed."""
    (stage,) = simplified(
        f"""(%x: tensor<4x64x16xf32>) -> tensor<4x16xf32> {{
          %i = arith.constant dense<{index}> : tensor<i64>
          %t = fuse.take %x, %i, axis = 1 : (tensor<4x64x16xf32>, tensor<i64>) -> tensor<4x16xf32>
          %y = fuse.relu %t : tensor<4x16xf32>
          return %y : tensor<4x16xf32>
        }}"""
    ).stages
    (read,) = reads(stage.body)
    assert read.indices == (loop(0), number(place), loop(1))
    assert all(getattr(each, "element", "f32") == "f32" for each in stage.body)


def test_reshapes_that_undo_each_other_leave_plain_indices() -> None:
    program = simplified(
        """(%x: tensor<4x6x8xf32>) -> tensor<4x6x8xf32> {
          %joined = fuse.reshape %x : (tensor<4x6x8xf32>) -> tensor<24x8xf32>
          %active = fuse.relu %joined : tensor<24x8xf32>
          %other = fuse.reshape %active : (tensor<24x8xf32>) -> tensor<2x96xf32>
          %y = fuse.reshape %other : (tensor<2x96xf32>) -> tensor<4x6x8xf32>
          return %y : tensor<4x6x8xf32>
        }"""
    )
    assert len(program.stages) == 1
    assert "x[i0, i1, i2]" in program_text(program)


def test_reduction_ends_with_a_reshape() -> None:
    program = simplified(
        """(%x: tensor<6x8xf32>, %w: tensor<4x8xf32>) -> tensor<2x3x4xf32> {
          %product = fuse.dense %x, %w : (tensor<6x8xf32>, tensor<4x8xf32>)
          %y = fuse.reshape %product : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
          return %y : tensor<2x3x4xf32>
        }"""
    )
    (stage,) = program.stages
    assert len(stage.store) == 3


@pytest.mark.parametrize("unknown", [0, 1, 3])
def test_a_product_of_an_open_batch_ends_with_its_heads(unknown: int) -> None:
    program = simplified(
        """(%x: tensor<?x1x16xf32>, %w: tensor<16x12xf32>) -> tensor<?x3x1x4xf32> {
          %p = fuse.batch_matmul %x, %w : (tensor<?x1x16xf32>, tensor<16x12xf32>) -> tensor<?x1x12xf32>
          %h = fuse.reshape %p : (tensor<?x1x12xf32>) -> tensor<?x1x3x4xf32>
          %y = fuse.transpose %h, permutation = [0, 2, 1, 3] : (tensor<?x1x3x4xf32>) -> tensor<?x3x1x4xf32>
          return %y : tensor<?x3x1x4xf32>
        }""",
        unknown,
    )
    assert names(program) == ["batch_matmul_reshape_transpose"]


def test_concatenation_of_two_maps_is_two_maps() -> None:
    program = simplified(
        """(%x: tensor<4x6xf32>, %y: tensor<4x2xf32>) -> tensor<4x8xf32> {
          %one = fuse.exp %x : tensor<4x6xf32>
          %other = fuse.tanh %y : tensor<4x2xf32>
          %joined = fuse.concatenate %one, %other, axis = 1 : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
          %z = fuse.relu %joined : tensor<4x8xf32>
          return %z : tensor<4x8xf32>
        }"""
    )
    assert names(program) == ["exp_concatenate_relu", "tanh_concatenate_relu"]
    assert [stage.store[1].constant if stage.store else 0 for stage in program.stages] == [0, 6]


@pytest.mark.parametrize(("high", "starts"), [(-7, [0]), (-1, [0, 6]), (0, [0, 6]), (2, [0, 6, 8])])
def test_what_reads_beside_pieces_has_a_piece_of_its_own(high: int, starts: list[int]) -> None:
    program = simplified(
        f"""(%x: tensor<6xf32>, %y: tensor<2xf32>, %z: tensor<f32>) -> tensor<{8 + high}xf32> {{
          %joined = fuse.concatenate %x, %y, axis = 0 : (tensor<6xf32>, tensor<2xf32>) -> tensor<8xf32>
          %p = fuse.pad %joined, %z, low = [0], high = [{high}] : (tensor<8xf32>, tensor<f32>)
          return %p : tensor<{8 + high}xf32>
        }}"""
    )
    assert [stage.store[0].constant if stage.store else 0 for stage in program.stages] == starts


def test_expensive_value_that_a_product_reads_often_is_stored() -> None:
    program = simplified(
        """(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> tensor<4x6xf32> {
          %e = fuse.exp %x : tensor<4x8xf32>
          %c = fuse.relu %w : tensor<6x8xf32>
          %y = fuse.dense %e, %c : (tensor<4x8xf32>, tensor<6x8xf32>)
          return %y : tensor<4x6xf32>
        }"""
    )
    assert names(program) == ["exp", "relu_dense"]


def test_padding_of_a_chain_is_one_choice() -> None:
    program = simplified(
        """(%x: tensor<4x6xf32>, %s: tensor<f32>, %z: tensor<f32>) -> tensor<6x9xf32> {
          %a = fuse.divide %x, %s : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
          %b = fuse.round %a : tensor<4x6xf32>
          %c = fuse.add %b, %s : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
          %d = fuse.clip %c, min = 0.0, max = 255.0 : tensor<4x6xf32>
          %y = fuse.pad %d, %z, low = [1, 1], high = [1, 2] : (tensor<4x6xf32>, tensor<f32>) -> tensor<6x9xf32>
          return %y : tensor<6x9xf32>
        }"""
    )
    (stage,) = program.stages
    assert [inner.function for inner in stage.body if isinstance(inner, Apply)] == [
        "arith.divf",
        "math.roundeven",
        "arith.addf",
        "arith.maximumf",
        "arith.minimumf",
        "arith.select",
    ]
    # The image is read inside alone, and numbers wherever it is.
    assert {read.buffer: bool(read.guards) for read in reads(stage.body)} == {"x": True, "s": False, "z": False}


def test_padding_of_a_map_guards_what_the_map_reads() -> None:
    program = simplified(
        """(%x: tensor<4xf32>) -> tensor<7xf32> {
          %zero = arith.constant dense<0.0> : tensor<f32>
          %e = fuse.exp %x : tensor<4xf32>
          %y = fuse.pad %e, %zero, low = [1], high = [2] : (tensor<4xf32>, tensor<f32>)
          return %y : tensor<7xf32>
        }"""
    )
    (stage,) = program.stages
    (read,) = reads(stage.body)
    assert len(read.guards) == 1
    assert "arith.select" in program_text(program)


@pytest.mark.parametrize("unknown", [1, 3])
def test_dynamic_sizes_have_one_name_where_they_are_equal(unknown: int) -> None:
    program = simplified(
        """(%x: tensor<?x?x8xf32>, %y: tensor<?x?x8xf32>, %w: tensor<6x8xf32>) -> tensor<?x?x6xf32> {
          %sum = fuse.add %x, %y : tensor<?x?x8xf32>
          %s = fuse.softmax %sum : tensor<?x?x8xf32>
          %z = fuse.dense %s, %w : (tensor<?x?x8xf32>, tensor<6x8xf32>) -> tensor<?x?x6xf32>
          return %z : tensor<?x?x6xf32>
        }""",
        unknown,
    )
    shapes = {buffer.shape for buffer in program.buffers if buffer.role is not Role.LOCAL}
    assert shapes == {("n0", "n1", 8), (6, 8), ("n0", "n1", 6)}


def test_mean_over_a_dynamic_size_divides_by_its_extent() -> None:
    program = simplified(
        """(%x: tensor<?x8xf32>) -> tensor<8xf32> {
          %y = fuse.mean %x, axes = [0] : (tensor<?x8xf32>)
          return %y : tensor<8xf32>
        }"""
    )
    assert "extent n0 : i64" in program_text(program)


def test_convolution_of_a_dynamic_batch_is_one_stage() -> None:
    program = simplified(
        """(%x: tensor<?x4x8x8xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<?x8x6x6xf32> {
          %conv = fuse.conv2d %x, %w : (tensor<?x4x8x8xf32>, tensor<8x4x3x3xf32>)
          %y = fuse.relu %conv : tensor<?x8x6x6xf32>
          return %y : tensor<?x8x6x6xf32>
        }"""
    )
    assert names(program) == ["conv2d_relu"]


def test_values_that_nobody_needs_are_not_computed() -> None:
    program = simplified(
        """(%x: tensor<4xf32>) -> tensor<4xf32> {
          %unused = fuse.exp %x : tensor<4xf32>
          %more = fuse.softmax %unused : tensor<4xf32>
          %y = fuse.relu %x : tensor<4xf32>
          return %y : tensor<4xf32>
        }"""
    )
    assert names(program) == ["relu"]


def test_argument_and_repeated_results_are_copied() -> None:
    program = simplified(
        """(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
          %y = fuse.exp %x : tensor<4xf32>
          return %x, %y, %y : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
        }"""
    )
    assert [buffer.role for buffer in program.buffers] == [Role.ARGUMENT, Role.RESULT, Role.RESULT, Role.RESULT]


def test_a_reduction_ends_with_maps_of_all_its_elements_alone() -> None:
    sums = "%s = fuse.sum %x, axes = [1] : (tensor<4x5xf32>) -> tensor<4xf32>"
    part = simplified(
        f"""(%x: tensor<4x5xf32>) -> tensor<2xf32> {{
          {sums}
          %y = fuse.strided_slice %s, begin = [0], end = [2], strides = [1] : (tensor<4xf32>) -> tensor<2xf32>
          return %y : tensor<2xf32>
        }}"""
    )
    both = simplified(
        f"""(%x: tensor<4x5xf32>) -> tensor<4xf32> {{
          {sums}
          %r = fuse.reverse %s, axes = [0] : tensor<4xf32>
          %y = fuse.subtract %s, %r : tensor<4xf32>
          return %y : tensor<4xf32>
        }}"""
    )
    twice = simplified(
        f"""(%x: tensor<4x5xf32>) -> tensor<f32> {{
          {sums}
          %y = fuse.max %s : (tensor<4xf32>) -> tensor<f32>
          return %y : tensor<f32>
        }}"""
    )
    assert [len(program.stages) for program in (part, both, twice)] == [2, 2, 2]


def test_the_end_of_a_product_computes_what_it_reads() -> None:
    # A stage of its own for the 8 square roots would take the product out of its family, which is 17 times as slow.
    def stages(depth: int, ending: str = "%m, %r", left: str = "%x") -> list[str]:
        product = f"(tensor<8x{depth}xf32>, tensor<{depth}x32xf32>) -> tensor<8x32xf32>"
        return names(
            simplified(
                f"""(%x: tensor<8x{depth}xf32>, %w: tensor<{depth}x32xf32>, %s: tensor<8x1xf32>) -> tensor<8x32xf32> {{
                  %e = fuse.exp %s : tensor<8x1xf32>
                  %r = fuse.sqrt %e : tensor<8x1xf32>
                  %z = fuse.add %x, %r : (tensor<8x{depth}xf32>, tensor<8x1xf32>) -> tensor<8x{depth}xf32>
                  %m = fuse.matmul {left}, %w : {product}
                  %y = fuse.subtract {ending} : (tensor<8x32xf32>, tensor<8x1xf32>) -> tensor<8x32xf32>
                  return %y : tensor<8x32xf32>
                }}"""
            )
        )

    assert stages(64) == ["exp_sqrt_matmul_subtract"]
    # With a short sum the square roots cost more than the product.
    assert stages(2) == ["exp_sqrt", "matmul_subtract"]
    # What a factor reads is needed once for each column, and stays.
    assert stages(64, ending="%m, %s", left="%z") == ["exp_sqrt", "add_matmul_subtract"]


def test_a_scalar_does_not_end_a_sum_that_has_axes() -> None:
    text = """(%x: tensor<1x4xf32>, %w: tensor<4x1xf32>, %b: tensor<f32>) -> tensor<f32> {
      %m = fuse.matmul %x, %w : (tensor<1x4xf32>, tensor<4x1xf32>) -> tensor<1x1xf32>
      %r = fuse.reshape %m : (tensor<1x1xf32>) -> tensor<f32>
      %y = fuse.add %r, %b : tensor<f32>
      return %y : tensor<f32>
    }"""
    assert names(simplified(text)) == ["matmul", "reshape_add"]
    program = fd.compile(fd.parse(f"func.func @main{text}"), cache=False)
    arrays = np.ones((1, 4), np.float32), np.ones((4, 1), np.float32), np.float32(2)
    assert program(*arrays)[0] == 6
