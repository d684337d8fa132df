"""A compiled program as an op of functions that JAX traces."""

import numpy as np
import pytest

import fuse_dialect as fd

jax = pytest.importorskip("jax")
pytest.importorskip("llvmlite")
jnp = jax.numpy

pytestmark = pytest.mark.slow

LAYER = """
func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>) {
  %0 = fuse.matmul %x, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = fuse.relu %0 : tensor<8x4xf32>
  %2 = fuse.sum %1, axes = [1] : (tensor<8x4xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<8x4xf32>, tensor<8xf32>
}"""
OPEN = """
func.func @main(%x: tensor<?x4xf32> {fuse.sizes = ["batch", ""]}) -> tensor<?x4xf32> {
  %0 = fuse.tanh %x : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}"""
ONE_OP = """
func.func @main(%x: tensor<4xTYPE>) -> tensor<4xTYPE> {
  %0 = OP %x : tensor<4xTYPE>
  return %0 : tensor<4xTYPE>
}"""


@pytest.fixture(scope="module")
def layer():
    return fd.compile(fd.parse(LAYER), cache=False)


@pytest.fixture(scope="module")
def arrays():
    random = np.random.default_rng(0)
    return [jnp.asarray(random.normal(size=shape), jnp.float32) for shape in ((8, 16), (16, 4))]


def by_jax(x, w):
    y = jnp.maximum(x @ w, 0)
    return y, y.sum(1)


def assert_same(ours, theirs) -> None:
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-5, atol=1e-5)


def test_a_program_is_an_op_of_a_jitted_function(layer, arrays) -> None:
    def around(f):
        return jax.jit(lambda x, w: jnp.sin(f(2 * x, w)[0]) + f(x, w)[1][:, None])

    assert_same(around(layer)(*arrays), around(by_jax)(*arrays))


def test_inputs_come_by_name_and_some_are_arrays(layer, arrays) -> None:
    x, w = arrays
    expected = by_jax(x, w)
    assert_same(jax.jit(lambda x: layer(x, w=np.asarray(w)))(x), expected)
    assert_same(jax.jit(lambda x: layer({"x": x, "w": w}))(x), expected)


def test_outside_of_jax_results_are_arrays_of_numpy(layer, arrays) -> None:
    assert all(type(result) is np.ndarray for result in layer(*arrays))


def test_under_vmap_it_runs_for_each_row(layer, arrays) -> None:
    x, w = arrays
    many = jnp.stack([x, -x, x + 1])
    assert_same(jax.vmap(lambda x: layer(x, w))(many), jax.vmap(lambda x: by_jax(x, w))(many))
    assert_same(jax.jit(jax.vmap(layer, (0, None)))(many, w), jax.vmap(by_jax, (0, None))(many, w))


def test_in_a_scan(arrays) -> None:
    tanh = fd.compile(fd.parse(OPEN), cache=False)
    x = arrays[0][:, :4]

    def run(f):
        return jax.jit(lambda x: jax.lax.scan(lambda state, _: (f(state) + x, state.sum()), x, length=5))(x)

    assert_same(run(lambda state: tanh(state)[0]), run(jnp.tanh))


def test_open_sizes_follow_from_those_of_the_inputs(arrays) -> None:
    tanh = fd.compile(fd.parse(OPEN), cache=False)
    jitted = jax.jit(lambda x: tanh(x)[0] * 2)
    for rows in (3, 7, 1):
        x = jnp.arange(4.0 * rows).reshape(rows, 4)
        assert_same(jitted(x), jnp.tanh(x) * 2)


def test_a_part_without_gradient_may_hold_a_program(layer, arrays) -> None:
    x, w = arrays

    def loss(f):
        return lambda x: (x[:, :4] * jax.lax.stop_gradient(f(jax.lax.stop_gradient(x), w)[0])).sum()

    assert_same(jax.grad(loss(layer))(x), jax.grad(loss(by_jax))(x))


def test_a_program_has_no_gradient(layer, arrays) -> None:
    x, w = arrays
    with pytest.raises(fd.FuseError, match=r"no gradient.*\n.*jax\.custom_vjp"):
        jax.grad(lambda x: layer(x, w)[1].sum())(x)


def test_two_programs_make_a_function_with_a_gradient(arrays) -> None:
    x, w = arrays
    forward = fd.compile(fd.from_jax(lambda x, w: jnp.tanh(x @ w), x, w), cache=False)
    backward = fd.compile(
        fd.from_jax(lambda x, w, ct: jax.vjp(lambda x, w: jnp.tanh(x @ w), x, w)[1](ct), x, w, jnp.ones((8, 4))),
        cache=False,
    )

    @jax.custom_vjp
    def f(x, w):
        return forward(x, w)[0]

    f.defvjp(lambda x, w: (f(x, w), (x, w)), lambda kept, ct: backward(*kept, ct))
    step = jax.jit(jax.grad(lambda x, w: (f(x, w) ** 2).sum(), (0, 1)))
    assert_same(step(x, w), jax.grad(lambda x, w: (jnp.tanh(x @ w) ** 2).sum(), (0, 1))(x, w))


@pytest.mark.parametrize(
    ("shape", "dtype", "message"),
    [
        ((8, 15), "float32", r"input 'x' expects a value of type tensor<8x16xf32>, got float32 of shape \(8, 15\)"),
        ((8,), "float32", r"got float32 of shape \(8,\)"),
        ((8, 16), "int32", r"got int32 of shape \(8, 16\)\n.*x?value\.astype\('float32'\)"),
    ],
)
def test_what_does_not_fit_is_an_error_while_jax_traces(layer, arrays, shape, dtype, message) -> None:
    with pytest.raises(fd.FuseError, match=message):
        jax.jit(lambda x: layer(x, arrays[1]))(jnp.zeros(shape, dtype))


def test_too_few_inputs_are_an_error(layer, arrays) -> None:
    with pytest.raises(fd.FuseError, match="expects 2 inputs"):
        jax.jit(layer)(arrays[0])


def test_symbolic_sizes_are_an_error() -> None:
    tanh = fd.compile(fd.parse(OPEN), cache=False)
    rows = jax.ShapeDtypeStruct(jax.export.symbolic_shape("b, 4"), jnp.float32)
    with pytest.raises(fd.FuseError, match="sizes that are numbers"):
        jax.export.export(jax.jit(tanh))(rows)


@pytest.mark.parametrize(("name", "op"), [("f64", "fuse.tanh"), ("i64", "fuse.negative"), ("bf16", "fuse.negative")])
def test_64_bits_are_32_in_jax(name, op) -> None:
    program = fd.compile(fd.parse(ONE_OP.replace("TYPE", name).replace("OP", op)), cache=False)
    dtype = {"f64": jnp.float32, "i64": jnp.int32, "bf16": jnp.bfloat16}[name]
    x = jnp.arange(4).astype(dtype)
    expected = jnp.tanh(x) if op == "fuse.tanh" else -x
    assert_same(jax.jit(lambda x: program(x)[0])(x), expected)


def test_large_arrays_pass_through() -> None:
    negative = fd.compile(
        fd.parse(ONE_OP.replace("TYPE", "f32").replace("OP", "fuse.negative").replace("<4x", "<4194304x")), cache=False
    )
    x = jnp.arange(4194304.0)
    jitted = jax.jit(lambda x: negative(x + 1)[0].sum() + negative(x)[0])
    np.testing.assert_array_equal(np.asarray(jitted(x)[:2]), np.asarray((-(x + 1)).sum() - x)[:2])
