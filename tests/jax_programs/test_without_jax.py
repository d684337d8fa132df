"""The parts of `fuse_dialect.jax` that need no JAX: signatures, what JAX prints, and what no kernel says."""

import numpy as np
import pytest
from xdsl.context import Context

import fuse_dialect as fd
from fuse_dialect.backends.runtime.arrays import address_of
from fuse_dialect.dialect.places import place_of
from fuse_dialect.fusion.inline import InlinePass
from fuse_dialect.jax.capture import main_of, module_of_lowered
from fuse_dialect.jax.library import forget_lines
from fuse_dialect.jax.refusals import check_runnable, jax_refusals, user_place
from fuse_dialect.jax.signature import leaf_names, split, static_arguments, typed, value_name
from fuse_dialect.jax.weights import fix
from fuse_dialect.transforms.runnable import make_runnable

LOWERED = """
#loc1 = loc("params['w'][0]")
#loc2 = loc("x")
#loc3 = loc("f"("model.py":3:7 to :21))
module @jit_f {
  sdy.mesh @empty_mesh = <[]>
  func.func public @main(%arg0: tensor<2x2xf32> loc("params['w'][0]"), %arg1: tensor<2x2xf32> loc("x")) -> (tensor<2x2xf32>) {
    %0 = sdy.sharding_constraint %arg1 <@empty_mesh, [{}, {}]> : tensor<2x2xf32>
    %1 = stablehlo.dot_general %0, %arg0, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    return %1 : tensor<2x2xf32>
  }
}
"""  # noqa: E501  # as JAX prints it


def f(a, b, /, c, *rest, d=1, **others):
    """Parameters of every kind."""


def test_types_of_static_values_count() -> None:
    values = [1, 1.0, True, (1,), (True,), ((1,),), ((1.0,),), "1", frozenset((1,)), frozenset((True,))]
    assert len({typed(value) for value in values}) == len(values)
    assert typed((1, "a")) == typed((1, "a"))


def test_static_arguments_by_position_and_by_name() -> None:
    assert static_arguments(f, 2, ()).names == {"c"}
    assert static_arguments(f, (), ("c", "d")).places == {2}
    assert static_arguments(f, -1, ()).places == {2}
    assert static_arguments(f, 0, ()).names == set()
    assert static_arguments(f, 1, "d").names == {"d"}
    assert static_arguments(f, (), "anything").names == {"anything"}
    assert not static_arguments(f, (), ())
    assert static_arguments(dict.get, (), ()).places == set()
    with pytest.raises(fd.FuseError, match="has no argument 'b'"):
        static_arguments(lambda a: a, (), "b")
    with pytest.raises(fd.FuseError, match="has 1 arguments, and none at position -2"):
        static_arguments(lambda a: a, -2, ())


def test_calls_are_split_and_leaves_are_named() -> None:
    statics = static_arguments(f, 2, ())
    key, given, named = split(statics, ("a", "b", 3, "r"), {"z": 1, "d": 2})
    assert (given, named) == (("a", "b", "r"), {"z": 1, "d": 2})
    assert key == split(statics, ("x", "y", 3), {})[0]
    assert key != split(statics, ("x", "y", 3.0), {})[0]
    names = leaf_names(f, statics, ("a", "b", 3, "r", "s"), {"z": 1, "d": 2}, lambda tree: [f"[{tree!r}]"])
    assert names == ["a['a']", "b['b']", "rest[0]['r']", "rest[1]['s']", "d[2]", "z[1]"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("params['w'][0]", "params.w.0"), ("x", "x"), ("a.b", "a.b"), ("", ""), ("x['é y']", "x.y")],
)
def test_names_of_values(name, expected) -> None:
    assert value_name(name) == expected


def test_what_jax_prints_is_named_and_free_of_shardings() -> None:
    module = module_of_lowered(LOWERED, "f")
    main = main_of(module)
    assert [argument.name_hint for argument in main.body.block.args] == ["params.w.0", "x"]
    assert [entry.data["onnx.name"].data for entry in main.arg_attrs] == ["params['w'][0]", "x"]
    assert not any(op.name.startswith("sdy.") for op in module.walk())
    ones = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(fd.run(module, {"params['w'][0]": ones, "x": ones})[0], 2 * ones)


def test_arguments_become_constants() -> None:
    module = module_of_lowered(LOWERED, "f")
    weight = np.arange(4, dtype=np.float32).reshape(2, 2)

    class Leaf:
        deleted = False

        def is_deleted(self):
            return self.deleted

    leaves = [Leaf(), Leaf()]
    fixed = fix(module, leaves, {0: weight})
    assert not any(main_of(module).body.block.args[0].uses)
    ones = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(fd.run(module, ones, ones)[0], ones @ weight)
    assert fixed.are_those_of(leaves)
    assert fixed.are_those_of([leaves[0], Leaf()])
    assert not fixed.are_those_of([Leaf(), leaves[1]])
    leaves[0].deleted = True
    assert not fixed.are_those_of(leaves)


def test_functions_of_jax_have_no_lines_of_their_own() -> None:
    module = fd.parse("""
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = func.call @norm_0(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("f"("model.py":3:7))
      %1 = func.call @own(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("f"("model.py":4:7))
      return %1 : tensor<4xf32>
    }
    func.func private @norm_0(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = func.call @inside(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("call"("another.py":1:1))
      return %0 : tensor<4xf32>
    }
    func.func private @inside(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = fuse.exp %x : tensor<4xf32> loc("exp"("another.py":2:2))
      return %0 : tensor<4xf32>
    }
    func.func private @own(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = fuse.tanh %x : tensor<4xf32> loc("tanh"("library.py":5:5))
      return %0 : tensor<4xf32>
    }""")
    forget_lines(module, {"norm"})
    InlinePass().apply(Context(), module)
    lines = {op.name: place_of(op.location) for op in module.walk() if op.name.startswith("fuse.")}
    assert {name: (place.filename.data, place.line.data) for name, place in lines.items()} == {
        "fuse.exp": ("model.py", 3),
        "fuse.tanh": ("library.py", 5),
    }


def test_several_devices_are_an_error_with_a_place() -> None:
    with pytest.raises(fd.FuseError, match="is spread over a mesh of 4 devices") as caught:
        module_of_lowered(LOWERED.replace("<[]>", '<["x"=2, "y"=2]>'), "f")
    assert "jax.set_mesh" in caught.value.hint


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (
            "stablehlo.custom_call @lapack_sgeev_ffi(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>",
            "'stablehlo.custom_call' op of 'lapack_sgeev_ffi', eigenvalues, has no kernel",
        ),
        (
            "stablehlo.custom_call @lapack_snew_ffi(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>",
            "a routine of LAPACK, has no kernel",
        ),
        (
            "stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>",
            "a call of Python, has no kernel",
        ),
        ("stablehlo.custom_call @mine(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>", "of 'mine' has no kernel"),
    ],
)
def test_ops_without_a_kernel_are_named_with_their_place(op, message) -> None:
    module = fd.parse(f"""
    func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {{
      %0 = {op} loc("f"("model.py":7:3))
      return %0 : tensor<2x2xf32>
    }}""")
    make_runnable(module)
    with pytest.raises(fd.FuseError) as caught:
        check_runnable(module, f)
    assert message in caught.value.message
    assert str(caught.value.location) == "model.py:7:3"
    assert caught.value.hint


def test_what_the_user_raises_is_no_refusal() -> None:
    with pytest.raises(ZeroDivisionError) as caught, jax_refusals(f):
        1 / 0  # noqa: B018
    assert user_place(caught.tb).file == __file__


def test_programs_by_addresses_give_the_same() -> None:
    pytest.importorskip("llvmlite")
    program = fd.compile(module_of_lowered(LOWERED, "f"))
    call = program.by_addresses()
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    w = x + 1
    for _ in range(2):
        np.testing.assert_array_equal(call([address_of(w), address_of(x)])[0], program(w, x)[0])
    assert fd.compile(module_of_lowered(LOWERED, "f"), backend="numpy").by_addresses() is None


def test_large_results_by_addresses_begin_at_multiples_of_64() -> None:
    pytest.importorskip("llvmlite")
    for size in (100, 5000, 100_000):
        program = fd.compile(
            fd.parse(f"""
            func.func @main(%x: tensor<{size}xf32>) -> tensor<{size}xf32> {{
              %y = fuse.negative %x : tensor<{size}xf32>
              return %y : tensor<{size}xf32>
            }}""")
        )
        x = np.ones(size, np.float32)
        (found,) = program.by_addresses()([address_of(x)])
        assert size < 65_536 or address_of(found) % 64 == 0
        np.testing.assert_array_equal(found, -x)


def test_a_program_explains_how_it_is_called() -> None:
    program = fd.compile(module_of_lowered(LOWERED, "f"), backend="numpy")
    ones = np.ones((2, 2), np.float32)
    with pytest.raises(fd.FuseError, match=r"expects 2 inputs \(params\['w'\]\[0\], x\), got 3") as caught:
        program({"w": ones}, ones, ones)
    assert "jax.tree.leaves" in caught.value.hint
    np.testing.assert_array_equal(program(ones, x=2 * ones), program(ones, 2 * ones))
    with pytest.raises(fd.FuseError, match="no argument takes the input 'y'") as caught:
        program(ones, y=ones, x=ones)
    assert "jax.tree.leaves" in caught.value.hint
    for args in (({"w": ones}, ones), ({"w": ones},)):
        with pytest.raises(fd.FuseError) as caught:
            program(*args)
        assert "jax.tree.leaves" in caught.value.hint
