"""`torch.compile` with this backend gives what PyTorch gives; where PyTorch is not installed, nothing is tested."""

# PyTorch is no dependency of the checks.
# pyright: basic, reportMissingImports=false

import copy
import logging
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("llvmlite")

from fuse_dialect.pytorch import backend  # noqa: E402  # needs PyTorch

nn = torch.nn


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Every test traces anew, and hears what others were told."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    backend._told.clear()
    return


def compiled(module: Any, **options: Any) -> Any:
    """The module by this backend, on one thread."""
    return torch.compile(module, backend="fuse_dialect", options={"threads": 1, "cache": False, **options})


def close(ours: Any, theirs: Any, tolerance: float = 1e-5) -> None:
    """Tensors must be equal, but for the order of sums."""
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance, check_stride=False)


def network() -> Any:
    """Products, a norm and a softmax."""
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3), nn.Softmax(-1)).eval()


def test_the_entry_point_is_known() -> None:
    assert "fuse_dialect" in torch._dynamo.list_backends()


@pytest.mark.parametrize("options", [{}, {"strategy": "cost"}])
def test_results_are_those_of_pytorch(options: dict[str, Any]) -> None:
    module, x = network(), torch.randn(4, 6)
    with torch.no_grad():
        close(compiled(module, **options)(x), module(x))


def test_parameters_are_followed() -> None:
    module, x = network(), torch.randn(4, 6)
    other = network().state_dict()
    call = compiled(module)
    with torch.no_grad():
        call(x)
        module[0].weight.mul_(2)
        close(call(x), module(x))
        module.load_state_dict(other)
        close(call(x), module(x))


def test_parameters_that_change_through_data_are_followed() -> None:
    module, x = network(), torch.randn(4, 6)
    call = compiled(module)
    with torch.no_grad():
        call(x)
        module[3].weight.data -= 0.5
        close(call(x), module(x))


def test_a_parameter_that_is_replaced_is_followed() -> None:
    module, x = network(), torch.randn(4, 6)
    call = compiled(module)
    with torch.no_grad():
        call(x)
        module[0].weight = nn.Parameter(torch.randn(8, 6))
        close(call(x), module(x))


class Counting(nn.Module):
    """A buffer that each call changes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        """The sum, and how often it was asked for."""
        self.count.add_(1)
        return x.sum() * self.count


def test_buffers_keep_their_state() -> None:
    module = Counting()
    call = compiled(module)
    with torch.no_grad():
        assert [float(call(torch.ones(3))) for _ in range(3)] == [3, 6, 9]
    assert float(module.count) == 3


def test_inputs_are_changed_in_place() -> None:
    def step(x: Any) -> Any:
        x.add_(1)
        return x * 2

    ours, theirs = torch.zeros(4), torch.zeros(4)
    close(compiled(step)(ours), step(theirs))
    close(ours, theirs)


def test_batch_norm_trains() -> None:
    module = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2))
    twin, x = copy.deepcopy(module), torch.randn(2, 2, 6, 6)
    call = compiled(module)
    for _ in range(3):
        close(call(x), twin(x))
    close(module[1].running_var, twin[1].running_var)
    assert int(module[1].num_batches_tracked) == 3


class Block(nn.Module):
    """A transformer's."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.project, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x: Any) -> Any:
        """Attention with a causal mask, and a residual."""
        q, k, v = (each.unflatten(-1, (2, 8)).transpose(1, 2) for each in self.project(self.norm(x)).chunk(3, -1))
        attention = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(attention.transpose(1, 2).flatten(2))


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (network, (4, 6)),
        (Block, (2, 5, 16)),
        (lambda: nn.Sequential(nn.Conv2d(2, 3, 3, 2, 1), nn.BatchNorm2d(3), nn.SiLU(), nn.Flatten()), (2, 2, 6, 6)),
    ],
    ids=["mlp", "attention", "cnn"],
)
def test_gradients_are_those_of_pytorch(build: Any, shape: tuple[int, ...]) -> None:
    module = build().train()
    twin = copy.deepcopy(module)
    x, y = (torch.randn(shape, requires_grad=True) for _ in range(2))
    y.data.copy_(x.data)
    ours, theirs = compiled(module)(x), twin(y)
    close(ours, theirs)
    weights = torch.randn_like(theirs)
    (ours * weights).sum().backward()
    (theirs * weights).sum().backward()
    close(x.grad, y.grad, 1e-4)
    for one, other in zip(module.parameters(), twin.parameters(), strict=True):
        close(one.grad, other.grad, 1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.int64])
def test_element_types(dtype: Any) -> None:
    def function(x: Any, y: Any) -> Any:
        return x * 2 + y, (x > y).sum(), torch.where(x > y, x, y).to(torch.float32)

    x, y = (torch.randint(-9, 9, (3, 4)).to(dtype) for _ in range(2))
    for ours, theirs in zip(compiled(function)(x, y), function(x, y), strict=True):
        close(ours, theirs)


def test_tensors_of_any_order_and_none() -> None:
    def function(x: Any) -> Any:
        return x.exp().sum(0), x.t() + 1

    for x in (torch.randn(4, 3).t(), torch.randn(8, 6)[::2, ::2], torch.randn(0, 3), torch.randn(1, 1).expand(3, 4)):
        torch._dynamo.reset()
        for ours, theirs in zip(compiled(function)(x), function(x), strict=True):
            close(ours, theirs)


def test_sizes_that_change() -> None:
    module = network()
    call = torch.compile(module, backend="fuse_dialect", dynamic=True)
    with torch.no_grad():
        for rows in (1, 4, 7, 4, 0):
            x = torch.randn(rows, 6)
            close(call(x), module(x))


def test_what_has_no_rule_stays_and_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    def function(x: Any) -> Any:
        return torch.special.bessel_j0(x.exp()) * 2 + torch.special.bessel_j0(x)

    x = torch.randn(8)
    with caplog.at_level(logging.WARNING, "fuse_dialect.pytorch"):
        close(compiled(function)(x), function(x))
    told = [record.getMessage() for record in caplog.records]
    assert sum("bessel" in text for text in told) == 1
    assert "test_backend.py" in told[0]


def test_parts_know_parameters_as_constants() -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.behind = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            return self.behind(torch.fft.fft(self.before(x)).real)

    module, x = Broken(), torch.randn(2, 8)
    call = compiled(module)
    with torch.no_grad():
        close(call(x), module(x), 1e-4)
        module.behind.bias.add_(1)
        close(call(x), module(x), 1e-4)


def test_constants_of_the_program() -> None:
    def function(x: Any) -> Any:
        return x / torch.sqrt(torch.tensor(64.0)) + torch.tensor([1.0, 2.0])

    x = torch.randn(3, 2)
    close(compiled(function)(x), function(x))


def test_a_graph_break_is_none_of_our_business() -> None:
    def function(x: Any) -> Any:
        y = x.exp()
        torch._dynamo.graph_break()
        return y.sum() if float(y.sum()) > 0 else y

    x = torch.randn(5)
    close(compiled(function)(x), function(x))


def test_dropout_stays_random() -> None:
    module = nn.Sequential(nn.Linear(8, 64), nn.Dropout(0.5)).train()
    x = torch.randn(4, 8, requires_grad=True)
    call = compiled(module)
    first, second = call(x), call(x)
    assert (first == 0).any()
    assert ((first == 0) != (second == 0)).any()
    first.sum().backward()
    assert x.grad is not None


def test_results_are_not_overwritten_by_the_next_call() -> None:
    call = compiled(lambda x: x + 1)
    first = call(torch.zeros(4))
    call(torch.ones(4))
    close(first, torch.ones(4))


def test_the_log_says_how_much_of_a_graph_is_a_program(caplog: pytest.LogCaptureFixture) -> None:
    class Mixed(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.special.bessel_j0(torch.relu(x)).abs() + 1

    caplog.set_level(logging.INFO, "fuse_dialect.pytorch")
    with torch.no_grad():
        compiled(network())(torch.randn(4, 6))
        compiled(Mixed())(torch.randn(4, 6))
    said = [record.getMessage() for record in caplog.records if record.levelname == "INFO"]
    assert said[0].endswith("operators is one program")
    assert "stay PyTorch's, the others are" in said[1]
