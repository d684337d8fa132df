"""Export the networks of `torch_models` with open axes, by both exporters of torch.

    python tools/export_torch_models.py FOLDER [NAME ...] [--exporter dynamo|script|static]

writes FOLDER/<name>.<exporter>.onnx and beside it, as `.npz`, inputs at two other sizes with what onnxruntime gives.
"""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import io
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from torch_models import NETWORKS, Network


def export(network: Network, exporter: str, path: Path) -> None:
    """Write the model, inputs to run it with, and results."""
    inputs = network.inputs(network.sizes[0])
    options: dict[str, Any] = {"input_names": list(inputs)}
    if exporter == "script":
        options |= {"dynamo": False, "dynamic_axes": {name: dict(axes) for name, axes in network.axes.items()}}
    elif exporter == "dynamo":
        names = {name for axes in network.axes.values() for name in axes.values()}
        dims = {name: torch.export.Dim(name, min=1, max=4096) for name in names}
        shapes = tuple(
            {axis: dims[size] for axis, size in network.axes.get(name, {}).items()} or None for name in inputs
        )
        options |= {"dynamo": True, "dynamic_shapes": shapes, "external_data": False}
    else:
        options |= {"dynamo": True, "external_data": False}
    buffer: Any = io.BytesIO()
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        if exporter == "script":
            torch.onnx.export(network.build(), tuple(inputs.values()), buffer, **options)
        else:
            program = torch.onnx.export(network.build(), tuple(inputs.values()), **options)
            program.save(buffer)
    model = onnx.load_from_string(buffer.getvalue())
    _forget_sources(model)
    path.write_bytes(model.SerializeToString())
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    torch.manual_seed(1)
    for index, sizes in enumerate(network.sizes[1:]):
        feeds = {name: tensor.numpy() for name, tensor in network.inputs(sizes).items()}
        results = {f"result{place}": array for place, array in enumerate(session.run(None, feeds))}
        np.savez_compressed(path.with_suffix(f".{index}.npz"), **feeds, **results)


def _forget_sources(model: onnx.ModelProto) -> None:
    """Drop what the exporter notes of the lines of Python that a node comes from: most of a small model."""
    graph = model.graph
    for noted in (model, graph, *graph.node, *graph.value_info, *graph.input, *graph.output):
        noted.ClearField("metadata_props")
        noted.ClearField("doc_string")


def _reason(error: BaseException) -> str:
    """The first line of the innermost cause."""
    while error.__cause__ is not None:
        error = error.__cause__
    return (str(error).strip().splitlines() or [""])[0][:200]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=list(NETWORKS))
    parser.add_argument("--exporter", choices=("dynamo", "script", "static"), action="append")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in arguments.names:
        for exporter in arguments.exporter or ("dynamo", "script"):
            path = arguments.folder / f"{name}.{exporter}.onnx"
            try:
                export(NETWORKS[name], exporter, path)
                print(f"{path.name}: {path.stat().st_size} bytes", flush=True)
            except Exception as error:
                # torch raises anything; the table shall show which networks it cannot export.
                failed += 1
                path.unlink(missing_ok=True)
                print(f"{path.name}: not exported: {type(error).__name__}: {_reason(error)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
