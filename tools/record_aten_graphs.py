"""Record graphs of ATen operators, as the backend of `torch.compile` gets them, with inputs and PyTorch's results.

    python tools/record_aten_graphs.py FOLDER [NAME ...]

writes FOLDER/<name>.json, the graph (`fuse_dialect.frontends.aten.graph.to_json`), and FOLDER/<name>.npz: `input0`, ...
in the order of the graph's inputs, and `result0`, ... Networks that train give a graph forward and one backward. Tests
read these files, so that they need no PyTorch.
"""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np


def networks() -> Mapping[str, tuple[Callable[[], Any], Callable[[], tuple[Any, ...]], bool]]:
    """Small networks by name: how they are made, their inputs, and whether they train."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Attention(nn.Module):
        """Embeddings, and attention with a causal mask."""

        def __init__(self) -> None:
            super().__init__()
            self.embed, self.norm = nn.Embedding(11, 16), nn.LayerNorm(16)
            self.project, self.out = nn.Linear(16, 48), nn.Linear(16, 11)

        def forward(self, tokens: Any) -> Any:
            """Logits of tokens."""
            x = self.norm(self.embed(tokens))
            q, k, v = (each.unflatten(-1, (2, 8)).transpose(1, 2) for each in self.project(x).chunk(3, -1))
            x = x + functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
            return functional.log_softmax(self.out(x), -1)

    class Indexing(nn.Module):
        """What gathers, scatters, sorts and slices."""

        def forward(self, x: Any, places: Any) -> Any:
            """Several results."""
            y = x.clone()
            y[:, 1::2] = x[:, ::2] * 2
            best, which = torch.topk(x, 2, -1)
            summed = torch.zeros(3, x.shape[1]).index_add(0, places, x)
            return y, best, which, summed, torch.roll(x, 1, 1), torch.where(x > 0, x, x.cumsum(-1)), x.std(-1)

    mlp = nn.Sequential
    return {
        "mlp": (
            lambda: mlp(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3), nn.Softmax(-1)),
            lambda: (torch.randn(4, 6),),
            False,
        ),
        "cnn": (
            lambda: nn.Sequential(
                nn.Conv2d(3, 4, 3, padding=1, bias=False),
                nn.BatchNorm2d(4),
                nn.Hardswish(),
                nn.Conv2d(4, 4, 3, 2, 1, groups=4),
                nn.SiLU(),
                nn.MaxPool2d(2),
                nn.Upsample(scale_factor=2),
                nn.ConvTranspose2d(4, 2, 2, 2),
                nn.AdaptiveAvgPool2d(1),
                nn.Flatten(),
            ),
            lambda: (torch.randn(2, 3, 8, 8),),
            False,
        ),
        "attention": (Attention, lambda: (torch.randint(0, 11, (2, 5)),), False),
        "indexing": (Indexing, lambda: (torch.randn(4, 6), torch.tensor([0, 2, 2, 1])), False),
        "training_mlp": (
            lambda: mlp(nn.Linear(6, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 3), nn.LogSoftmax(-1)),
            lambda: (torch.randn(4, 6),),
            True,
        ),
        "training_cnn": (
            lambda: mlp(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
            lambda: (torch.randn(2, 2, 6, 6),),
            True,
        ),
    }


def record(folder: Path, name: str, build: Callable[[], Any], inputs: tuple[Any, ...], *, trains: bool) -> list[str]:
    """Write the graphs of a network; the names of the files, without endings."""
    import torch
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    from fuse_dialect.frontends.aten.graph import to_json
    from fuse_dialect.pytorch.backend import decompositions
    from fuse_dialect.pytorch.graphs import array_of, aten_graph

    written: list[str] = []

    def compiler(kind: str) -> Callable[[Any, Any], Any]:
        def compiled(graph_module: Any, examples: Any) -> Any:
            graph, file = aten_graph(graph_module), f"{name}{kind}"

            def run(*given: Any) -> Any:
                found = graph_module(*given)
                tensors = [each for each in given if isinstance(each, torch.Tensor)]
                arrays = {f"input{place}": array_of(each) for place, each in enumerate(tensors)}
                results = [each for each in found if isinstance(each, torch.Tensor)]
                arrays |= {f"result{place}": array_of(each) for place, each in enumerate(results)}
                for call in graph.calls:
                    object.__setattr__(call, "line", None)
                (folder / f"{file}.json").write_text(json.dumps(to_json(graph), separators=(",", ":")) + "\n")
                np.savez_compressed(folder / f"{file}.npz", **cast(Any, arrays))
                written.append(file)
                return found

            return make_boxed_func(run)

        return compiled

    backend = aot_autograd(
        fw_compiler=compiler(".forward"),
        bw_compiler=compiler(".backward"),
        inference_compiler=compiler(""),
        decompositions=decompositions(),
    )
    torch.manual_seed(0)
    module = build().train(trains)
    torch._dynamo.reset()  # the same class has been traced with other sizes
    call = torch.compile(module, backend=backend, dynamic=False)
    with torch.set_grad_enabled(trains):
        found = call(*inputs)
        if trains:
            (found * torch.randn_like(found)).sum().backward()
    return written


def main() -> int:
    """Record the networks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where files are written")
    parser.add_argument("names", nargs="*", help="networks (default: all)")
    args = parser.parse_args()
    import torch

    args.folder.mkdir(parents=True, exist_ok=True)
    for name, (build, inputs, trains) in networks().items():
        if not args.names or name in args.names:
            torch.manual_seed(1)
            print(*record(args.folder, name, build, inputs(), trains=trains))
    return 0


if __name__ == "__main__":
    sys.exit(main())
