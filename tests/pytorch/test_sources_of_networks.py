"""Every kernel of networks of PyTorch names its module or line: in plans, programs, profiles, pictures and remarks."""

# PyTorch is no dependency of the checks.
# pyright: basic, reportMissingImports=false

from typing import Any

import pytest

import fuse_dialect as fd

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
pytest.importorskip("llvmlite")

nn = torch.nn
functional = torch.nn.functional

pytestmark = pytest.mark.slow
FILE = "test_sources_of_networks.py:"


class Block(nn.Module):
    """A residual block of ResNet-18."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        around = (nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        self.downsample = nn.Sequential(*around) if stride != 1 else nn.Identity()

    def forward(self, x: Any) -> Any:
        y = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(y)) + self.downsample(x))


class ResNet18(nn.Module):
    """ResNet-18 with an eighth of its channels."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1, self.pool = nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.MaxPool2d(3, 2, 1)
        sizes = [(8, 8, 1), (8, 8, 1), (8, 16, 2), (16, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1)]
        self.layers = nn.ModuleList([Block(*each) for each in sizes])
        self.fc = nn.Linear(64, 10)

    def forward(self, x: Any) -> Any:
        x = self.pool(functional.relu(self.bn1(self.conv1(x))))
        for layer in self.layers:
            x = layer(x)
        return self.fc(x.mean((2, 3)))


class Layer(nn.Module):
    """A layer of BERT."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        b, s, w = x.shape
        q, k, v = (
            part(x).view(b, s, self.heads, w // self.heads).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        scores = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1)
        x = self.norm1(x + self.out((scores @ v).transpose(1, 2).reshape(b, s, w)))
        return self.norm2(x + self.down(functional.gelu(self.up(x))))


class Bert(nn.Module):
    """An encoder of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.layer = nn.Embedding(50, 32), nn.ModuleList([Layer(32, 4) for _ in range(2)])

    def forward(self, tokens: Any) -> Any:
        x = self.embedding(tokens)
        for layer in self.layer:
            x = layer(x)
        return x


@pytest.mark.parametrize("strategy", ["tvm", "cost"])
@pytest.mark.parametrize(
    ("network", "shape", "module"), [(ResNet18, (1, 3, 64, 64), "layers."), (Bert, (1, 6), "layer.")]
)
def test_every_kernel_names_its_module_or_line(network: Any, shape: Any, module: str, strategy: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape) if len(shape) == 4 else torch.randint(0, 50, shape)
    program = fd.compile(fd.from_torch(network().eval(), x), strategy=strategy)
    silent = [kernel.name for kernel in program.kernels if FILE not in kernel.source and module not in kernel.source]
    assert not silent
    assert any(module in kernel.source and FILE in kernel.source for kernel in program.kernels)
    profile = str(program.profile(x.numpy(), repeat=1))
    assert all(any(kernel.source[:12] in line for line in profile.splitlines()) for kernel in program.kernels)
    plan = program.plan
    assert all(group.source for group in plan), [str(group) for group in plan if not group.source]
    assert f"{module}1" in plan._repr_html_()
