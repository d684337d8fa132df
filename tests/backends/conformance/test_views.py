"""Views: what only reshapes is not run, so its shape must be that of the elements that it shows."""

import numpy as np
import pytest

from fuse_dialect.backends.backend import Backend
from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module

FALSE_VIEWS = {
    "a static result": ("?x4", "fuse.reshape %x : (tensor<?x4xf32>) -> tensor<12xf32>", "12", (2, 4), ("2x4", "12")),
    "far too many elements": (
        "?x4",
        "fuse.reshape %x : (tensor<?x4xf32>) -> tensor<400000000xf32>",
        "400000000",
        (2, 4),
        ("2x4", "400000000"),
    ),
    "elements that do not fill the last axis": (
        "?x4",
        "fuse.reshape %x : (tensor<?x4xf32>) -> tensor<?x12xf32>",
        "?x12",
        (4, 4),
        ("4x4", "?x12"),
    ),
    "a squeezed axis of two": (
        "?x4",
        "fuse.squeeze %x, axes = [0] : (tensor<?x4xf32>) -> tensor<4xf32>",
        "4",
        (2, 4),
        ("2x4", "4"),
    ),
    "a false shape between two right ones": (
        "?x4",
        "fuse.reshape %t : (tensor<3x4xf32>) -> tensor<?x4xf32>",
        "?x4",
        (2, 4),
        ("2x4", "3x4"),
    ),
}


def _program(source: str, op: str, target: str) -> str:
    first = "%t = fuse.reshape %x : (tensor<?x4xf32>) -> tensor<3x4xf32>" if "%t" in op else ""
    return f"""func.func @main(%x: tensor<{source}xf32>) -> tensor<{target}xf32> {{
      {first}
      %y = {op}
      return %y : tensor<{target}xf32>
    }}"""


@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize("case", FALSE_VIEWS)
def test_a_view_of_false_size_is_refused(backend: Backend, case: str, opt_level: int) -> None:
    source, op, target, shape, named = FALSE_VIEWS[case]
    module, x = parse_mlir(_program(source, op, target)), np.ones(shape, np.float32)
    program = compile_program(module, CompileOptions(backend=backend, fuse=FuseOpsPass(opt_level=opt_level)))
    for run in (lambda: program(x), lambda: program.run_into([x], [np.empty(12, np.float32)])):
        with pytest.raises(FuseError, match=r"'fuse\.(reshape|squeeze)'") as error:
            run()
        assert all(each in str(error.value) for each in named)


def test_a_view_between_steps_whose_sizes_are_known_late_is_refused(backend: Backend) -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<6xi64> {
      %p = fuse.argwhere %x : (tensor<4xf32>) -> tensor<?x1xi64>
      %n = fuse.negative %p : tensor<?x1xi64>
      %y = fuse.reshape %n : (tensor<?x1xi64>) -> tensor<6xi64>
      return %y : tensor<6xi64>
    }"""
    program = compile_program(parse_mlir(text), CompileOptions(backend=backend))
    with pytest.raises(FuseError, match=r"'fuse\.reshape' op cannot be run: .*3x1, got 6"):
        program(np.array([1, 0, 2, 3], np.float32))


@pytest.mark.parametrize(
    "body",
    [
        "%y = fuse.broadcast_to %p : (tensor<4xf32>) -> tensor<100000x4xf32>",
        "%q = fuse.reshape %c : (tensor<4xf32>) -> tensor<2x2xf32>\n%y = fuse.reshape %q : (tensor<2x2xf32>)",
    ],
)
def test_a_function_that_is_marked_as_a_view_is_one_only_by_its_ops(backend: Backend, body: str) -> None:
    target = "100000x4" if "broadcast" in body else "4"
    text = f"""func.func @main(%x: tensor<4xf32>) -> tensor<{target}xf32> {{
      %y = func.call @f(%x) : (tensor<4xf32>) -> tensor<{target}xf32>
      return %y : tensor<{target}xf32>
    }}
    func.func private @f(%p: tensor<4xf32>) -> tensor<{target}xf32> attributes {{primitive, fuse.reshape_only}} {{
      %c = arith.constant dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf32>
      {body}{" -> tensor<4xf32>" if target == "4" else ""}
      return %y : tensor<{target}xf32>
    }}"""
    module, x = parse_mlir(text), np.arange(4, dtype=np.float32)
    (got,) = compile_program(module, CompileOptions(backend=backend))(x)
    np.testing.assert_array_equal(got, run_module(module, [x])[0])


def test_views_of_open_sizes_show_the_right_elements(backend: Backend) -> None:
    text = """func.func @main(%x: tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<12xf32>) {
      %a = fuse.reshape %x : (tensor<?x4xf32>) -> tensor<?x2xf32>
      %b = fuse.expand_dims %x, axis = 0 : (tensor<?x4xf32>)
      %c = fuse.reshape %b : (tensor<1x?x4xf32>) -> tensor<12xf32>
      return %a, %c : tensor<?x2xf32>, tensor<12xf32>
    }"""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    pairs, flat = compile_program(parse_mlir(text), CompileOptions(backend=backend))(x)
    np.testing.assert_array_equal(pairs, x.reshape(6, 2))
    np.testing.assert_array_equal(flat, x.reshape(12))
