"""What a program says of its results before it runs."""

import numpy as np
import pytest

import fuse_dialect as fd


def test_a_program_says_what_it_gives_for_shapes() -> None:
    module = fd.parse(
        """
        func.func @main(%x: tensor<?x4xf32> {fuse.sizes = ["n", ""]}, %y: tensor<?x4xf32> {fuse.sizes = ["n", ""]})
            -> (tensor<?x8xf32>, tensor<4xf32>) {
          %0 = fuse.concatenate %x, %y, axis = 1 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
          %1 = fuse.sum %x, axes = [0] : (tensor<?x4xf32>) -> tensor<4xf32>
          return %0, %1 : tensor<?x8xf32>, tensor<4xf32>
        }
        """
    )
    program = fd.compile(module)
    for rows in (3, 5, 3):
        types = program.output_types((rows, 4), (rows, 4))
        results = program(*np.zeros((2, rows, 4), np.float32))
        assert [(type.dtype, type.shape) for type in types] == [(each.dtype, each.shape) for each in results]
    again = fd.compile(module)  # from the cache
    assert [type.shape for type in again.output_types((2, 4), (2, 4))] == [(2, 8), (4,)]
    for given_shapes, message in (
        ((), "expects shapes of 2 inputs, got 0"),
        (((3, 4),), "expects shapes of 2 inputs, got 1"),
        (((3, 4), (3, 5)), "input 'y' expects a value of type tensor<"),
        (((3, 4), (2, 4)), "n"),
    ):
        with pytest.raises(fd.FuseError, match=message):
            program.output_types(*given_shapes)


def test_sizes_that_elements_decide_are_not_known_before() -> None:
    module = fd.parse(
        """
        func.func @main(%x: tensor<4xf32>) -> tensor<?x1xi64> {
          %0 = fuse.argwhere %x : (tensor<4xf32>) -> tensor<?x1xi64>
          return %0 : tensor<?x1xi64>
        }
        """
    )
    with pytest.raises(fd.FuseError, match="the elements of the inputs decide"):
        fd.compile(module).output_types()
