"""What onnxruntime computes for a case."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from vendor_cases.case import Array, Case

refusals: list[str] = []
"""Messages of onnxruntime about cases that it has refused."""


def answers(case: Case) -> list[Array] | None:
    """What onnxruntime computes, or `None` when it refuses the case."""
    return next(iter(answers_to(case.model(), [case.feeds()])), None)


def answers_to(model: onnx.ModelProto, feeds: Sequence[Mapping[str, Array]]) -> list[list[Array]]:
    """What onnxruntime computes for each of the inputs; nothing when it refuses the model or one of them."""
    onnxruntime: Any = importlib.import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return [[np.asarray(result) for result in session.run(None, dict(each))] for each in feeds]
    except Exception as error:
        refusals.append(str(error).splitlines()[0][:300])
        return []
