"""What has no value is refused by every backend, with the op in the message."""

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.backends.backend import Backend
from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.options import CompileOptions

FORMS = [("2x?", "2", ", axes = [1]", (2, 0)), ("?x3", "1x3", ", axes = [0], keepdims = true", (0, 3))]


@pytest.mark.parametrize("op", ["argmin", "argmax"])
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(("shape", "result", "attributes", "sizes"), [*FORMS, ("?x?", "", "", (0, 4))])
def test_nothing_has_no_place_of_its_extreme_element(
    backend: Backend, op: str, fused: bool, shape: str, result: str, attributes: str, sizes: tuple[int, ...]
) -> None:
    type, found = f"tensor<{shape}xf32>", f"tensor<{result}{'x' if result else ''}i64>"
    module = fd.parse(f"""func.func @main(%x: {type}) -> {found} {{
  %a = fuse.relu %x : {type}
  %i = fuse.{op} %a{attributes} : ({type}) -> {found}
  return %i : {found}
}}""")
    program = compile_program(fd.fuse_ops(module) if fused else module, CompileOptions(backend=backend))
    x = np.zeros(sizes, np.float32)
    refused = f"'fuse.{op}' op cannot be run: "
    with pytest.raises(fd.FuseError, match=refused):
        program(x)
    with pytest.raises(fd.FuseError, match=refused):
        fd.run(module, x)
    ones = np.ones([size or 1 for size in sizes], np.float32)
    assert not np.asarray(program(ones)[0]).any()


@pytest.mark.parametrize("fused", [False, True])
def test_pieces_do_not_add_up_to_an_open_size(backend: Backend, fused: bool) -> None:
    """The first piece begins where the operand does, and was taken for all of it: the next was read behind the end."""
    module = fd.parse("""func.func @main(%x: tensor<?x?xf32>) -> (tensor<?x3xf32>, tensor<?x2xf32>) {
  %a = fuse.relu %x : tensor<?x?xf32>
  %p, %q = fuse.split %a, axis = -1, sizes = [3, 2] : (tensor<?x?xf32>) -> (tensor<?x3xf32>, tensor<?x2xf32>)
  return %p, %q : tensor<?x3xf32>, tensor<?x2xf32>
}""")
    program = compile_program(fd.fuse_ops(module) if fused else module, CompileOptions(backend=backend))
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    for got, expected in zip(program(x), (x[:, :3], x[:, 3:]), strict=True):
        np.testing.assert_array_equal(got, expected)
    for columns in (3, 4, 6):
        for run in (program, lambda *inputs: fd.run(module, *inputs)):
            with pytest.raises(fd.FuseError, match=rf"'fuse.split' op cannot be run: .* add up to {columns}, got"):
                run(np.zeros((4, columns), np.float32))


def test_a_window_over_padding_alone_has_no_place(backend: Backend) -> None:
    """The element beside it is nan: it was taken for the first one of the window."""
    module = fd.parse("""func.func @main(%x: tensor<1x1x1x1xf64>) -> tensor<1x1x1x3xi64> {
  %i = fuse.max_pool2d_indices %x, pool_size = [2, 2], padding = [1, 1, 0, 2]
      : (tensor<1x1x1x1xf64>) -> tensor<1x1x1x3xi64>
  return %i : tensor<1x1x1x3xi64>
}""")
    program = compile_program(module, CompileOptions(backend=backend))
    (places,) = program(np.full((1, 1, 1, 1), np.nan))
    assert places.ravel().tolist() == [0, 0, -1]
