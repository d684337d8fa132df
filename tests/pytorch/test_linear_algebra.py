"""Linear algebra of PyTorch through `torch.compile`: what it computes, and that errors of singular matrices stay."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("llvmlite")

pytestmark = pytest.mark.slow

FUNCTIONS = {
    "solve": lambda a, b: torch.linalg.solve(a, b),
    "inv": lambda a, b: torch.linalg.inv(a),
    "det": lambda a, b: torch.linalg.det(a),
    "slogdet": lambda a, b: torch.linalg.slogdet(a),
    "cholesky": lambda a, b: torch.linalg.cholesky(a @ a.mT + torch.eye(5)),
    "cholesky_solve": lambda a, b: torch.cholesky_solve(b, torch.linalg.cholesky(a @ a.mT + torch.eye(5))),
    "qr": lambda a, b: torch.linalg.qr(a[:, :3]),
    "eigh": lambda a, b: torch.linalg.eigh(a + a.mT)[0],
    "svd": lambda a, b: torch.linalg.svd(a[:, :3], full_matrices=False)[1],
    "triangular": lambda a, b: torch.linalg.solve_triangular(a, b, upper=True),
    "lu": lambda a, b: torch.linalg.lu_factor(a),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_pytorch(name: str) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    a, b = torch.rand(5, 5) + 2 * torch.eye(5), torch.rand(5, 2)
    expected, found = FUNCTIONS[name](a, b), torch.compile(FUNCTIONS[name], backend="fuse_dialect")(a, b)
    many = isinstance(expected, tuple)
    for one, other in zip(found if many else [found], expected if many else [expected], strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("function", [torch.linalg.inv, torch.linalg.cholesky], ids=["inv", "cholesky"])
def test_matrices_that_fail_are_errors_as_in_pytorch(function) -> None:
    torch._dynamo.reset()
    with pytest.raises(RuntimeError, match=r"could not be completed|singular"):
        torch.compile(function, backend="fuse_dialect")(torch.zeros(3, 3))


WITH_GRADIENTS = {
    "det": lambda a, b: torch.linalg.det(a),
    "det of a transpose": lambda a, b: torch.linalg.det(a.mT),
    "slogdet": lambda a, b: torch.linalg.slogdet(a)[1],
    "slogdet of a transpose": lambda a, b: torch.linalg.slogdet(a.mT)[1],
    "solve": lambda a, b: torch.linalg.solve(a, b),
    "solve with a transpose": lambda a, b: torch.linalg.solve(a.mT, b),
    "solve from the right": lambda a, b: torch.linalg.solve(a, b.mT, left=False),
    "inv": lambda a, b: torch.linalg.inv(a),
    "lu_solve": lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b),
}


@pytest.mark.parametrize("name", WITH_GRADIENTS)
def test_gradients_that_read_factors_are_those_of_pytorch(name: str) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    function = WITH_GRADIENTS[name]
    matrices, columns = torch.rand(2, 4, 4) + torch.eye(4), torch.rand(2, 4, 3)

    def gradient(call, dtype):
        a = matrices.to(dtype, copy=True).requires_grad_()
        result = call(a, columns.to(dtype))
        (result * torch.linspace(0.5, 1, result.numel(), dtype=dtype).reshape(result.shape)).sum().backward()
        return a.grad.double().numpy()

    found = gradient(torch.compile(function, backend="fuse_dialect"), torch.float32)
    np.testing.assert_allclose(found, gradient(function, torch.float64), rtol=1e-3, atol=1e-4)
