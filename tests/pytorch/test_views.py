"""Results that show arguments or other results, at sizes that come one after the other."""

# PyTorch is no dependency of the checks.
# pyright: basic, reportMissingImports=false

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("llvmlite")

pytestmark = pytest.mark.slow


def of_one_result(x: Any) -> Any:
    y = x * 2
    return y, y[1:], y[:, 2:].t(), y.unsqueeze(0).expand(2, -1, -1)


def changed_in_place(x: Any) -> Any:
    y = x * 2
    z = y[1:]
    z.add_(1)
    return y, z


FUNCTIONS = {
    "of an argument": lambda x: (x.t(), x.flatten(), x[:, ::2], x.unsqueeze(0).expand(2, -1, -1)),
    "pieces": lambda x: (*x.chunk(2, 1), x.split(2, 1)[1]),
    "read besides": lambda x: (x.t(), x.t() * 2),
    "of another result": of_one_result,
    "changed in place": changed_in_place,
    "as strided": lambda x: x.as_strided((2, 2), (1, 1)),
    "the argument": lambda x: (x, x, x[1:]),
}


def behind_another(x: Any) -> Any:
    """The same elements at an offset in their memory."""
    return torch.cat([x.flatten()[:1], x.flatten()])[1:].view(x.shape)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_views_show_what_they_show_without_the_backend(name: str) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    function = FUNCTIONS[name]
    compiled = torch.compile(function, backend="fuse_dialect")
    rows = [torch.randn(3, 6), torch.randn(4, 8), torch.randn(3, 10), torch.randn(6, 8)]
    for x in (*rows, *map(behind_another, rows), torch.randn(1, 6).expand(3, 6), torch.randn(8, 4).t()):
        found, expected = compiled(x), function(x)
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for one, other in pairs:
            assert torch.equal(one, other)
            assert one.stride() == other.stride()
            shows = [each.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() for each in (one, other)]
            assert shows[0] == shows[1]
