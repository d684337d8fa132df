"""Networks that PyTorch exports and does not write as ONNX: `from_torch` reads them as operators of ATen."""

# PyTorch is no dependency of the checks.
# pyright: basic, reportMissingImports=false

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

import fuse_dialect as fd
from fuse_dialect.interpreters.entry import result_names

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
nn = torch.nn

pytestmark = pytest.mark.slow


class Spectral(nn.Module):
    """A layer of a Fourier neural operator: complex weights, and a part of a spectrum that is written."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 4, 2, 2, dtype=torch.cfloat))

    def forward(self, x: Any) -> Any:
        spectrum = torch.fft.rfft2(x)
        mixed = torch.zeros(x.shape[0], 4, *spectrum.shape[-2:], dtype=torch.cfloat)
        mixed[:, :, :2, :2] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :2, :2], self.weight)
        return torch.fft.irfft2(mixed, s=x.shape[-2:])


class Regression(nn.Module):
    """A Gaussian process: a factorization with a check of its errors, and results with names."""

    def forward(self, x: Any, y: Any) -> Any:
        kernel = torch.exp(-0.5 * torch.cdist(x, x) ** 2) + 0.1 * torch.eye(x.shape[0])
        factor = torch.linalg.cholesky(kernel)
        return {"mean": kernel @ torch.cholesky_solve(y[:, None], factor), "sum": factor.diagonal().log().sum()}


class Distances(nn.Module):
    """Distances one by one, of few rows, and by a product, of many."""

    def forward(self, x: Any, y: Any) -> Any:
        few = x[:, :5], y[:5]
        city = torch.cdist(x, y, p=1.0)
        return torch.cdist(*few), torch.cdist(x, y), city, torch.linalg.det(x @ x.mT)


class Counted(nn.Module):
    """Counts its calls, and is not written as ONNX."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("n", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        self.n.add_(1)
        return torch.linalg.slogdet(x)[1] + self.n, None, x.sum()


class Complex(nn.Module):
    """Takes complex numbers and gives some."""

    def forward(self, z: Any) -> Any:
        return torch.polar(z.abs(), 2 * z.angle())


class Unread(nn.Module):
    """Has an operator that nobody reads."""

    def forward(self, x: Any) -> Any:
        return torch.special.i0(torch.linalg.inv(x))


def check(module: Any, inputs: list[Any], expected: list[Any]) -> None:
    for results in (fd.run(module, *inputs), fd.compile(module, cache=False)(*inputs)):
        for found, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_complex_weights_and_spectra() -> None:
    network, x = Spectral().eval(), torch.randn(2, 3, 8, 8)
    check(fd.from_torch(network, x), [x.numpy()], [network(x)])


def test_checks_of_factorizations_are_left_out_and_results_keep_their_names() -> None:
    network, x, y = Regression(), torch.randn(6, 2), torch.randn(6)
    module = fd.from_torch(network, x, y)
    expected = network(x, y)
    check(module, [x.numpy(), y.numpy()], [expected["mean"], expected["sum"]])
    main = next(op for op in module.ops if isinstance(op, FuncOp))
    assert result_names(main) == ["mean", "sum"]


def test_distances() -> None:
    network, x, y = Distances(), torch.randn(2, 30, 4), torch.randn(28, 4)
    check(fd.from_torch(network, x, y), [x.numpy(), y.numpy()], list(network(x, y)))


def test_state_that_is_lost_is_said() -> None:
    network, x = Counted(), torch.randn(3, 3)
    with pytest.warns(fd.LostStateWarning, match=r"'Counted' updates buffer 'n' \(test_exports.py:\d+\)"):
        module = fd.from_torch(network, x)
    determinant, _, total = network(x)
    check(module, [x.numpy()], [determinant, total])


def test_complex_tensors_are_pairs() -> None:
    z = torch.randn(3, 4, dtype=torch.cfloat)
    with warnings.catch_warnings():
        warnings.simplefilter("error", fd.LostStateWarning)
        module = fd.from_torch(Complex(), z)
    check(module, [torch.view_as_real(z).numpy()], [torch.view_as_real(Complex()(z))])


def test_an_exported_program_is_taken_as_it_is() -> None:
    x = torch.randn(2, 3, 8, 8)
    network = Spectral().eval()
    check(fd.from_torch(torch.export.export(network, (x,))), [x.numpy()], [network(x)])


def test_an_operator_without_a_rule_is_named_with_its_line() -> None:
    with pytest.raises(fd.FuseError) as caught:
        fd.from_torch(Unread(), torch.randn(3, 3))
    assert "Unread: error: operator 'aten.i0.default' is not supported: no rule" in str(caught.value)
    assert "test_exports.py:" in str(caught.value)


def test_open_sizes_need_onnx() -> None:
    with pytest.raises(fd.FuseError, match="PyTorch cannot export 'Regression'"):
        fd.from_torch(Regression(), torch.randn(6, 2), torch.randn(6), dynamic_shapes=({1: "columns"}, {}))


class Branching(nn.Module):
    """A branch beside an operator that is not written as ONNX."""

    def forward(self, x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,)) + torch.linalg.inv(x)


def test_branches_are_not_read_so() -> None:
    with pytest.raises(fd.FuseError, match="operator 'cond' is not supported: a value that is no tensor"):
        fd.from_torch(Branching(), torch.randn(3, 3))


def test_open_sizes_of_an_exported_program_are_refused() -> None:
    rows = torch.export.Dim("rows", min=2, max=20)
    x, y = torch.randn(6, 2), torch.randn(6)
    program = torch.export.export(Regression(), (x, y), dynamic_shapes=({0: rows}, {0: rows}))
    with pytest.raises(fd.FuseError, match=r"not read with input 'x': a size is open"):
        fd.from_torch(program)


class Means(torch.nn.Module):
    """Which PyTorch 2.14 writes as ONNX that keeps the last of what is scattered."""

    def forward(self, x: Any, places: Any) -> Any:
        """The mean of the rows that go to each of four places."""
        return torch.zeros(4, 3).scatter_reduce(0, places[:, None].expand_as(x), x, "mean", include_self=False)


def test_means_that_are_scattered_are_read_by_aten() -> None:
    x, places = torch.randn(6, 3), torch.tensor([2, 0, 2, 1, 2, 0])
    (found,) = fd.run(fd.from_torch(Means(), x, places), x.numpy(), places.numpy())
    np.testing.assert_allclose(found, Means()(x, places).numpy(), rtol=1e-6)


def test_means_that_are_scattered_have_no_open_sizes() -> None:
    x, places = torch.randn(6, 3), torch.tensor([2, 0, 2, 1, 2, 0])
    sizes = ({0: torch.export.Dim("rows", min=2, max=64)},) * 2
    with pytest.raises(fd.FuseError, match="'scatter_reduce' with 'mean'"):
        fd.from_torch(Means(), x, places, dynamic_shapes=sizes)


class Unlike(torch.nn.Module):
    """Which PyTorch 2.14 writes as a division of f32 by i64."""

    def forward(self, x: Any) -> Any:
        """Running means."""
        return x.cumsum(-1) / torch.arange(1, x.shape[-1] + 1.0)


def test_nodes_that_onnx_does_not_allow_are_read_by_aten() -> None:
    x = torch.randn(3, 5)
    (found,) = fd.run(fd.from_torch(Unlike(), x), x.numpy())
    np.testing.assert_allclose(found, Unlike()(x).numpy(), rtol=1e-6)


EDGES = torch.tensor(
    [torch.inf, -torch.inf, torch.nan, -0.0, 0.0, 1.0, -1.0, 0.3, 0.1, 1e-3, -1e-6, 9.0, -9.0, 120.0, -120.0]
)
ONE: dict[str, Any] = {
    "erfc": torch.erfc,
    "erfcx": torch.special.erfcx,
    "expm1": torch.expm1,
    "log1p": torch.log1p,
    "log_ndtr": torch.special.log_ndtr,
    "log_sigmoid": torch.nn.functional.logsigmoid,
    "sign": torch.sign,
    "signbit": torch.signbit,
}
TWO: dict[str, Any] = {
    "atan2": torch.atan2,
    "copysign": torch.copysign,
    "div": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "floor_divide": torch.floor_divide,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "heaviside": torch.heaviside,
    "hypot": torch.hypot,
    "logaddexp": torch.logaddexp,
    "logaddexp2": torch.logaddexp2,
    "remainder": torch.remainder,
    "xlog1py": torch.special.xlog1py,
    "xlogy": torch.xlogy,
}
NO_HALVES = {"erfcx", "log_ndtr"}
"""Functions that PyTorch has for f32 and f64 alone."""


class Function(torch.nn.Module):
    """One function of tensors."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any, *others: Any) -> Any:
        return self.function(x, *others)


@pytest.mark.parametrize("is_open", [False, True], ids=["known", "open"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_functions_that_onnx_has_for_most_numbers_are_written_for_all(name: str, dtype: Any, is_open: bool) -> None:
    if name in NO_HALVES and dtype == torch.bfloat16:
        pytest.skip("PyTorch has no such function")
    x, y = (each.reshape(-1).to(dtype) for each in torch.meshgrid(EDGES, EDGES, indexing="ij"))
    inputs = (x,) if name in ONE else (x, y)
    function = {**ONE, **TWO}[name]
    sizes = {"x": {0: "n"}, **({"others": ({0: "n"},)} if name in TWO else {})} if is_open else None
    module = fd.from_torch(Function(function), *inputs, dynamic_shapes=sizes)
    arrays = [
        each.float().numpy().astype(ml_dtypes.bfloat16) if dtype == torch.bfloat16 else each.numpy() for each in inputs
    ]
    (found,) = fd.run(module, *arrays)
    # PyTorch rounds floats of 16 bits after each step of some of these.
    most = {torch.float32: 2e-6, torch.float64: 1e-13, torch.bfloat16: 2e-2}[dtype]
    expected = function(*inputs)
    wide = expected.numpy() if expected.dtype == torch.bool else expected.double().numpy()
    # The sign of a nan is nothing.
    is_number = ~np.isnan(inputs[-1].double().numpy())
    np.testing.assert_allclose(found.astype(wide.dtype)[is_number], wide[is_number], rtol=most, atol=most / 20)
    # Which of two zeros is greater, PyTorch leaves to the processor; a logarithm of nearly 1 may have either sign.
    if name not in ("fmax", "fmin", "logaddexp2") and dtype != torch.bfloat16:
        is_number &= ~np.isnan(wide.astype(float))
        signs = [np.signbit(each.astype(float))[is_number] for each in (found, wide)]
        np.testing.assert_array_equal(*signs)


@pytest.mark.parametrize("is_open", [False, True], ids=["known", "open"])
@pytest.mark.parametrize(
    "function",
    [lambda x: torch.log(x + 1e-10), lambda x: (x - 1e-9) * 1e9, lambda x: (x + 1) * 1.000005 - 1],
    ids=["added", "subtracted", "multiplied"],
)
def test_numbers_near_0_and_1_are_not_taken_for_them(function: Any, is_open: bool) -> None:
    x = torch.zeros(3)
    module = fd.from_torch(Function(function), x, dynamic_shapes={"x": {0: "n"}} if is_open else None)
    np.testing.assert_allclose(fd.run(module, x.numpy())[0], function(x).numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [lambda x: x * 0.1, lambda x: torch.where(x > 0.1 * x + 1.8, x, 0.1), lambda x: x.clamp(0.1, 1.1)],
    ids=["times", "where", "clamp"],
)
def test_numbers_beside_f64_have_its_digits(function: Any) -> None:
    x = torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64)
    np.testing.assert_allclose(fd.run(fd.from_torch(Function(function), x), x.numpy())[0], function(x), rtol=1e-15)


@pytest.mark.parametrize("rounding", ["trunc", "floor"])
def test_integers_are_divided_as_integers(rounding: str) -> None:
    x, y = torch.tensor([2**62 + 1, -(2**62) - 1, -(2**63), 7, -7]), torch.tensor([3, 3, 3, -2, -2])
    module = fd.from_torch(Function(lambda x, y: torch.div(x, y, rounding_mode=rounding)), x, y)
    (found,) = fd.run(module, x.numpy(), y.numpy())
    np.testing.assert_array_equal(found, torch.div(x, y, rounding_mode=rounding).numpy())


def test_a_loss_of_large_logits_is_finite() -> None:
    x, y = torch.tensor([-200.0, 200.0, 0.0]), torch.tensor([1.0, 0.0, 1.0])
    loss = nn.BCEWithLogitsLoss(reduction="none")
    (found,) = fd.run(fd.from_torch(loss, x, y), x.numpy(), y.numpy())
    np.testing.assert_allclose(found, loss(x, y).numpy(), rtol=1e-6)


def test_pools_with_a_divisor_are_read_by_aten() -> None:
    pool, x = nn.AvgPool2d(3, 2, 1, divisor_override=5), torch.randn(2, 3, 7, 6)
    (found,) = fd.run(fd.from_torch(pool, x), x.numpy())
    np.testing.assert_allclose(found, pool(x).numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(fd.FuseError, match="'avg_pool2d' with 'divisor_override'"):
        fd.from_torch(pool, x, dynamic_shapes=({0: "rows"},))
