"""How `fd.jit` is called: static arguments, methods, decorators, trees, what is compiled anew and what is not."""

from typing import NamedTuple

import numpy as np
import pytest

import fuse_dialect as fd

jax = pytest.importorskip("jax")
pytest.importorskip("llvmlite")
jnp = jax.numpy

pytestmark = pytest.mark.slow


def count(jitted) -> int:
    """How many programs there are."""
    return int(repr(jitted).rpartition(":")[2].split()[0])


def test_static_arguments_are_values_and_types() -> None:
    seen = []

    @fd.jit(static_argnames="n")
    def scaled(x, n):
        seen.append(n)
        return x * n

    x = jnp.arange(3.0)
    for n in (1, 1.0, True, 2, 1, True):
        np.testing.assert_array_equal(scaled(x, n), x * n)
        np.testing.assert_array_equal(scaled(x, n=n), x * n)
    assert [type(n) for n in seen[::2]] == [int, float, bool, int]
    assert count(scaled) == 8


def test_static_tuples_are_told_apart_by_the_types_inside() -> None:
    pick = fd.jit(lambda x, by: x * by[0], static_argnums=-1)
    assert pick(jnp.int32(3), (2,)).dtype == np.int32
    assert pick(jnp.int32(3), (2.0,)).dtype == np.float32
    assert count(pick) == 2


def test_keywords_and_defaults_are_those_of_the_function() -> None:
    @fd.jit
    def f(x, y=2.0, *, z=None, **others):
        return x * y + (0 if z is None else z) + sum(others.values())

    x = jnp.ones(2)
    assert float(f(x)[0]) == 2
    assert float(f(x, y=3.0)[0]) == 3
    assert float(f(x, 3.0, z=jnp.float32(1))[0]) == 4
    assert float(f(x=x, z=1, b=jnp.ones(2), a=jnp.ones(2) * 2)[0]) == 6


def test_methods_and_decorators_with_arguments() -> None:
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @fd.jit(static_argnums=0)
        def apply(self, x):
            """Scale."""
            return x * self.scale

    one, two = Model(2.0), Model(3.0)
    x = jnp.ones(3)
    assert float(one.apply(x)[0]) == 2
    assert float(two.apply(x)[0]) == 3
    assert one.apply.__doc__ == "Scale."
    assert isinstance(Model.apply, type(fd.jit(abs)))
    assert len(one.apply.plan(x)) == 1
    assert one.apply.lower(x).ops
    with pytest.raises(fd.FuseError, match="'self' of 'apply' is of type Model"):
        fd.jit(Model.apply._function)(one, x)


class Pair(NamedTuple):
    left: object
    right: object


def test_trees_come_out_as_they_are_made() -> None:
    @jax.tree_util.register_dataclass
    @__import__("dataclasses").dataclass
    class State:
        x: object
        more: object

    @fd.jit
    def f(state, pair, nothing):
        assert nothing is None
        return Pair(state.x + 1, {"b": (state.more["a"],), "a": [None, pair.left]}), State(pair.right, ()), {}

    pair, state, empty = f(State(jnp.ones(2), {"a": jnp.int32(3)}), Pair(jnp.zeros(3), jnp.arange(2)), None)
    assert isinstance(pair, Pair)
    assert isinstance(state, State)
    assert state.more == ()
    assert empty == {}
    assert pair.right["a"][0] is None
    assert int(pair.right["b"][0]) == 3


def test_zero_arguments_unread_arguments_and_empty_trees() -> None:
    (found,) = fd.jit(lambda: (jnp.arange(3) * 2,))()
    np.testing.assert_array_equal(found, [0, 2, 4])
    assert isinstance(found, np.ndarray)
    drop = fd.jit(lambda a, b, c: b["x"] + 1)
    b = {"x": jnp.ones(2), "unread": jnp.zeros(5)}
    np.testing.assert_array_equal(drop(jnp.ones(3), b, [jnp.ones(1)]), [2, 2])
    assert drop.program(jnp.ones(3), b, [jnp.ones(1)]).input_names == ("b.x",)
    assert fd.jit(lambda x: {})(jnp.ones(2)) == {}
    assert fd.jit(lambda x: None)({}) is None
    assert fd.jit(lambda *xs: xs)() == ()


def test_what_is_compiled_once() -> None:
    f = fd.jit(lambda x, y: x * y)
    f(jnp.ones(2), jnp.ones(2))
    f(jnp.zeros(2), jnp.ones(2))
    assert count(f) == 1
    f(jnp.ones(3), jnp.ones(3))
    f(jnp.ones(2, jnp.int32), jnp.ones(2))
    f(jnp.ones(2), 2.0)
    f(jnp.ones(2), 3.0)
    f(jnp.ones(2), 3)
    f(np.ones(2, np.float32), jnp.ones(2))
    assert count(f) == 6
    f.clear_cache()
    assert count(f) == 0


def test_weak_types_are_respected() -> None:
    f = fd.jit(lambda x, y: x * y)
    half = jnp.ones(2, jnp.bfloat16)
    assert f(half, 2.0).dtype == jnp.bfloat16
    assert f(half, jnp.float32(2)).dtype == np.float32
    assert f(2, 3).dtype == np.int32
    assert jax.jit(lambda: 1.0)().weak_type == fd.jit(lambda x: 1.0)(half).weak_type


def test_settings_of_jax_are_part_of_the_key() -> None:
    f = fd.jit(lambda x: x + 0.1)
    x = np.ones(2)
    assert f(x).dtype == np.float32
    with jax.enable_x64(True):
        assert f(x).dtype == np.float64
    assert f(x).dtype == np.float32


def test_inputs_are_named_as_they_are_reached() -> None:
    f = fd.jit(lambda params, *rest, key=None: params["w1"][0] @ rest[1] + rest[0])
    args = {"w1": [jnp.ones((2, 2))]}, jnp.ones(2), jnp.ones((2, 2))
    text = str(f.lower(*args))
    for name in ("params['w1'][0]", "rest[0]", "rest[1]"):
        assert f'"{name}"' in text
    assert "%params.w1.0" in text
    assert f.program(*args).input_names == ("params.w1.0", "rest.0", "rest.1")


def test_closures_over_what_jax_traces_are_traced() -> None:
    def outer(w):
        return fd.jit(lambda x: (x * w).sum())(jnp.arange(3.0))

    assert float(jax.grad(outer)(2.0)) == 3


def test_functions_of_jax_jit_and_partials() -> None:
    from functools import partial

    assert float(fd.jit(jax.jit(lambda x, unread: x + 1))(jnp.float32(1), jnp.ones(3))) == 2
    assert float(fd.jit(partial(lambda n, x: x * n, 3))(jnp.float32(2))) == 6


def test_options_are_those_of_compile() -> None:
    f = fd.jit(lambda x: jnp.tanh(x) + 1, strategy="separate", threads=2, cache=False)
    x = jnp.ones(4)
    program = f.program(x)
    assert program.threads == 2
    assert len(f.plan(x)) > len(fd.jit(lambda x: jnp.tanh(x) + 1).plan(x))


def test_threads_may_call_at_once() -> None:
    from concurrent.futures import ThreadPoolExecutor

    f = fd.jit(lambda x: (x @ x).sum(0))
    xs = [jnp.full((16, 16), float(n)) for n in range(8)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(f, xs * 8))
    for x, y in zip(xs * 8, found, strict=True):
        np.testing.assert_array_equal(y, np.full(16, float(x[0, 0]) ** 2 * 256))
    assert count(f) == 1


def test_plans_and_modules_need_no_elements() -> None:
    f = fd.jit(lambda p, n, *, x: jnp.tanh(p["w"] @ x) * n, static_argnums=1)
    struct = jax.ShapeDtypeStruct((4, 4), np.float32)
    assert len(f.plan({"w": struct}, 3, x=struct)) == 1
    assert "stablehlo.tanh" in str(f.lower({"w": struct}, 3, x=struct))
    f({"w": jnp.ones((4, 4))}, 3, x=jnp.ones((4, 4)))
    assert count(f) == 1


def test_meshes_of_one_device_say_nothing() -> None:
    mesh = jax.make_mesh((1,), ("a",), axis_types=(jax.sharding.AxisType.Auto,))
    spread = jax.NamedSharding(mesh, jax.P("a"))
    x = jax.device_put(jnp.ones((4, 4)), spread)

    @fd.jit
    def f(x):
        y = jax.lax.with_sharding_constraint(x * 2, spread)
        return jax.shard_map(lambda y: jax.lax.psum(y.sum(0), "a"), mesh=mesh, in_specs=jax.P("a"), out_specs=jax.P())(
            y
        )

    np.testing.assert_array_equal(f(x), [8, 8, 8, 8])


def test_no_device_is_started_before_a_call() -> None:
    import subprocess
    import sys

    program = (
        "import fuse_dialect as fd; f = fd.jit(lambda x: x + 1)\n"
        "from jax._src.xla_bridge import backends_are_initialized\n"
        "assert not backends_are_initialized(); print(f(1))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("2\n", 0), done.stderr
