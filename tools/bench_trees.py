"""Ensembles of trees beside onnxruntime, at several numbers of rows: time of both, and their ratio.

    python tools/bench_trees.py [--trees 100] [--depths 3 6 10 14] [--rows 1 1000 100000] [--static] [--linear]

makes TreeEnsembleRegressor models of complete trees with random thresholds on 20 features, checks that both engines
agree, and times them in turns on one thread: the best of several calls, of the processor's time. The number of rows is
open unless `--static` says otherwise. With `--linear` the models are linear, as skl2onnx writes those of scikit-learn:
scaled features, then a regressor of one and of ten numbers, or a classifier of two and of ten classes.
"""

# onnxruntime is no dependency of the checks, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import process_time
from typing import Any

import numpy as np
import onnx
from onnx import helper
from population.measuring import best_seconds, difference
from vendor_cases.comparing import as_list

import fuse_dialect as fd
from fuse_dialect.frontends.onnx.reader import import_model

DOMAIN = "ai.onnx.ml"
FEATURES = 20
ROUNDS = 3


def ensemble(trees: int, depth: int, rows: int | None) -> onnx.ModelProto:
    """A model of complete trees, with a weight for each leaf."""
    random = np.random.default_rng(0)
    inner, total = (1 << depth) - 1, (2 << depth) - 1
    numbers = np.arange(total)
    is_leaf = numbers >= inner
    thresholds = np.where(is_leaf, 0, random.standard_normal((trees, total)))
    features = np.where(is_leaf, 0, random.integers(0, FEATURES, (trees, total)))
    leaves = trees * (total - inner)
    attributes: dict[str, Any] = {
        "nodes_treeids": np.repeat(np.arange(trees), total).tolist(),
        "nodes_nodeids": np.tile(numbers, trees).tolist(),
        "nodes_featureids": features.reshape(-1).tolist(),
        "nodes_values": thresholds.reshape(-1).astype(np.float32).tolist(),
        "nodes_modes": ["LEAF" if leaf else "BRANCH_LEQ" for leaf in is_leaf] * trees,
        "nodes_truenodeids": np.tile(np.where(is_leaf, 0, 2 * numbers + 1), trees).tolist(),
        "nodes_falsenodeids": np.tile(np.where(is_leaf, 0, 2 * numbers + 2), trees).tolist(),
        "target_treeids": np.repeat(np.arange(trees), total - inner).tolist(),
        "target_nodeids": np.tile(numbers[is_leaf], trees).tolist(),
        "target_ids": [0] * leaves,
        "target_weights": random.standard_normal(leaves).astype(np.float32).tolist(),
        "n_targets": 1,
    }
    return _model([helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain=DOMAIN, **attributes)], rows, ["y"])


def linear(outputs: int, is_classifier: bool, rows: int | None) -> onnx.ModelProto:
    """A model of scaled features that are multiplied by random weights."""
    random = np.random.default_rng(0)
    offset, scale = random.standard_normal(FEATURES).tolist(), random.uniform(0.5, 2, FEATURES).tolist()
    nodes = [helper.make_node("Scaler", ["x"], ["scaled"], domain=DOMAIN, offset=offset, scale=scale)]
    weights: dict[str, Any] = {
        "coefficients": random.standard_normal(outputs * FEATURES).tolist(),
        "intercepts": random.standard_normal(outputs).tolist(),
    }
    if not is_classifier:
        nodes.append(helper.make_node("LinearRegressor", ["scaled"], ["y"], domain=DOMAIN, targets=outputs, **weights))
        return _model(nodes, rows, ["y"])
    weights |= {"classlabels_ints": list(range(outputs)), "post_transform": "SOFTMAX" if outputs > 2 else "LOGISTIC"}
    nodes.append(helper.make_node("LinearClassifier", ["scaled"], ["label", "y"], domain=DOMAIN, **weights))
    return _model(nodes, rows, ["y", "label"])


def _model(nodes: Sequence[onnx.NodeProto], rows: int | None, outputs: Sequence[str]) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [rows or "n", FEATURES])
    types = {"y": onnx.TensorProto.FLOAT, "label": onnx.TensorProto.INT64}
    results = [helper.make_tensor_value_info(name, types[name], None) for name in outputs]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 3)]
    return helper.make_model(helper.make_graph(nodes, "model", [x], results), opset_imports=imports, ir_version=9)


def models(options: argparse.Namespace) -> Iterator[tuple[str, Callable[[int | None], onnx.ModelProto]]]:
    """What is measured: its name, and the model for a number of rows."""
    if options.linear:
        for outputs in (1, 10):
            yield f"regressor, {outputs}", partial(linear, outputs, False)
        for outputs in (2, 10):
            yield f"classifier, {outputs}", partial(linear, outputs, True)
        return
    for depth in options.depths:
        yield str(depth), partial(ensemble, options.trees, depth)


def timed(program: Any, session: Any, x: Any) -> tuple[float, float]:
    """Seconds of both engines, the best of turns."""
    ours, theirs = zip(
        *(
            (
                best_seconds(lambda: program(x), process_time),
                best_seconds(lambda: session.run(None, {"x": x}), process_time),
            )
            for _ in range(ROUNDS)
        ),
        strict=True,
    )
    return min(ours), min(theirs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Ensembles of trees beside onnxruntime.")
    parser.add_argument("--trees", type=int, default=100, help="number of trees (default: 100)")
    parser.add_argument("--depths", type=int, nargs="*", default=[3, 6, 10, 14], help="default: 3 6 10 14")
    parser.add_argument("--rows", type=int, nargs="*", default=[1, 1000, 100000], help="default: 1 1000 100000")
    parser.add_argument("--static", action="store_true", help="a model for each number of rows")
    parser.add_argument("--linear", action="store_true", help="linear models in the place of trees")
    options = parser.parse_args(arguments)
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    first = "model" if options.linear else "depth"
    print(f"| {first} | rows | ours | onnxruntime | ratio | difference |\n|---|---|---|---|---|---|")
    for name, model_of in models(options):
        for rows in options.rows:
            model = model_of(rows if options.static else None)
            session = onnxruntime.InferenceSession(model.SerializeToString(), settings)
            program = fd.compile(import_model(model), threads=1)
            x = np.random.default_rng(1).standard_normal((rows, FEATURES)).astype(np.float32)
            apart = difference(session.run(None, {"x": x})[0], as_list(program(x))[0])
            for _ in range(100 if rows < 10000 else 2):
                program(x)  # sizes that come often are compiled for
            program.finish_specializing()
            ours, theirs = timed(program, session, x)
            cells = (f"{ours * 1e6:.1f} us", f"{theirs * 1e6:.1f} us", f"{ours / theirs:.2f}x", f"{apart:.0e}")
            print(f"| {name} | {rows} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
