"""Networks that torch has exported with open sizes, at sizes other than exported, against what onnxruntime gave.

`tools/export_torch_models.py` makes the files.
"""

from pathlib import Path

import numpy as np
import pytest
from checking.rounding import assert_near, roundings_of
from xdsl.context import Context

from fuse_dialect.frontends.onnx.reader import load_onnx_module
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.transforms.refine_shapes import RefineShapesPass
from fuse_dialect.transforms.simplify_inference import SimplifyInferencePass

FOLDER = Path(__file__).parents[1] / "data" / "torch"
MODELS = sorted(FOLDER.glob("*.onnx"))

pytestmark = pytest.mark.slow


def runs_of(path):
    """Pairs of inputs and results."""
    for file in sorted(FOLDER.glob(f"{path.stem}.*.npz")):
        arrays = list(np.load(file).items())
        inputs = {name: array for name, array in arrays if not name.startswith("result")}
        yield inputs, [array for name, array in arrays if name.startswith("result")]


def sizes_of(module, inputs):
    """The sizes that the inputs give to the names of the module's arguments."""
    (function,) = [op for op in module.ops if op.sym_name.data == "main"]
    names = {entry.data["onnx.name"].data: entry.data.get("fuse.sizes", ()) for entry in function.arg_attrs}
    pairs = [
        (name.data, size) for key, own in names.items() for name, size in zip(own, inputs[key].shape, strict=bool(own))
    ]
    return {name: size for name, size in pairs if name}


def assert_close(found, expected, module, inputs):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert_near(one, other, roundings_of(module, list(inputs.values())))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_network_gives_what_onnxruntime_gave(path):
    module = load_onnx_module(path)
    module.verify()
    fused = module.clone()
    SimplifyInferencePass().apply(Context(), fused)
    FuseOpsPass().apply(Context(), fused)
    fused.verify()
    for inputs, expected in runs_of(path):
        assert_close(run_module(module, list(inputs.values())), expected, module, inputs)
        assert_close(run_module(fused, list(inputs.values())), expected, module, inputs)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_network_becomes_static_when_its_sizes_are_known(path):
    module = load_onnx_module(path)
    inputs, expected = next(runs_of(path))
    RefineShapesPass(sizes=tuple(f"{name}={size}" for name, size in sizes_of(module, inputs).items())).apply(
        Context(), module
    )
    module.verify()
    assert [op.name for op in module.walk() if op.name.startswith("fuse.dyn_")] == []
    assert "?" not in str(next(iter(module.ops)).function_type)
    assert_close(run_module(module, list(inputs.values())), expected, module, inputs)


def test_every_network_has_been_run_twice():
    assert MODELS
    assert {len(list(runs_of(path))) for path in MODELS} == {2}
