"""Models as onnxruntime's own tools write them, from models at hand: what `bench_models.py` then reads and measures.

    python tools/make_bench_models.py MODELS resnet18 bert gpt2
    python tools/make_vendor_models.py MODELS FOLDER [--form FORM ...]
    python tools/bench_models.py FOLDER

writes FOLDER/<name>.<form>.onnx for every model of the folder MODELS, with the inputs beside it. Forms:

* `basic`, `extended`, `all`: what the optimizer of onnxruntime writes at each level. Of the last the layout of images
  depends on the processor.
* `transformer`: what its tool for transformers writes, with operators for whole attentions.
* `qoperator`, `qdq`, `dynamic`: 8 bits, by its quantizer with and without calibration; then optimized at the level
  extended.
* `nbits`: products with weights of 4 bits.

FOLDER/refused.txt says what onnxruntime could not make.
"""

# onnxruntime is no dependency of the checks, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import logging
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx


def optimized(source: Path, path: Path, level: str) -> None:
    """Write what the optimizer makes of a model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level.upper()}")
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def with_attentions(source: Path, path: Path) -> None:
    """Write what the tool for transformers makes of a model."""
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions

    kind = next((kind for kind in ("gpt2", "bert", "vit") if kind in source.stem), "bert")
    model = optimizer.optimize_model(
        str(source), model_type=kind, num_heads=0, hidden_size=0, opt_level=0, optimization_options=FusionOptions(kind)
    )
    counts = model.get_fused_operator_statistics()
    if not any(counts.values()):
        raise ValueError("nothing was fused")
    model.save_model_to_file(str(path))


def quantized(form: str) -> Callable[[Path, Path], None]:
    """A function that writes a model in 8 bits, optimized at the level extended."""

    def write(source: Path, path: Path) -> None:
        from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_dynamic, quantize_static

        class Once(CalibrationDataReader):
            """The inputs beside the model."""

            def __init__(self) -> None:
                self.left = [inputs_of(source)]

            def get_next(self) -> Mapping[str, Any] | None:
                return self.left.pop() if self.left else None

        with TemporaryDirectory() as folder:
            prepared, narrow = Path(folder) / "prepared.onnx", Path(folder) / "narrow.onnx"
            optimized(source, prepared, "basic")
            if form == "dynamic":
                quantize_dynamic(prepared, narrow)
            else:
                kind = QuantFormat.QOperator if form == "qoperator" else QuantFormat.QDQ
                quantize_static(str(prepared), str(narrow), Once(), quant_format=kind)
            optimized(narrow, path, "extended")

    return write


def of_few_bits(source: Path, path: Path) -> None:
    """Write a model whose products have weights of 4 bits."""
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    with TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared.onnx"
        optimized(source, prepared, "basic")
        quantizer: Any = MatMulNBitsQuantizer(onnx.load(prepared), block_size=32, is_symmetric=False)
        quantizer.process()
        if not any(node.op_type == "MatMulNBits" for node in quantizer.model.model.graph.node):
            raise ValueError("there is no product with a constant")
        quantizer.model.save_model_to_file(str(path))


FORMS: Mapping[str, Callable[[Path, Path], None]] = {
    "basic": lambda source, path: optimized(source, path, "basic"),
    "extended": lambda source, path: optimized(source, path, "extended"),
    "all": lambda source, path: optimized(source, path, "all"),
    "transformer": with_attentions,
    "qoperator": quantized("qoperator"),
    "qdq": quantized("qdq"),
    "dynamic": quantized("dynamic"),
    "nbits": of_few_bits,
}


def inputs_of(path: Path) -> dict[str, Any]:
    """The inputs beside a model, where there may be results, too."""
    names = {value.name for value in onnx.load(path, load_external_data=False).graph.input}
    with np.load(path.with_suffix(".0.npz")) as data:
        return {name: data[name] for name in data.files if name in names}


def make(source: Path, form: str, folder: Path) -> str | None:
    """Write one model; what went wrong, if anything."""
    path = folder / f"{source.name.removesuffix('.onnx')}.{form}.onnx"
    if path.exists():
        return None
    partial = path.with_suffix(".partial")
    try:
        FORMS[form](source, partial)
        shutil.copy(source.with_suffix(".0.npz"), path.with_suffix(".0.npz"))
        partial.rename(path)
    except Exception as error:
        # Whatever onnxruntime raises on what it cannot do.
        partial.unlink(missing_ok=True)
        return f"{path.name}: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Models as onnxruntime's own tools write them.")
    parser.add_argument("models", type=Path, help="folder of models with inputs beside them")
    parser.add_argument("folder", type=Path, help="where to write")
    parser.add_argument("--form", nargs="*", choices=FORMS, default=list(FORMS), help="these forms alone")
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    options.folder.mkdir(parents=True, exist_ok=True)
    refused: list[str] = []
    for source in sorted(options.models.glob("*.onnx")):
        if not source.with_suffix(".0.npz").exists():
            continue
        for form in options.form:
            problem = make(source, form, options.folder)
            refused += [problem] if problem else []
            print(problem or f"{source.stem}.{form}", flush=True)
    (options.folder / "refused.txt").write_text("\n".join([*refused, ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
