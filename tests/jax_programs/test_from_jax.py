"""`from_jax`: arguments by name, exported functions, numbers of Python, and the lines of what JAX inlines."""

import inspect

import numpy as np
import pytest
from xdsl.dialects import func

import fuse_dialect as fd

jax = pytest.importorskip("jax")
pytest.importorskip("llvmlite")
jnp = jax.numpy

pytestmark = pytest.mark.slow


def main_of(module):
    return next(op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main")


def names_of(module):
    return [entry.data["onnx.name"].data for entry in main_of(module).arg_attrs]


def test_arguments_by_name() -> None:
    module = fd.from_jax(lambda x, *, scale, shift: x * scale + shift, jnp.ones(3), shift=1.0, scale=jnp.float32(2))
    assert names_of(module) == ["x", "scale", "shift"]
    x, two, one = np.ones(3, np.float32), np.float32(2), np.float32(1)
    np.testing.assert_array_equal(fd.run(module, x, two, one)[0], [3, 3, 3])
    np.testing.assert_array_equal(fd.run(module, {"x": x, "shift": one, "scale": two})[0], [3, 3, 3])
    np.testing.assert_array_equal(fd.compile(module)(x, 2.0, 1.0)[0], [3, 3, 3])


def test_numbers_of_python_are_arrays_of_weak_types() -> None:
    module = fd.from_jax(lambda x, y, n: (x * y, n), jnp.ones(3, jnp.bfloat16), 2.0, 3)
    types = [str(type) for type in main_of(module).function_type.inputs]
    assert types == ["tensor<3xbf16>", "tensor<f32>", "tensor<i32>"]
    assert str(main_of(module).function_type.outputs.data[0]) == "tensor<3xbf16>"


def test_exported_functions_take_what_nothing_reads() -> None:
    exported = jax.export.export(jax.jit(lambda unread, p, key: (p["w"] * 2, p["b"])))(
        jnp.ones((2, 2), jnp.int8), {"w": jnp.ones(3), "b": jnp.ones(1), "no": jnp.ones(4)}, jax.random.key(0)
    )
    assert len(exported.module_kept_var_idx) == 2
    module = fd.from_jax(exported)
    types = [str(type) for type in main_of(module).function_type.inputs]
    assert types == ["tensor<2x2xi8>", "tensor<1xf32>", "tensor<4xf32>", "tensor<3xf32>", "tensor<2xui32>"]
    arrays = [np.ones(each.shape, each.dtype) for each in exported.in_avals[:4]] + [np.zeros(2, np.uint32)]
    np.testing.assert_array_equal(fd.compile(module)(*arrays)[0], [2, 2, 2])


def test_exported_functions_of_open_sizes_and_what_is_refused() -> None:
    shape = jax.ShapeDtypeStruct(jax.export.symbolic_shape("b, 4"), np.float32)
    exported = jax.export.export(jax.jit(lambda x, unread: x.sum(0)))(shape, shape)
    module = fd.from_jax(exported)
    x = np.ones((3, 4), np.float32)
    np.testing.assert_array_equal(fd.run(module, x, x)[0], [3, 3, 3, 3])
    with pytest.raises(fd.FuseError, match="is exported already"):
        fd.from_jax(exported, x)
    both = jax.export.export(jax.jit(jnp.sin), platforms=["cpu", "cuda"])(jnp.ones(2))
    with pytest.raises(fd.FuseError, match="is exported for 'cpu', 'cuda'"):
        fd.from_jax(both)


def predict(key, x):
    h = jnp.linalg.norm(jax.nn.gelu(x), axis=-1)  # norm
    return h + jax.random.normal(key, h.shape)  # normal


def test_ops_of_functions_of_jax_stand_where_these_are_called() -> None:
    from xdsl.context import Context

    from fuse_dialect.dialect.places import place_of
    from fuse_dialect.fusion.inline import InlinePass

    def ops(module):
        return [op for op in module.walk() if op.name.startswith(("stablehlo.", "chlo.")) and op.results]

    module = fd.from_jax(predict, jax.random.key(0), jnp.ones((3, 4)))
    assert not any(op.name.startswith("sdy.") for op in module.walk())
    InlinePass().apply(Context(), module)
    lines, first = inspect.getsourcelines(predict)
    line = {word: first + next(n for n, text in enumerate(lines) if f"# {word}" in text) for word in ("norm", "normal")}
    places = [place_of(op.location) for op in ops(module)]
    assert {place.filename.data for place in places if place is not None} == {__file__}
    found = {op.name: place.line.data for op, place in zip(ops(module), places, strict=True) if place is not None}
    assert found["stablehlo.sqrt"] == line["norm"]
    assert found["chlo.erf_inv"] == line["normal"]
    unplaced = [op for op, place in zip(ops(module), places, strict=True) if place is None]
    assert {op.name for op in unplaced} <= {"stablehlo.constant"}


def test_what_jax_refuses_names_the_line() -> None:
    def f(x):
        return x if x[0] > 0 else -x

    with pytest.raises(fd.FuseError, match="an 'if' or 'while' of Python") as caught:
        fd.from_jax(f, jnp.ones(3))
    assert caught.value.location.file == __file__


def test_functions_of_fd_jit_and_of_jax_jit() -> None:
    for f in (fd.jit(lambda p, n: p["x"] * n, static_argnames="n"), jax.jit(lambda p, n: p["x"] * n, static_argnums=1)):
        module = fd.from_jax(f, {"x": jnp.ones(2)}, 3)
        np.testing.assert_array_equal(fd.run(module, np.ones(2, np.float32))[0], [3, 3])
