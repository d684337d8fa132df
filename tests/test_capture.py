"""`from_jax` and `from_torch`: with their packages, and without."""

import sys

import numpy as np
import pytest
from xdsl.dialects import func

import fuse_dialect as fd
from fuse_dialect.extras import install_hint


@pytest.mark.parametrize(
    ("capture", "package", "extra"), [(fd.from_jax, "jax", "jax"), (fd.from_torch, "torch", "torch")]
)
def test_a_missing_package_is_named_with_its_extra(capture, package, extra, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(fd.FuseError) as caught:
        capture(abs)
    assert f"package '{package}' is not installed" in str(caught.value)
    assert f"hint: {install_hint(extra)}" in str(caught.value)


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
def test_from_jax_takes_symbolic_sizes() -> None:
    jax = pytest.importorskip("jax")
    pytest.importorskip("llvmlite")
    from jax import export

    def scores(x, mask):
        return jax.nn.softmax(jax.numpy.where(mask, x @ x.mT, -1e9)) + x.shape[0]

    scope = export.SymbolicScope()
    examples = [
        jax.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), dtype)
        for shape, dtype in (("b, s, 4", np.float32), ("s, s", np.bool_))
    ]
    module = fd.from_jax(scores, *examples)
    for batch, length in ((2, 3), (1, 5)):
        x = np.random.default_rng(length).standard_normal((batch, length, 4)).astype(np.float32)
        mask = np.tril(np.ones((length, length), bool))
        expected = np.asarray(scores(x, mask))
        np.testing.assert_allclose(fd.run(module, x, mask)[0], expected, rtol=1e-5)
        np.testing.assert_allclose(fd.compile(module, cache=False)(x, mask)[0], expected, rtol=1e-5)
    with pytest.raises(fd.FuseError, match="size 's' is 3 on axis 1"):
        fd.run(module, np.zeros((2, 3, 4), np.float32), np.ones((4, 4), bool))
    with pytest.raises(fd.FuseError, match="Expected value >= 1 for dimension variable 'b'"):
        fd.run(module, np.zeros((0, 3, 4), np.float32), np.ones((3, 3), bool))


@pytest.fixture
def torch():
    """PyTorch, if it can export to ONNX."""
    module = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    return module


def assert_gives(module, network, *examples, **kwargs) -> None:
    """The module gives what the network gives in evaluation, leaf by leaf."""
    trees = pytest.importorskip("torch.utils._pytree")
    torch = pytest.importorskip("torch")
    with torch.no_grad():
        expected = trees.tree_leaves(network.eval()(*examples, **kwargs))
    inputs = [leaf.numpy() for leaf in trees.tree_leaves((examples, kwargs)) if isinstance(leaf, torch.Tensor)]
    found = fd.run(module, *inputs)
    assert [one.dtype for one in found] == [other.numpy().dtype for other in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-5, atol=1e-5)


def names_of(module) -> tuple[list[str], list[str]]:
    """The names of the arguments and results of `main`."""
    main = next(op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main")
    return tuple([entry.data["onnx.name"].data for entry in own] for own in (main.arg_attrs, main.res_attrs))


@pytest.mark.slow
def test_from_torch_runs_as_in_evaluation_and_leaves_modes_alone(torch) -> None:
    network = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3)
    )
    network.train()
    network[1].eval()
    x = torch.randn(2, 4)
    module = fd.from_torch(network, x)
    assert [part.training for part in network.modules()] == [True, True, False, True, True]
    assert_gives(module, network, x)


@pytest.mark.slow
def test_from_torch_takes_trees_and_gives_names(torch) -> None:
    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(7, 4)
            self.register_buffer("shift", torch.arange(4.0))

        def forward(self, tokens, pair, *, scale, times: int = 2, mask=None):
            y = self.table(tokens) * scale * times + self.shift + pair[0] - pair[1]
            return {"y": y, "best": (y.argmax(-1), y.sum(-1) > 0), "again": y}

    network = Network()
    examples = torch.randint(0, 7, (2, 3)), (torch.randn(3, 4), torch.randn(4))
    kwargs = {"scale": torch.tensor(2.0), "times": 3, "mask": None}
    module = fd.from_torch(network, *examples, kwargs=kwargs)
    arguments, results = names_of(module)
    assert arguments == ["tokens", "pair_0", "pair_1", "scale"]
    assert results == ["y", "best.0", "best.1", "again"]
    assert_gives(module, network, *examples, **kwargs)


@pytest.mark.slow
@pytest.mark.parametrize("marks", ["names", "dims"])
def test_from_torch_leaves_sizes_open(torch, marks) -> None:
    network = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    axes = {0: "batch", 1: "seq"} if marks == "names" else {0: torch.export.Dim("batch"), 1: torch.export.Dim("seq")}
    module = fd.from_torch(network, torch.randn(2, 5, 8), dynamic_shapes=(axes,))
    main = next(iter(module.ops))
    assert str(main.function_type.inputs.data[0]) == "tensor<?x?x8xf32>"
    assert [name.data for name in main.arg_attrs.data[0].data["fuse.sizes"]] == ["batch", "seq", ""]
    fused = fd.fuse_ops(module.clone())
    for shape in ((3, 7, 8), (1, 2, 8)):
        x = torch.randn(*shape)
        assert_gives(module, network, x)
        assert_gives(fused, network, x)


class TestFromTorchRefuses:
    """What cannot be exported, or not as it was asked for."""

    pytestmark = pytest.mark.slow

    def test_a_function(self, torch):
        with pytest.raises(fd.FuseError, match=r"expects a torch\.nn\.Module") as caught:
            fd.from_torch(torch.relu, torch.ones(2))
        assert "'forward'" in str(caught.value)

    def test_a_size_that_the_network_fixes(self, torch):
        class Fixed(torch.nn.Module):
            def forward(self, x):
                return x.reshape(2, 3).sum(1)

        with pytest.raises(fd.FuseError) as caught:
            fd.from_torch(Fixed(), torch.ones(2, 3), dynamic_shapes=({0: torch.export.Dim("batch")},))
        assert "'batch'" in str(caught.value)
        assert "dynamic_shapes" in str(caught.value)

    def test_control_flow_on_values(self, torch):
        class Branching(torch.nn.Module):
            def forward(self, x):
                return x + 1 if x.sum() > 0 else x - 1

        with pytest.raises(fd.FuseError, match="PyTorch cannot export 'Branching'"):
            fd.from_torch(Branching(), torch.ones(2, 3))

    def test_examples_that_do_not_fit(self, torch):
        with pytest.raises(fd.FuseError, match="PyTorch cannot export 'Linear'"):
            fd.from_torch(torch.nn.Linear(3, 4), torch.ones(2, 5))

    def test_an_operator_that_is_not_read(self, torch):
        class Random(torch.nn.Module):
            def forward(self, x):
                return x + torch.rand_like(x)

        with pytest.raises(fd.FuseError, match="RandomUniform"):
            fd.from_torch(Random(), torch.ones(2, 5))
