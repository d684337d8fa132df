"""TVM's own tests of FuseOps, by name: `tests/python/relay/test_pass_fuse_ops.py` of v0.18.

Each of its 22 test functions was run with every parameter, and what FuseOps made of the program was recorded, with the
options of the test. Three of them need more than that; they are translated below, under their names.
"""

from typing import Any

import numpy as np
import pytest
from recorded_graphs import recorded
from relay_records import outlined_functions, recorded_programs
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.interpreters.numpy import run_module

LIMITED = [f"[{target}][{shapes}]" for target in ("opencl", "metal") for shapes in ("dynamic", "static")]
UNLIMITED = ["[cuda][dynamic]", "[cuda][static]"]

TESTS = {
    "test_concatenate": [""],
    "test_conv2d_fuse": [""],
    "test_fuse_bcast_reduce_scalar": [""],
    "test_fuse_dynamic_squeeze_slice_take": [],
    "test_fuse_gather_nd": ["[False]", "[True]"],
    "test_fuse_max": ["#0", "#1"],
    "test_fuse_max_diamond": [""],
    "test_fuse_max_num_args": [*LIMITED, *UNLIMITED],
    "test_fuse_myia_regression": [""],
    "test_fuse_parallel_injective": [""],
    "test_fuse_simple": [""],
    "test_fuse_softmax": [""],
    "test_fuse_take": ["[False]", "[True]"],
    "test_fuse_tuple_get_elemwise": [""],
    "test_immutable": [""],
    "test_inception_like": [""],
    "test_split": [""],
    "test_stop_fusion": [""],
    "test_tuple_consecutive": [""],
    "test_tuple_get_root": [""],
    "test_tuple_intermediate": [""],
    "test_tuple_root": [""],
}
"""The test functions, and the parameters that they are recorded with."""

DIFFERENT = {
    **{
        f"test_fuse_max_num_args{parameters}": "an argument limit is ours: sound, and with fewer primitives"
        for parameters in LIMITED
    },
    "test_fuse_myia_regression": "closures: translated below with an unknown op that holds regions",
    "test_split": "references: translated below with unknown ops",
}
"""Recorded cases that are not compared, and why."""

COMPARED = [name for test, cases in TESTS.items() for case in cases if (name := test + case) not in DIFFERENT]


def test_all_tests_of_the_suite_are_here() -> None:
    names = [test + case for test, cases in TESTS.items() for case in cases]
    assert sorted(names) == sorted(case["name"] for case in recorded("relay_tests"))
    assert len(TESTS) == 22
    assert [test for test, cases in TESTS.items() if not cases] == ["test_fuse_dynamic_squeeze_slice_take"]


def own_run(case: dict[str, Any]) -> dict[str, Any]:
    """The run with the options of the test itself, with its results."""
    (run, *_) = (run for run in case["runs"] if run.get("from", "").startswith("test"))
    return {**case["runs"][run["same_as"]], **run} if "same_as" in run else run


@pytest.mark.parametrize("name", COMPARED)
def test_functions_are_those_of_the_test(name: str) -> None:
    ((case, program, original),) = (each for each in recorded_programs("relay_tests") if each[0]["name"] == name)
    run = own_run(case)
    module = original.clone()
    FuseOpsPass(run["opt_level"], run["max_depth"], link_params=run["link_params"], dedup=False).apply(
        Context(), module
    )
    functions = outlined_functions(module)
    assert set(functions) == program.recorded_functions(run)
    assert len(functions) == len(set(functions))


@pytest.mark.parametrize("parameters", LIMITED)
def test_fuse_max_num_args(parameters: str) -> None:
    name = f"test_fuse_max_num_args{parameters}"
    ((case, _, original),) = (each for each in recorded_programs("relay_tests") if each[0]["name"] == name)
    run = own_run(case)
    module = original.clone()
    FuseOpsPass(run["opt_level"], run["max_depth"], run["max_function_args"], dedup=False).apply(Context(), module)
    assert 1 < len(outlined_functions(module)) < sum(function["primitive"] for function in run["functions"]) / 10


def fused(text: str) -> ModuleOp:
    """A program after fusion."""
    module = parse_mlir(text, "test.mlir", context(allow_unregistered=True))
    FuseOpsPass().apply(Context(), module)
    module.verify()
    return module


def top_level_ops(module: ModuleOp) -> list[str]:
    """Names of the ops of the first function; of calls, the names of the functions called."""
    main = module.body.block.first_op
    assert isinstance(main, func.FuncOp)
    return [op.callee.root_reference.data if isinstance(op, func.CallOp) else op_name(op) for op in main.body.block.ops]


def test_fuse_myia_regression() -> None:
    module = fused(
        """
        func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
          %0 = fuse.greater %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %1 = "relay.if"(%0) ({
            "relay.yield"(%x) : (tensor<f32>) -> ()
          }, {
            "relay.yield"(%y) : (tensor<f32>) -> ()
          }) : (tensor<i1>) -> tensor<f32>
          func.return %1 : tensor<f32>
        }
        """
    )
    assert top_level_ops(module) == ["fused_greater", "relay.if", "func.return"]


def test_split() -> None:
    module = fused(
        """
        func.func @main(%x: tensor<6x9xf32>) -> tensor<2x9xf32> {
          %a, %b, %c = fuse.split %x, axis = 0, sizes = [2, 2, 2]
            : (tensor<6x9xf32>) -> (tensor<2x9xf32>, tensor<2x9xf32>, tensor<2x9xf32>)
          %r = "relay.ref_create"(%b) : (tensor<2x9xf32>) -> !test.type<"ref">
          %d = "relay.ref_read"(%r) : (!test.type<"ref">) -> tensor<2x9xf32>
          %e = fuse.add %a, %d : tensor<2x9xf32>
          %f = fuse.add %e, %c : tensor<2x9xf32>
          func.return %f : tensor<2x9xf32>
        }
        """
    )
    assert top_level_ops(module) == [
        "fused_split",
        "relay.ref_create",
        "relay.ref_read",
        "fused_add_add",
        "func.return",
    ]


def test_fuse_dynamic_squeeze_slice_take() -> None:
    module = fused(
        """
        func.func @main(%x: tensor<?x?x4xf32>, %i: tensor<?xi64>) -> tensor<?x4xf32> {
          %0 = fuse.squeeze %x, axes = [0] : (tensor<?x?x4xf32>) -> tensor<?x4xf32>
          %1 = fuse.strided_slice %0, begin = [0, 0], end = [15130, 2147483647], strides = [1, 1]
            : (tensor<?x4xf32>) -> tensor<?x4xf32>
          %2 = fuse.take %1, %i, axis = 0 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
          func.return %2 : tensor<?x4xf32>
        }
        """
    )
    assert top_level_ops(module) == ["fused_squeeze_strided_slice_take", "func.return"]
    x = np.random.default_rng(0).random((1, 2, 4)).astype(np.float32)
    (result,) = run_module(module, [x, np.array([0])])
    np.testing.assert_array_equal(result, np.squeeze(x[:, [0], :], axis=0))
