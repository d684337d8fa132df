"""What has no value is refused by every backend, with the op in the message."""

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.backends.backend import Backend
from fuse_dialect.backends.compile import compile_program

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
    program = compile_program(fd.fuse_ops(module) if fused else module, backend)
    x = np.zeros(sizes, np.float32)
    refused = f"'fuse.{op}' op cannot be run: "
    with pytest.raises(fd.FuseError, match=refused):
        program(x)
    with pytest.raises(fd.FuseError, match=refused):
        fd.run(module, x)
    ones = np.ones([size or 1 for size in sizes], np.float32)
    assert not np.asarray(program(ones)[0]).any()
