"""Export the networks of `networks/` by both exporters of torch, with open axes and without.

    python tools/export_torch_models.py FOLDER [NAME ...] [--form FORM ...]

writes FOLDER/<name>.<form>.onnx and beside it, as `.npz`, two sets of inputs with what onnxruntime gives. Forms are
`dynamo` and `script`, with all open axes that the network names; `dynamo_batch` and `script_batch`, with an open batch
alone, where the network names more; `dynamo_static` and `script_static`. Inputs of a model with open axes are of two
other sizes than it was exported with. `FOLDER/refused.txt` says what torch or onnxruntime cannot do.
"""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import io
import sys
import warnings
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from networks import large, public, recurrent
from networks.small import NETWORKS, Network

# Modules that add networks of their own to `NETWORKS`.
_ = (large, public, recurrent)


FORMS = ("dynamo_static", "dynamo_batch", "dynamo", "script_static", "script_batch", "script")
"""Exporter and open axes."""

Axes = Mapping[str, Mapping[int, str]]


def open_axes(network: Network, form: str) -> Axes | None:
    """The axes that a form leaves open, `None` if the form would be another one's copy."""
    if form.endswith("_static"):
        return {}
    if not form.endswith("_batch"):
        return network.axes
    batch = {
        name: {axis: size for axis, size in axes.items() if size == "batch"} for name, axes in network.axes.items()
    }
    return batch if batch != network.axes and any(batch.values()) else None


def run_sizes(network: Network, form: str) -> list[Mapping[str, int]]:
    """Sizes of the inputs to run the exported model with: other ones than it was exported with where they are open."""
    axes = open_axes(network, form) or {}
    names = {name for own in axes.values() for name in own.values()}
    exported = network.sizes[0]
    return [
        {name: size if name in names else exported[name] for name, size in sizes.items()} for sizes in network.sizes[1:]
    ]


def export(network: Network, form: str, axes: Axes, path: Path) -> None:
    """Write the model, inputs to run it with, and results."""
    model = _exported(network, form, axes)
    _forget_sources(model)
    path.write_bytes(model.SerializeToString())
    onnx.checker.check_model(str(path))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    torch.manual_seed(1)
    for index, sizes in enumerate(run_sizes(network, form)):
        feeds = {name: tensor.numpy() for name, tensor in network.inputs(sizes).items()}
        results = {f"result{place}": array for place, array in enumerate(session.run(None, feeds))}
        flat = [name for name, array in results.items() if array.size > 1 and float(array.std()) < 1e-5]
        assert not flat, f"{flat[0]} is as good as constant, which shows nothing"
        np.savez_compressed(path.with_suffix(f".{index}.npz"), **feeds, **results)


def _exported(network: Network, form: str, axes: Axes) -> onnx.ModelProto:
    """What torch makes of the network."""
    inputs = network.inputs(network.sizes[0])
    options: dict[str, Any] = {"input_names": list(inputs)}
    buffer: Any = io.BytesIO()
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        if form.startswith("script"):
            options |= {"dynamo": False, "dynamic_axes": {name: dict(own) for name, own in axes.items()}}
            torch.onnx.export(network.build(), tuple(inputs.values()), buffer, **options)
        else:
            options |= {"dynamo": True, "external_data": False}
            _with_open_axes(network, axes, options).save(buffer)
    return onnx.load_from_string(buffer.getvalue())


def _with_open_axes(network: Network, axes: Axes, options: dict[str, Any]) -> Any:
    """What the newer exporter gives: with names of axes, or where it refuses these, with ranges of sizes.

    Given a range, the exporter fixes the length of what an LSTM reads; given names, it refuses other networks.
    """
    inputs = network.inputs(network.sizes[0])
    names = sorted({name for own in axes.values() for name in own.values()})
    ranges = {name: torch.export.Dim(name, min=1, max=4096) for name in names}
    refusal: Exception | None = None
    for marks in ({name: name for name in names}, ranges):
        shapes = tuple({axis: marks[size] for axis, size in axes.get(name, {}).items()} or None for name in inputs)
        try:
            return torch.onnx.export(
                network.build(), tuple(inputs.values()), dynamic_shapes=shapes if names else None, **options
            )
        except torch.onnx.errors.OnnxExporterError as error:
            refusal = refusal or error
    assert refusal is not None, "both kinds of marks were refused"
    raise refusal


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
    """Command line; exit code 1 if something was refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=[name for name, network in NETWORKS.items() if not network.large])
    parser.add_argument("--form", choices=FORMS, action="append")
    arguments = parser.parse_intermixed_args()
    if unknown := [name for name in arguments.names if name not in NETWORKS]:
        parser.error(f"no network is called '{unknown[0]}'; there are {', '.join(NETWORKS)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    refused: list[str] = []
    for name in arguments.names:
        for form in arguments.form or FORMS:
            path = arguments.folder / f"{name}.{form}.onnx"
            if (axes := open_axes(NETWORKS[name], form)) is None:
                continue
            try:
                export(NETWORKS[name], form, axes, path)
                print(f"{path.name}: {path.stat().st_size} bytes", flush=True)
            except Exception as error:
                # torch and onnxruntime raise anything; the list shall show which networks they refuse.
                path.unlink(missing_ok=True)
                refused.append(f"{path.stem}: {type(error).__name__}: {_reason(error)}")
                print(refused[-1], flush=True)
    if refused:
        with (arguments.folder / "refused.txt").open("a") as file:
            file.write("\n".join([*refused, ""]))
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
