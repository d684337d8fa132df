"""What `fd.jit` refuses: errors name the line of the user's function, and show nothing of JAX's stack."""

import inspect
import traceback

import numpy as np
import pytest

import fuse_dialect as fd

jax = pytest.importorskip("jax")
pytest.importorskip("llvmlite")
jnp = jax.numpy

pytestmark = pytest.mark.slow


def branching(x):
    if x.sum() > 0:  # here
        return x
    return -x


def numpy_inside(x):
    return np.sin(x)  # here


def float_of(x):
    return x * float(x.sum())  # here


def shapes(x):
    return x @ jnp.ones(7)  # here


def trees(x):
    return jax.lax.cond(x[0, 0] > 0, lambda: {"a": x}, lambda: {"b": x})  # here


def eigenvalues(x):
    y = x + 1
    return jnp.linalg.eigvals(y).real  # here


def complex_factors(x):
    return jnp.linalg.inv(x + 1j)  # here


def printing(x):
    jax.debug.print("{}", x)  # here
    return x


@pytest.mark.parametrize(
    ("function", "message", "hint"),
    [
        (branching, "an 'if' or 'while' of Python", "jax.lax.cond"),
        (numpy_inside, "NumPy asks for the elements", "jax.numpy"),
        (float_of, "Python asks for a value", "static_argnames"),
        (shapes, "JAX cannot trace 'shapes': TypeError", None),
        (trees, "JAX cannot trace 'trees': TypeError", None),
        (eigenvalues, "eigenvalues, has no kernel", "outside of fd.jit"),
        (complex_factors, "of complex matrices, has no kernel", "real and imaginary parts"),
        (printing, "a call of Python, has no kernel", "callbacks"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_the_line_of_the_user_is_named(function, message, hint) -> None:
    with pytest.raises(fd.FuseError) as caught:
        fd.jit(function)(jnp.ones((4, 4)))
    error = caught.value
    lines, first = inspect.getsourcelines(function)
    here = first + next(number for number, line in enumerate(lines) if "# here" in line)
    assert message in error.message
    assert (error.location.file, error.location.line) == (__file__, here)
    assert hint is None or hint in error.hint
    stack = "".join(traceback.format_exception(error))
    assert "site-packages/jax" not in stack.replace("\\", "/")


def test_what_the_user_raises_goes_on() -> None:
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fd.jit(f)(jnp.ones(2))


def test_what_is_no_array() -> None:
    f = fd.jit(lambda x, mode: x)
    with pytest.raises(fd.FuseError, match="'mode' of '<lambda>' is of type str") as caught:
        f(jnp.ones(2), "fast")
    assert "static_argnames" in caught.value.hint
    with pytest.raises(fd.FuseError, match="missing 1 required positional argument"):
        f(jnp.ones(2))
    with pytest.raises(fd.FuseError, match="are no trees"):
        f({1: jnp.ones(2), "a": jnp.ones(2)}, 1)
    with pytest.raises(fd.FuseError, match="must be hashable, got list"):
        fd.jit(lambda x, n: x, static_argnums=1)(jnp.ones(2), [1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"static_argnames": "z"}, "has no argument 'z'"),
        ({"static_argnums": 3}, "none at position 3"),
        ({"strategyy": "cost"}, "no option 'strategyy'"),
    ],
)
def test_wrong_options(options, message) -> None:
    with pytest.raises(fd.FuseError, match=message):
        fd.jit(lambda x, y: x, **options)


def test_programs_say_how_trees_are_given() -> None:
    params = {"w": np.ones((4, 4), np.float32), "b": np.ones(4, np.float32)}
    x = np.ones((2, 4), np.float32)
    program = fd.compile(fd.from_jax(lambda params, x: x @ params["w"] + params["b"], params, x))
    with pytest.raises(fd.FuseError, match=r"expects 3 inputs \(params\['b'\], params\['w'\], x\), got 2") as caught:
        program(params, x)
    assert "jax.tree.leaves" in caught.value.hint
    with pytest.raises(fd.FuseError, match="in one mapping or by name, got both") as caught:
        program(params, x=x)
    assert "fuse_dialect.jit" in caught.value.hint
    by_name = program({"params['w']": params["w"], "params['b']": params["b"], "x": x})
    np.testing.assert_array_equal(by_name[0], np.full((2, 4), 5))
