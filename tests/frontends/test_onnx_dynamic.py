"""ONNX operators whose shapes the model computes: run at two sizes, against ONNX's reference evaluator."""

import numpy as np
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator
from xdsl.context import Context

import fuse_dialect
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.interpreters.values import EvaluationError
from fuse_dialect.transforms.refine_shapes import RefineShapesPass


def model_of(body, inputs="float[b, s] x", result="float", opset=18):
    text = f'<ir_version: 8, opset_import: ["": {opset}]> g ({inputs}) => ({result} y) {{ {body} }}'
    return onnx.parser.parse_model(text)


def arrays_of(model, sizes):
    """Small integers, as the inputs' types want them."""
    random = np.random.default_rng(0)
    arrays = {}
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        shape = [sizes[dim.dim_param] if dim.dim_param else dim.dim_value for dim in dims]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        arrays[value.name] = random.integers(0, 4, shape).astype(dtype)
    return arrays


def ops_of(module):
    return [op.name.removeprefix("fuse.") for op in module.walk() if op.name.startswith("fuse.")]


SIZES = ({"b": 2, "s": 3}, {"b": 4, "s": 6})
B = (
    "sh = Shape(x) i0 = Constant<value=int64[1] {0}>() i1 = Constant<value=int64[1] {1}>() "
    "b = Gather(sh, i0) s = Gather(sh, i1)"
)
SCALARS = "zero = Constant<value=int64 {0}>() one = Constant<value=int64 {1}>() sh = Shape(x) n = Gather(sh, one)"

FORMS = {
    "swapped": (f"{B} t = Concat<axis=0>(s, b) y = Reshape(x, t)", {}, ["dyn_reshape"]),
    "merged": (f"{B} t = Mul(b, s) y = Reshape(x, t)", {}, ["reshape"]),
    "split": (
        f"{B} two = Constant<value=int64[1] {{2}}>() h = Div(b, two) t = Concat<axis=0>(h, two, s) y = Reshape(x, t)",
        {},
        ["dyn_reshape"],
    ),
    "kept": ("t = Constant<value=int64[3] {0, 1, -1}>() y = Reshape(x, t)", {}, ["reshape"]),
    "shape_as_input": ("y = Reshape(x, t)", {"inputs": "float[b, s] x, int64[2] t"}, ["dyn_reshape"]),
    "expand": (
        f"{B} u = Unsqueeze(x, i0) t = Concat<axis=0>(s, b, s) y = Expand(u, t)",
        {},
        ["dyn_broadcast_to"],
    ),
    "expand_to_own_size": (f"{B} t = Concat<axis=0>(i1, b, s) y = Expand(x, t)", {}, ["broadcast_to"]),
    "slice": (
        f"{B} two = Constant<value=int64[1] {{2}}>() h = Div(s, two) y = Slice(x, i0, h, i1)",
        {},
        ["dyn_strided_slice"],
    ),
    "slice_to_the_end": (f"{B} y = Slice(x, i1, s, i1)", {}, ["strided_slice"]),
    "range": (f"{SCALARS} y = Range(zero, n, one)", {"result": "int64"}, ["dyn_arange"]),
    "range_of_reals": (
        f"{SCALARS} f = Cast<to=1>(n) z = Cast<to=1>(zero) h = Constant<value=float {{0.5}}>() y = Range(z, f, h)",
        {},
        ["dyn_arange"],
    ),
    "constant_of_shape": (
        "t = Shape(x) y = ConstantOfShape<value=int64[1] {7}>(t)",
        {"result": "int64"},
        ["dyn_full"],
    ),
    "tile": (f"{B} t = Concat<axis=0>(i1, b) y = Tile(x, t)", {}, ["dyn_tile"]),
    "pad": (f"{B} t = Concat<axis=0>(i0, b, i1, i0) y = Pad(x, t)", {}, ["dyn_pad"]),
    "pad_of_one_axis": (
        f"{B} t = Concat<axis=0>(b, s) v = Constant<value=float {{1.5}}>() y = Pad(x, t, v, i1)",
        {},
        ["dyn_pad"],
    ),
    "pad_by_input": ("y = Pad(x, t)", {"inputs": "float[b, s] x, int64[4] t"}, ["dyn_pad"]),
    "one_hot": (
        f"{SCALARS} d = Add(n, n) v = Constant<value=float[2] {{0.0, 1.0}}>() c = Cast<to=7>(x) y = OneHot(c, d, v)",
        {},
        ["dyn_one_hot"],
    ),
    "top_k": (f"{B} two = Constant<value=int64[1] {{2}}>() k = Div(s, two) y, j = TopK(x, k)", {}, ["dyn_topk"]),
    "split_evenly": ("y, z = Split<axis=1, num_outputs=2>(x)", {}, ["dyn_strided_slice"] * 2),
    "triangle": ("k = Constant<value=int64 {1}>() y = Trilu<upper=0>(x, k)", {}, ["dyn_arange"] * 2),
    "eye": ("y = EyeLike<k=1>(x)", {}, ["dyn_arange"] * 2),
    "size": ("n = Size(x) y = Identity(n)", {"result": "int64"}, []),
    "flatten": ("y = Flatten<axis=2>(x)", {"inputs": "float[b, 3, s] x"}, ["dyn_reshape"]),
    "size_as_number": (f"{B} f = Cast<to=1>(s) y = Div(x, f)", {}, ["cast"]),
    "compress": ("c = Constant<value=bool[3] {1, 0, 1}>() y = Compress(x, c)", {}, ["take"]),
    "scatter": (
        "i = Cast<to=7>(x) two = Constant<value=int64 {2}>() j = Mod(i, two) y = ScatterElements<axis=1>(x, j, x)",
        {},
        ["dyn_arange", "dyn_broadcast_to", "scatter_nd"],
    ),
    "convolution_of_the_same_size": (
        'w = Constant<value=float[1, 1, 3, 3] {1, 2, 3, 4, 5, 6, 7, 8, 9}>() y = Conv<auto_pad="SAME_UPPER">(x, w)',
        {"inputs": "float[b, 1, s, s] x"},
        ["conv2d"],
    ),
    "pool_of_volumes": (
        "y = MaxPool<kernel_shape=[2, 2, 2]>(x)",
        {"inputs": "float[b, 2, 4, s, s] x"},
        ["dyn_reshape", "max_pool2d", "dyn_reshape", "max_pool2d", "dyn_reshape"],
    ),
    "sizes_compared": (
        f"{B} e = Equal(b, s) t = Where(e, i1, s) y = Expand(i0, t)",
        {"result": "int64"},
        ["dyn_broadcast_to"],
    ),
    "resize_by_scale": (
        "r = Constant<value=float[0] {}>() q = Constant<value=float[4] {1.0, 1.0, 2.0, 1.5}>() "
        'y = Resize<mode="linear">(x, r, q)',
        {"inputs": "float[b, 2, s, s] x"},
        ["dyn_resize2d"],
    ),
    "resize_by_size": (
        "sh = Shape(x) h = Constant<value=int64[2] {4, 5}>() n = Shape<end=2>(x) t = Concat<axis=0>(n, h) "
        'y = Resize<mode="nearest">(x, , , t)',
        {"inputs": "float[b, 2, s, s] x"},
        ["resize2d"],
    ),
    "resize_to_another_size": (
        "n = Shape<end=2>(x) m = Shape(z) t = Concat<axis=0>(n, m) "
        'y = Resize<mode="linear", coordinate_transformation_mode="align_corners">(x, , , t)',
        {"inputs": "float[b, 2, 3, 3] x, float[b, s] z"},
        ["dyn_resize2d"],
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_form_gives_what_the_reference_does(form):
    body, options, expected_ops = FORMS[form]
    model = model_of(body, **options)
    module = import_model(model)
    module.verify()
    assert [op for op in ops_of(module) if op.startswith("dyn_") or op in expected_ops] == expected_ops
    for sizes in SIZES:
        inputs = arrays_of(model, sizes)
        if "t" in inputs:
            inputs["t"] = np.array([sizes["s"], sizes["b"]] if form == "shape_as_input" else [1, 0, 2, 3])
        (expected, *_) = ReferenceEvaluator(model).run(None, inputs)
        fused, refined = module.clone(), module.clone()
        FuseOpsPass().apply(Context(), fused)
        names = [
            name for name in sizes if f"{name}," in str(model.graph.input) or f'"{name}"' in str(model.graph.input)
        ]
        RefineShapesPass(sizes=tuple(f"{name}={sizes[name]}" for name in names)).apply(Context(), refined)
        for version in (module, fused, refined):
            (found, *_) = run_module(version, inputs)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert "t" in inputs or not [op for op in ops_of(refined) if op.startswith("dyn_")]


def test_sizes_are_read_once():
    module = import_model(model_of(f"{B} t = Concat<axis=0>(s, b) u = Reshape(x, t) y = Reshape(u, t)"))
    assert ops_of(module).count("shape_of") == 1
    assert ops_of(module).count("concatenate") == 1


def test_shape_of_unknown_length_is_refused():
    with pytest.raises(FuseError, match="expects operand 1 to be a short list of integers"):
        import_model(model_of("y = Reshape(x, t)", inputs="float[b, s] x, int64[r] t"))


def test_shape_that_the_model_computes_wrongly_is_diagnosed_when_it_runs():
    module = import_model(model_of("y = Reshape(x, t)", inputs="float[b, s] x, int64[2] t"))
    for shape, words in (([-5, 2], "at least -1"), ([4, 4], "6 elements"), ([2**40, 2**40], "elements")):
        with pytest.raises(EvaluationError, match=words):
            run_module(module, [np.zeros((2, 3), np.float32), np.array(shape)])


def test_a_size_picked_from_a_shape_is_right_natively():
    """`Gather(Shape(x), i)`, for every index, as a result and as a size, call by call."""
    pytest.importorskip("llvmlite")
    body = "sh = Shape(x) n = Gather(sh, i) one = Constant<value=int64[1] {1}>() t = Reshape(n, one) y = Expand(f, t)"
    model = model_of(body, "float[b, 3, s] x, int64 i, float[1] f")
    program = fuse_dialect.compile(import_model(model), cache=False)
    for shape in ((2, 3, 5), (7, 3, 1), (2, 3, 5)):
        for index in (0, 1, 2, -1):
            (found,) = program(np.zeros(shape, np.float32), np.array(index), np.ones(1, np.float32))
            assert found.shape == (shape[index],)
    number = model_of("sh = Shape(x) y = Gather(sh, i)", "float[b, 3, s] x, int64[k] i", "int64")
    program = fuse_dialect.compile(import_model(number), cache=False)
    (found,) = program(np.zeros((2, 3, 5), np.float32), np.array([2, 0, -2]))
    assert found.tolist() == [5, 2, 3]


def test_size_that_a_product_fixes_hides_no_other_name():
    """`2h` must be 6; the result has the rows and columns of `x`, so that the second reshape does nothing."""
    constants = "w = Constant<value=float[6,2] {1,2,3,4,5,6,7,8,9,1,2,3}>() two = Constant<value=int64[1] {2}>()"
    body = (
        f"{B} {constants} rest = Constant<value=int64[1] {{-1}}>() t = Concat<axis=0>(b, s, rest) u = Reshape(x, t) "
        "z = MatMul(u, w) v = Concat<axis=0>(b, s, two) y = Reshape(z, v)"
    )
    model = model_of(body, inputs="float[b, s, h, 2] x")
    module = import_model(model)
    assert [op for op in ops_of(module) if "reshape" in op] == ["reshape"]
    arrays = arrays_of(model, {"b": 4, "s": 5, "h": 3})
    np.testing.assert_array_equal(
        run_module(module, list(arrays.values()))[0], ReferenceEvaluator(model).run(None, arrays)[0]
    )


def test_sizes_of_operands_that_differ_by_name_stay_apart():
    """A sum of `[b, s]` and `[c, s]` has neither the rows of the one nor of the other: each may be 1."""
    text = (
        "sx = Shape(x) i0 = Constant<value=int64[1] {0}>() i1 = Constant<value=int64[1] {1}>() "
        "b = Gather(sx, i0) s = Gather(sx, i1) z = Add(x, u) t = Concat<axis=0>(b, s) y = Reshape(z, t)"
    )
    module = import_model(model_of(text, inputs="float[b, s] x, float[c, s] u"))
    assert "dyn_reshape" in ops_of(module)


def test_size_that_does_not_fit_64_bits_is_refused():
    pads = f"p = Constant<value=int64[2] {{{2**62}, {2**63 - 1}}}>() y = Pad(x, p)"
    with pytest.raises(FuseError, match="expects sizes of at most"):
        import_model(model_of(pads, inputs="float[4] x"))


I32 = f"{B} sh32 = Cast<to=6>(sh) s32 = Cast<to=6>(s) five = Constant<value=int32[1] {{5}}>()"


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("y = Cast<to=6>(sh)", "int32"),
        ("y = Mul(s32, five)", "int32"),
        ("y = Gather(sh32, i1)", "int32"),
        ("y = Concat<axis=0>(five, s32)", "int32"),
        ("y = ReduceProd(sh32)", "int32"),
        ("y = Max(s32, five)", "int32"),
        ("y = Less(s32, five)", "bool"),
        (
            "z = Constant<value=int32 {0}>() o = Constant<value=int32 {1}>() n = Squeeze(s32) y = Range(z, n, o)",
            "int32",
        ),
        ("g = Constant<value=int64[1] {4294967299}>() t = Concat<axis=0>(g, s) y = Cast<to=6>(t)", "int32"),
    ],
)
def test_sizes_in_32_bits_stay_so(body, result):
    """They became i64, which other operands of i32 did not fit, and results were of another type."""
    model = model_of(f"{I32} {body}", result=result)
    module = import_model(model)
    for sizes in SIZES:
        arrays = arrays_of(model, sizes)
        (expected,) = ReferenceEvaluator(model).run(None, arrays)
        (actual,) = run_module(module, list(arrays.values()))
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("body", ["y = ConstantOfShape(t)", "y = Reshape(x, t)"])
def test_errors_show_sizes_by_their_names(body):
    """They showed how a size is computed, as Python writes objects, and the number that stands for an open one."""
    bad = "t0 = Constant<value=int64[2] {-4, -4}>() t = Concat<axis=0>(s, t0)"
    with pytest.raises(FuseError, match=r"got \[s, -4, -4\]"):
        import_model(model_of(f"{B} {bad} {body}"))
