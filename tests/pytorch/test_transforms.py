"""Fourier transforms and complex numbers of PyTorch through `torch.compile`: one program, and PyTorch's results."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("llvmlite")

pytestmark = pytest.mark.slow


def mel(x):
    """The log-mel spectrogram that Whisper hears."""
    spectrum = torch.stft(x, 400, 160, window=torch.hann_window(400), return_complex=True)
    power = spectrum[..., :-1].abs() ** 2
    weights = torch.rand(80, 201, generator=torch.Generator().manual_seed(0)) / 50
    logs = torch.clamp(weights @ power, min=1e-10).log10()
    return (torch.maximum(logs, logs.amax(dim=(-2, -1), keepdim=True) - 8.0) + 4) / 4


FUNCTIONS = {
    "mel": lambda x, z, w: mel(x[0].repeat(400)[None]),
    "rfft": lambda x, z, w: torch.fft.irfft(torch.fft.rfft(x, norm="ortho") * 2, n=9, norm="ortho"),
    "two axes": lambda x, z, w: (torch.fft.fft2(x).abs(), torch.fft.irfft2(torch.fft.rfft2(x), s=(4, 9))),
    "norms": lambda x, z, w: tuple(f(z, norm=n) for f in (torch.fft.fft, torch.fft.ifft) for n in ("forward", "ortho")),
    "products": lambda x, z, w: (z * w, z * 1j, 2 * z, z / w, z / 3, z @ w.mT, z**2),
    "sums": lambda x, z, w: (z + 2 * w, z - x, z.sum(0), z.mean(), -z),
    "moves": lambda x, z, w: (torch.cat([z, w])[1:, ::2], z.T.reshape(-1), torch.stack([z, w]).conj()),
    "functions": lambda x, z, w: (z.exp(), z.log(), z.sqrt(), z.sin(), z.tanh(), z.angle(), z.abs()),
    "parts": lambda x, z, w: (z.real, w.imag, torch.view_as_real(z), torch.complex(x, -x)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_pytorch(name: str, caplog: pytest.LogCaptureFixture) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    given = torch.randn(4, 9), torch.randn(4, 9, dtype=torch.complex64), torch.randn(4, 9, dtype=torch.complex64)
    expected, found = FUNCTIONS[name](*given), torch.compile(FUNCTIONS[name], backend="fuse_dialect")(*given)
    assert not [record for record in caplog.records if "PyTorch runs" in record.message]
    many = isinstance(expected, tuple)
    for one, other in zip(found if many else [found], expected if many else [expected], strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one.resolve_conj().numpy(), other.resolve_conj().numpy(), rtol=1e-4, atol=1e-5)


def test_complex_numbers_as_real_ones_stay_with_pytorch() -> None:
    torch._dynamo.reset()
    z = torch.randn(3, dtype=torch.complex64)
    found = torch.compile(lambda z: z.prod(), backend="fuse_dialect")(z)
    np.testing.assert_allclose(found.numpy(), z.prod().numpy(), rtol=1e-5)


@pytest.mark.parametrize("shape", [(0, 2), (3, 0)])
def test_no_complex_numbers_are_a_result_of_their_shape(shape: tuple[int, ...]) -> None:
    torch._dynamo.reset()
    found = torch.compile(lambda z: (z * 2, z.mT + 1), backend="fuse_dialect")(
        torch.zeros(shape, dtype=torch.complex64)
    )
    assert [(tuple(each.shape), each.dtype) for each in found] == [
        (each, torch.complex64) for each in (shape, shape[::-1])
    ]
