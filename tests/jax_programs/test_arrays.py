"""What goes in and out of `fd.jit`: types, forms of arrays, memory that nobody else may write."""

import numpy as np
import pytest

import fuse_dialect as fd

jax = pytest.importorskip("jax")
pytest.importorskip("llvmlite")
jnp = jax.numpy

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "name", ["bool", "int8", "uint8", "int16", "int32", "uint32", "float16", "bfloat16", "float32", "int4"]
)
def test_types(name) -> None:
    def f(x):
        return jnp.flip(x), (x + x if name != "bool" else ~x), x.astype(jnp.float32)

    x = jnp.arange(6).astype(name)
    for given in (x, np.asarray(x)):
        for one, other in zip(fd.jit(f)(given), jax.jit(f)(given), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(np.asarray(one).astype(np.float32), np.asarray(other).astype(np.float32))


def test_results_are_arrays_of_jax_if_an_argument_is_one() -> None:
    f = fd.jit(lambda x, y: x + y)
    one = np.ones(3, np.float32)
    assert type(f(one, one)) is np.ndarray
    assert type(f(one, 1.0)) is np.ndarray
    assert isinstance(f(one, jnp.asarray(one)), jax.Array)
    made = f(jnp.asarray(one), 1.0)
    assert made.aval == jax.jit(lambda x, y: x + y)(jnp.asarray(one), 1.0).aval
    assert not made.committed


def test_numpy_numbers_become_what_jax_takes_them_for() -> None:
    f = fd.jit(lambda x: x * 2)
    assert f(np.ones(2)).dtype == np.float32
    assert f(np.arange(2)).dtype == np.int32
    assert f(np.float64(2)).dtype == np.float32
    assert f(True).dtype == np.int32


def test_strided_and_reversed_arrays() -> None:
    f = fd.jit(lambda x: x * 2 + 1)
    whole = np.arange(24, dtype=np.float32).reshape(4, 6)
    for x in (whole[::2], whole[:, ::-1], whole.T, np.asfortranarray(whole), whole[1:, 1:]):
        np.testing.assert_array_equal(f(x), np.asarray(x) * 2 + 1)
    whole.flags.writeable = False
    np.testing.assert_array_equal(f(whole), whole * 2 + 1)


def test_arrays_of_another_layout_and_of_several_devices() -> None:
    layout = pytest.importorskip("jax.experimental.layout")
    f = fd.jit(lambda x: x[0] * 2)
    x = jnp.arange(8.0).reshape(2, 4)
    turned = jax.device_put(x, layout.Format(layout.Layout((1, 0)), x.sharding))
    f(x)
    np.testing.assert_array_equal(f(turned), [0, 2, 4, 6])


def test_arrays_without_elements() -> None:
    f = fd.jit(lambda x, y: (x * 2, jnp.concatenate([x, y]).sum(0)))
    for empty in (jnp.zeros((0, 3)), np.zeros((0, 3), np.float32)):
        none, total = f(empty, jnp.ones((2, 3)))
        assert none.shape == (0, 3)
        np.testing.assert_array_equal(total, [2, 2, 2])


@pytest.mark.parametrize("size", [3, 1500, 300_000])
def test_results_have_memory_of_their_own(size) -> None:
    f = fd.jit(lambda x, y: {"same": x, "again": x, "twice": x * 2, "other": y})
    x, y = np.ones(size, np.float32), np.ones(size, np.float32)
    found = f(x, y)
    x[:], y[:] = 5, 6
    kept = {name: array.copy() for name, array in found.items()}
    for name in ("same", "again", "other"):
        np.testing.assert_array_equal(found[name], np.ones(size))
    found["same"][:] = 7
    np.testing.assert_array_equal(found["again"], kept["again"])
    np.testing.assert_array_equal(x, np.full(size, 5))
    for _ in range(3):
        f(x, y)
    np.testing.assert_array_equal(found["twice"], kept["twice"])


@pytest.mark.parametrize("size", [3, 1500, 300_000])
def test_donating_a_result_or_an_argument_changes_nothing_else(size) -> None:
    f = fd.jit(lambda x: (x * 2, x))
    donate = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones(size)
    twice, same = f(x)
    added = donate(twice)
    np.testing.assert_array_equal(added, np.full(size, 3))
    donate(x)
    again = [f(jnp.full(size, float(n)))[0] for n in range(4)]
    np.testing.assert_array_equal(same, np.ones(size))
    np.testing.assert_array_equal(added, np.full(size, 3))
    for n, array in enumerate(again):
        np.testing.assert_array_equal(array, np.full(size, 2.0 * n))


def test_a_deleted_array_is_refused() -> None:
    f = fd.jit(lambda x: x * 2)
    x = jnp.ones(4)
    f(x)
    x.delete()
    with pytest.raises(fd.FuseError, match="deleted"):
        f(x)


def test_typed_keys_go_in_and_come_out() -> None:
    def f(keys):
        return jax.random.normal(keys["a"], (4,)), {"next": jax.random.split(keys["a"], 3), "b": keys["b"]}

    keys = {"a": jax.random.key(3), "b": jax.random.key(4, impl="rbg")}
    found, expected = fd.jit(f)(keys), jax.jit(f)(keys)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)
    for name in ("next", "b"):
        assert found[1][name].dtype == expected[1][name].dtype
        one, other = map(jax.random.key_data, (found[1][name], expected[1][name]))
        np.testing.assert_array_equal(one, other)
    assert jax.random.normal(found[1]["next"][0], (2,)).shape == (2,)
    old = jax.random.PRNGKey(0)
    np.testing.assert_array_equal(fd.jit(jax.random.split)(old), jax.random.split(old))


def test_results_of_jax_that_are_not_ready_are_waited_for() -> None:
    slow = jax.jit(lambda x: jax.lax.fori_loop(0, 200, lambda _, x: jnp.tanh(x @ x), x))
    f = fd.jit(lambda x: x + 1)
    x = jnp.eye(128) * 0.5
    f(x)
    np.testing.assert_array_equal(f(slow(x)), np.asarray(slow(x)) + 1)


def test_large_results_are_handed_over_where_they_are() -> None:
    f = fd.jit(lambda x: x + 1)
    x = jnp.ones(300_000)
    f(x)
    (entry,) = f._entries.values()
    (give,) = entry.givers
    array = entry.direct(entry.read_all([x], []))[0]
    assert give(array).unsafe_buffer_pointer() == array.ctypes.data


def test_numbers_of_numpy_are_no_arrays_of_rank_0() -> None:
    f = fd.jit(lambda x: x + 1)
    for n in range(3):
        assert f(np.array(n, np.float32)) == n + 1
        assert f(np.float32(n)) == n + 1
