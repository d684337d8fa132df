"""Exports models of the population to files: in f16, quantised, with inputs beside them."""

# torch and onnxruntime are no dependencies of the checks: they are not installed there, and say little about types.
# pyright: basic, reportMissingImports=false

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from population.member import MEMBERS, as_if_trained

LARGEST_FILE = 300_000_000
"""Bytes; what is larger is refused, so that a population fits a disk and the memory of a small machine."""


def export(name: str, form: str, path: Path) -> None:
    """Write a model, and beside it as `.0.npz` the inputs that it is measured with.

    Raises:
        ValueError: The model is larger than `LARGEST_FILE`.
        Exception: Whatever torch, transformers or onnxruntime raise on what they cannot do.
    """
    import torch

    member = MEMBERS[name]
    torch.manual_seed(0)
    module = as_if_trained(member.build()).eval()
    inputs = member.inputs()
    if form.startswith("int8"):
        with TemporaryDirectory() as folder:
            whole = Path(folder) / "whole.onnx"
            _write_onnx(module, inputs, {}, whole)
            _QUANTISED[form](whole, path, _arrays(inputs))
    elif form == "f16":
        halves = {key: tensor.half() if tensor.is_floating_point() else tensor for key, tensor in inputs.items()}
        _write_onnx(module.half(), halves, {}, path)
        inputs = halves
    else:
        _write_onnx(module, inputs, member.open_axes if form == "open" else {}, path)
    if form == "open":
        assert member.open_inputs is not None, f"'{name}' has no form with open axes"
        inputs = member.open_inputs()
    if path.stat().st_size > LARGEST_FILE:
        raise ValueError(f"{path.stat().st_size} bytes")
    np.savez_compressed(path.with_suffix(".0.npz"), **_arrays(inputs))


def _arrays(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tensor.numpy() for name, tensor in inputs.items()}


def _write_onnx(module: Any, inputs: Mapping[str, Any], axes: Mapping[str, Mapping[int, str]], path: Path) -> None:
    import torch

    names = sorted({name for own in axes.values() for name in own.values()})
    ranges = {name: torch.export.Dim(name, min=1, max=256) for name in names}
    refusal: Exception | None = None
    for marks in ({name: name for name in names}, ranges):
        shapes = tuple({axis: marks[size] for axis, size in axes.get(name, {}).items()} or None for name in inputs)
        try:
            with warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                program = torch.onnx.export(
                    module, tuple(inputs.values()), dynamo=True, external_data=False, verbose=False,
                    input_names=list(inputs), dynamic_shapes=shapes if names else None,
                )  # fmt: skip
            _forget_sources(program.model_proto, path)
            return
        except torch.onnx.errors.OnnxExporterError as error:
            refusal = refusal or error
            if not names:
                break
    assert refusal is not None, "both kinds of marks were refused"
    raise refusal


def _forget_sources(model: Any, path: Path) -> None:
    """Write a model without what the exporter notes of lines of Python."""
    graph = model.graph
    for noted in (model, graph, *graph.node, *graph.value_info, *graph.input, *graph.output):
        noted.ClearField("metadata_props")
        noted.ClearField("doc_string")
    path.write_bytes(model.SerializeToString())


def _dynamic(whole: Path, path: Path, _: Mapping[str, Any]) -> None:
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(_prepared(whole), path)


def _qdq(whole: Path, path: Path, inputs: Mapping[str, Any]) -> None:
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Once(CalibrationDataReader):
        def __init__(self) -> None:
            self.rest = iter([dict(inputs)])

        def get_next(self) -> Any:
            return next(self.rest, None)

    quantize_static(_prepared(whole), path, Once(), quant_format=QuantFormat.QDQ, per_channel=True)


def _prepared(whole: Path) -> Path:
    """The model as onnxruntime wants it: with all shapes, batch norms folded."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    path = whole.with_name("prepared.onnx")
    quant_pre_process(str(whole), str(path), skip_symbolic_shape=True)
    return path


_QUANTISED: Mapping[str, Callable[[Path, Path, Mapping[str, Any]], None]] = {
    "int8-dynamic": _dynamic,
    "int8-qdq": _qdq,
}
