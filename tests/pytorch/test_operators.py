"""Operators that `torch.compile` leaves to nobody: PyTorch's own results, and the element types that it gives."""

# PyTorch is no dependency of the checks.
# pyright: basic, reportMissingImports=false

import logging

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("llvmlite")
F = torch.nn.functional

pytestmark = pytest.mark.slow

torch.manual_seed(0)
X, IMAGES = torch.randn(3, 7), torch.randn(1, 2, 12, 10)
SCALES = torch.tensor([1e-4, 1, 9])[:, None, None]
WEIGHT = torch.randn(2, 4, 3, 3)
SPECTRUM = torch.randn(3, 5, dtype=torch.cfloat)
SOUND, WINDOW = torch.randn(2, 32), torch.ones(4)
LINE = torch.tensor([1.0, 3, torch.nan, 3, 2, 5, torch.nan])
TABLE, ROW = torch.nn.Embedding(9, 4).requires_grad_(False).weight, torch.tensor([1, 2, 4, 5, 4, 0, 4])
STARTS, WEIGHTS = torch.tensor([0, 2, 2]), torch.randn(7)
"""The second of three bags is empty."""


def bags(mode: str, starts: torch.Tensor | None = STARTS, **options: object) -> object:
    return lambda indices: F.embedding_bag(indices, TABLE, starts, mode=mode, **options)


CASES = {
    "exponentials of matrices": (
        torch.linalg.matrix_exp,
        torch.randn(3, 4, 4) * torch.tensor([1e-4, 1, 9])[:, None, None],
    ),
    "an exponential in f64": (torch.linalg.matrix_exp, torch.randn(5, 5).double() * 4),
    "exponentials of no matrices": (torch.linalg.matrix_exp, torch.zeros(0, 3, 3)),
    "cummax": (lambda x: torch.cummax(x, 1), X),
    "cummax of nans": (lambda x: torch.cummax(x, 0), LINE),
    "cummin of integers": (lambda x: torch.cummin(x, 0), torch.tensor([3, 1, 2, 1, -5, 7])),
    "cummin of bf16": (lambda x: torch.cummin(x, -1), X.bfloat16()),
    "shifts": (lambda x: (x >> 2, x << 3), torch.tensor([-9, 3, 200])),
    "a diagonal": (lambda x: x.diagonal_scatter(x[:, 0] * 2, -1, 1, 0), torch.randn(3, 4)),
    "lists": (
        lambda x: tuple(torch._foreach_addcmul(torch._foreach_pow(2.0, [x, x[0]]), [x, x[1]], [x, x[2]], 0.5)),
        X,
    ),
    "lists of numbers": (lambda x: tuple(torch._foreach_maximum(torch._foreach_add([x, x[0]], [1.0, 2.0]), 0.5)), X),
    "bags, sum": (bags("sum"), ROW),
    "bags, weighed": (bags("sum", per_sample_weights=WEIGHTS, padding_idx=4), ROW),
    "bags, mean": (bags("mean", padding_idx=4), ROW),
    "bags, mean of equal lengths": (bags("mean", None, padding_idx=4), torch.stack([ROW, ROW * 0 + 4])),
    "bags, max": (bags("max"), ROW),
    "bags, max of equal lengths": (bags("max", None, padding_idx=4), torch.stack([ROW, ROW * 0 + 4])),
    "bags, to the last": (bags("sum", torch.tensor([0, 3, 7]), include_last_offset=True), ROW),
    "erfc": (torch.erfc, X * 3),
    "erfc of bf16": (torch.erfc, X.bfloat16()),
    "erfinv": (torch.erfinv, torch.tanh(X)),
    "lgamma": (torch.lgamma, X * 5),
    "digamma": (torch.digamma, X.abs() * 5 + 0.1),
    "kthvalue": (lambda x: torch.kthvalue(x, 3, 1), X),
    "median": (lambda x: torch.median(x, 1), X),
    "tril_indices": (lambda x: x[:3, :3][tuple(torch.tril_indices(3, 3))], X),
    "bilinear, smaller": (lambda x: F.interpolate(x, (5, 7), mode="bilinear", antialias=True), IMAGES),
    "bicubic, smaller": (lambda x: F.interpolate(x, (5, 7), mode="bicubic", antialias=True), IMAGES),
    "bicubic, larger": (lambda x: F.interpolate(x, (25, 17), mode="bicubic", antialias=True), IMAGES),
    "bilinear, by a factor": (lambda x: F.interpolate(x, scale_factor=0.6, mode="bilinear", antialias=True), IMAGES),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (3, 5), return_indices=True), IMAGES),
    "istft": (
        lambda x: torch.istft(torch.stft(x, 4, return_complex=True, window=torch.ones(4)), 4),
        torch.randn(2, 32),
    ),
    "complex pads": (lambda z: F.pad(z.real, (1, 2)) + F.pad(z, (1, 2)), SPECTRUM),
}


@pytest.mark.filterwarnings("ignore:A window was not provided")  # PyTorch traces one of ones without it
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_pytorch(name: str, caplog: pytest.LogCaptureFixture) -> None:
    torch._dynamo.reset()
    function, x = CASES[name]
    expected = function(x)
    with caplog.at_level(logging.WARNING, "fuse_dialect.pytorch"):
        found = torch.compile(function, backend="fuse_dialect")(x)
    assert "PyTorch runs" not in caplog.text
    many = isinstance(expected, tuple)
    for one, other in zip(found if many else [found], expected if many else [expected], strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        close = (each.float().numpy() if each.dtype == torch.bfloat16 else each.numpy() for each in (one, other))
        np.testing.assert_allclose(*close, rtol=2e-5, atol=5e-6)


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("padding", [None, 4])
def test_gradients_of_bags_are_those_of_pytorch(
    mode: str, padding: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    torch._dynamo.reset()
    bag = torch.nn.EmbeddingBag(9, 4, mode=mode, padding_idx=padding)

    def gradient(function: torch.nn.Module) -> np.ndarray:
        bag.weight.grad = None
        (function(ROW, STARTS) ** 2).sum().backward()
        return bag.weight.grad.numpy()

    expected = gradient(bag)
    with caplog.at_level(logging.WARNING, "fuse_dialect.pytorch"):
        np.testing.assert_allclose(gradient(torch.compile(bag, backend="fuse_dialect")), expected, rtol=2e-5, atol=5e-6)
    assert "PyTorch runs" not in caplog.text


def scattered(reduce: str, include_self: bool) -> object:
    places = torch.tensor([2, 0, 2])[:, None].expand(3, 7)
    return lambda x: torch.ones(4, 7).scatter_reduce(0, places, x, reduce, include_self=include_self)


GRADIENTS = {
    "transposed convolution": (lambda x: F.conv_transpose2d(x, WEIGHT, None, 2, 1, 1), IMAGES),
    "transposed, of groups": (lambda x: F.conv_transpose1d(x[:, :, 0], WEIGHT[..., 0], None, 3, 1, 0, 2, 2), IMAGES),
    "its weight": (lambda w: F.conv_transpose2d(IMAGES, w, None, 2, 1, 1), WEIGHT),
    "the weight of groups": (lambda w: F.conv_transpose1d(IMAGES[:, :, 0], w, None, 3, 1, 0, 2, 2), WEIGHT[..., 0]),
    "exponential": (torch.linalg.matrix_exp, X[:, :3]),
    "distances": (lambda x: torch.cdist(x, x.flip(0) * 2), X),
    "distances of order 1": (lambda x: torch.cdist(x, x.flip(0) * 2, p=1.0), X),
    "weight norm": (lambda x: torch._weight_norm(x, x[:, :1] ** 2, 0), X),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_pytorch(name: str, caplog: pytest.LogCaptureFixture) -> None:
    torch._dynamo.reset()
    function, given = GRADIENTS[name]

    def gradient(called: object) -> np.ndarray:
        x = given.clone().requires_grad_()
        torch.sin(called(x)).sum().backward()
        return x.grad.numpy()

    with caplog.at_level(logging.WARNING, "fuse_dialect.pytorch"):
        found = gradient(torch.compile(function, backend="fuse_dialect"))
    assert "PyTorch runs" not in caplog.text
    np.testing.assert_allclose(found, gradient(function), rtol=5e-5, atol=1e-5)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_what_is_scattered_is_combined_as_by_pytorch(
    reduce: str, include_self: bool, caplog: pytest.LogCaptureFixture
) -> None:
    torch._dynamo.reset()
    function = scattered(reduce, include_self)
    with caplog.at_level(logging.WARNING, "fuse_dialect.pytorch"):
        found = torch.compile(function, backend="fuse_dialect")(X)
    assert "PyTorch runs" not in caplog.text
    np.testing.assert_allclose(found.numpy(), function(X).numpy(), rtol=2e-6)


LAYERS = {
    "of two directions": (torch.nn.LSTM(5, 6, 2, bidirectional=True, batch_first=True), torch.randn(2, 4, 5)),
    "without biases": (torch.nn.LSTM(5, 6, bias=False), torch.randn(4, 2, 5)),
    "without a batch": (torch.nn.LSTM(5, 6), torch.randn(4, 5)),
    "GRU": (torch.nn.GRU(5, 6, bidirectional=True), torch.randn(4, 2, 5)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_recurrent_layers_are_one_program_where_they_are_traced(name: str, caplog: pytest.LogCaptureFixture) -> None:
    torch._dynamo.reset()
    layer, x = LAYERS[name]
    with (
        torch.no_grad(),
        torch._dynamo.config.patch(allow_rnn=True),
        caplog.at_level(logging.INFO, "fuse_dialect.pytorch"),
    ):
        found = torch.utils._pytree.tree_leaves(torch.compile(layer, backend="fuse_dialect")(x))
        expected = torch.utils._pytree.tree_leaves(layer(x))
    assert "is one program" in caplog.text
    assert "PyTorch runs" not in caplog.text
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=2e-5, atol=5e-6)
