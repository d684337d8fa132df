"""`from_jax` and `from_torch`: with their packages, and without."""

import sys

import numpy as np
import pytest
from xdsl.dialects import func

import fuse_dialect as fd


@pytest.mark.parametrize(
    ("capture", "package", "extra"), [(fd.from_jax, "jax", "jax"), (fd.from_torch, "torch", "torch")]
)
def test_a_missing_package_is_named_with_its_extra(capture, package, extra, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(fd.FuseError) as caught:
        capture(abs)
    assert f"package '{package}' is not installed" in str(caught.value)
    assert f"fuse_dialect[{extra}]" in str(caught.value)


@pytest.mark.slow
def test_from_jax_runs_on_numpy_and_natively() -> None:
    jax = pytest.importorskip("jax")
    pytest.importorskip("llvmlite")

    def predict(parameters, x, unread):
        return {"probabilities": jax.nn.softmax(jax.numpy.tanh(x @ parameters["w"]) + parameters["b"])}

    random = np.random.default_rng(0)
    parameters = {"w": random.standard_normal((4, 3)).astype(np.float32), "b": np.ones(3, np.float32)}
    arguments = parameters, random.standard_normal((2, 4)).astype(np.float32), np.zeros(1, np.float32)
    module = fd.from_jax(predict, *arguments)
    leaves = jax.tree.leaves(arguments)
    expected = np.asarray(predict(*arguments)["probabilities"])
    np.testing.assert_allclose(fd.run(module, *leaves)[0], expected, rtol=1e-5)
    np.testing.assert_allclose(fd.compile(module, cache=False)(*leaves)[0], expected, rtol=1e-5)
    assert any(op.name == "stablehlo.dot_general" for op in module.walk()), "the module itself stays as it is"
    locations = [str(op.location) for op in module.walk() if op.name == "stablehlo.tanh"]
    assert "test_capture.py" in locations[0]


@pytest.mark.slow
def test_from_jax_takes_a_jitted_function_and_loops() -> None:
    jax = pytest.importorskip("jax")
    step = jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda i, x: x * 2.0 + i, x))
    x = np.arange(4, dtype=np.float32)
    module = fd.from_jax(step, x)
    np.testing.assert_array_equal(fd.run(module, x)[0], np.asarray(step(x)))
    fd.fuse_ops(module)
    assert any(isinstance(op, func.CallOp) for op in module.walk())


@pytest.mark.slow
def test_from_torch_runs_on_numpy() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).train()
    x = torch.randn(2, 4)
    module = fd.from_torch(network, x)
    assert network.training
    with torch.no_grad():
        expected = network.eval()(x).numpy()
    np.testing.assert_allclose(fd.run(module, x.numpy())[0], expected, rtol=1e-5, atol=1e-6)
