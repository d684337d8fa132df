"""What onnxruntime computes for a case."""

import importlib
from typing import Any

import numpy as np

from vendor_cases.case import Array, Case

refusals: list[str] = []
"""Messages of onnxruntime about cases that it has refused."""


def answers(case: Case) -> list[Array] | None:
    """What onnxruntime computes, or `None` when it refuses the case."""
    onnxruntime: Any = importlib.import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(
            case.model().SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return [np.asarray(result) for result in session.run(None, case.feeds())]
    except Exception as error:
        refusals.append(str(error).splitlines()[0][:300])
        return None
