"""Gradients of networks for images: as exact as PyTorch's own, by the same loss in 64 bits."""

# PyTorch is no dependency of the checks.
# pyright: basic, reportMissingImports=false

import copy
from itertools import pairwise
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("llvmlite")

nn = torch.nn
functional = torch.nn.functional

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def compiled(f: Any) -> Any:
    return torch.compile(f, backend="fuse_dialect", options={"threads": 1, "cache": False})


def distance(one: Any, other: Any) -> float:
    """The greatest difference, over the greatest element."""
    return float((one.double() - other.double()).abs().max() / other.double().abs().max())


@pytest.mark.parametrize(
    ("size", "window", "stride", "padding", "dilation", "groups", "batch"),
    [
        ([9], 3, 1, 1, 1, 1, 2),
        ([9], 3, 2, 0, 2, 2, 1),
        ([9, 8], 1, 1, 0, 1, 1, 3),
        ([9, 8], 3, 1, 1, 1, 1, 3),
        ([9, 8], 3, 1, 1, 1, 2, 3),
        ([9, 8], 3, 1, 2, 2, 1, 1),
        ([9, 8], 3, 2, 1, 1, 1, 3),
        ([9, 8], 1, 1, 2, 1, 1, 2),  # wider padding than a window: no convolution of the gradient
        ([9, 8], 2, 3, 1, 2, 2, 1),
        ([12, 11], 7, 2, 3, 1, 1, 2),  # more places than have slices of their own
        ([12, 11], 7, 1, 3, 1, 1, 1),
        ([5, 6, 4], 3, 1, 1, 1, 1, 2),
        ([5, 6, 4], 2, 2, 1, 1, 2, 1),
    ],
)
def test_gradients_of_convolutions(
    size: list[int], window: int, stride: int, padding: int, dilation: int, groups: int, batch: int
) -> None:
    rank = len(size)
    x = torch.randn(batch, 4, *size, requires_grad=True)
    w = torch.randn(6, 4 // groups, *[window] * rank, requires_grad=True)
    convolution = (functional.conv1d, functional.conv2d, functional.conv3d)[rank - 1]

    def f(x: Any, w: Any) -> Any:
        return convolution(x, w, None, stride, padding, dilation, groups)

    y = f(x, w)
    cotangent = torch.randn_like(y)
    expected = torch.autograd.grad(y, (x, w), cotangent)
    found = torch.autograd.grad(compiled(f)(x, w), (x, w), cotangent)
    for one, other in zip(found, expected, strict=True):
        assert distance(one, other) < 1e-5


class Block(nn.Module):
    """Two convolutions with norms, and a way around them."""

    def __init__(self, inputs: int, outputs: int, stride: int, act: Any):
        super().__init__()
        self.one = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.two = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outputs) for _ in range(3)])
        self.around = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
        self.act = act

    def forward(self, x: Any) -> Any:
        y = self.norms[1](self.two(self.act(self.norms[0](self.one(x)))))
        return self.act(y + self.norms[2](self.around(x)))


def network(act: Any) -> Any:
    """A ResNet of five blocks."""
    widths = (16, 16, 32, 32, 64, 64)
    blocks = [Block(one, two, 1 + (one != two), act) for one, two in pairwise(widths)]
    stem = [nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).train()


def gradients(module: Any, call: Any, x: Any) -> list[Any]:
    module.zero_grad()
    call(x).square().mean().backward()
    return [parameter.grad.clone() for parameter in module.parameters()]


def test_gradients_of_a_resnet_are_as_exact_as_those_of_pytorch() -> None:
    """Of a smooth one. Where `relu` meets a number that rounding brings over 0, no gradient of 32 bits is exact."""
    module = network(functional.softplus)
    x = torch.randn(2, 3, 64, 64)
    exact = copy.deepcopy(module).double()
    truth = gradients(exact, exact, x.double())
    own = copy.deepcopy(module)
    ours, theirs = gradients(own, compiled(own), x), gradients(module, module, x)
    errors = [max(map(distance, found, truth)) for found in (ours, theirs)]
    assert errors[0] < max(4 * errors[1], 1e-5), errors
    assert max(map(distance, ours, theirs)) < 1e-4


def test_gradients_through_relu_differ_where_a_number_is_nearly_0() -> None:
    """Gradients agree wherever none of the numbers that `relu` gets is near 0, which decides which way it goes."""
    nearest: list[float] = []

    def act(x: Any) -> Any:
        nearest.append(float(x.detach().abs().min() / x.detach().abs().max()))
        return functional.relu(x)

    agreed = 0
    for seed in range(6):
        torch.manual_seed(seed)
        torch._dynamo.reset()
        x = torch.randn(1, 3, 16, 16)
        module = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 1, 1), nn.ReLU(), nn.Flatten())
        nearest.clear()
        y = x
        for layer in module:
            y = act(layer(y)) if isinstance(layer, nn.Conv2d) else y
        if min(nearest) < 1e-5:
            continue
        own = copy.deepcopy(module)
        assert max(map(distance, gradients(own, compiled(own), x), gradients(module, module, x))) < 1e-5
        agreed += 1
    assert agreed
