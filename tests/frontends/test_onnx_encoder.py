"""A BERT-like encoder in the forms of PyTorch's exporters, against onnx's reference evaluator."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from checking.rounding import assert_near, roundings_of
from onnx.reference import ReferenceEvaluator
from xdsl.context import Context
from xdsl.utils.exceptions import InterpretationError

from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.transforms.refine_shapes import RefineShapesPass


@pytest.fixture(scope="module")
def models():
    """The neighbour module that builds the encoder; test modules are no package."""
    place = Path(__file__).with_name("onnx_encoder.py")
    spec = importlib.util.spec_from_file_location("onnx_encoder", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _ops(module) -> list[str]:
    return [op.name for op in module.walk()]


@pytest.mark.parametrize("opset", [11, 14, 17, 20])
@pytest.mark.parametrize("batch", [2, "batch"])
def test_encoder_computes_what_the_reference_does(models, opset, batch):
    model = models.encoder(opset, batch=batch)
    inputs = models.encoder_inputs(2, 8)
    module = import_model(model)
    module.verify()
    results = run_module(module, inputs)
    for expected, result in zip(ReferenceEvaluator(model).run(None, inputs), results, strict=True):
        assert_near(result, expected, roundings_of(module, list(inputs.values())))


def test_shape_arithmetic_of_a_dynamic_batch_leaves_no_op(models):
    static = _ops(import_model(models.encoder(14, batch=2)))
    dynamic = _ops(import_model(models.encoder(14, batch="batch")))
    assert dynamic == static
    assert "fuse.concatenate" not in static
    assert static.count("fuse.reshape") == 8


def test_dynamic_batch_stays_dynamic_in_the_results(models):
    (function,) = import_model(models.encoder(17, batch="batch")).ops
    assert [str(type) for type in function.function_type.outputs.data] == ["tensor<?x8x16xf32>", "tensor<?x16xf32>"]


@pytest.mark.parametrize("opset", [14, 20])
@pytest.mark.parametrize(("batch", "length"), [(3, 5), (1, 12)])
def test_encoder_of_two_dynamic_dimensions_computes_what_the_reference_does(models, opset, batch, length):
    model = models.encoder(opset, batch="batch", length="length")
    inputs = models.encoder_inputs(batch, length)
    module = import_model(model)
    module.verify()
    expected = ReferenceEvaluator(model).run(None, inputs)
    FuseOpsPass().apply(Context(), fused := module.clone())
    RefineShapesPass(sizes=(f"batch={batch}", f"length={length}")).apply(Context(), refined := module.clone())
    assert not any(op.startswith("fuse.dyn_") for op in _ops(refined))
    for version in (module, fused, refined):
        version.verify()
        for one, other in zip(expected, run_module(version, inputs), strict=True):
            assert_near(other, one, roundings_of(refined))


def test_names_of_dimensions_are_checked_when_the_model_runs(models):
    module = import_model(models.encoder(17, batch="batch", length="length"))
    inputs = models.encoder_inputs(2, 8) | {"attention_mask": np.ones((2, 7), np.int64)}
    with pytest.raises(InterpretationError, match="size 'length' is 8 on axis 1 of input 'input_ids', and 7"):
        run_module(module, inputs)


def test_layer_normalization_and_gelu_are_single_ops_when_the_model_says_so(models):
    ops = _ops(import_model(models.encoder(20, batch=2)))
    assert ops.count("fuse.layer_norm") == 5
    assert ops.count("fuse.gelu") == 2
    assert "fuse.erf" not in ops
