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
SPECTRUM = torch.randn(3, 5, dtype=torch.cfloat)
SOUND, WINDOW = torch.randn(2, 32), torch.ones(4)
CASES = {
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
