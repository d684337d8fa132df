"""Engines that are timed beside onnxruntime where they take a model. Their outputs are not compared."""

# torch and OpenVINO are no dependencies of the checks: they are not installed there, and say little about their types.
# pyright: basic, reportMissingImports=false

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from population.member import MEMBERS, as_if_trained

Inputs = Mapping[str, Any]
Call = Callable[[], object]


def _openvino(path: Path, inputs: Inputs, threads: int) -> Call:
    import openvino
    from runtime_bench.engines import openvino_request

    request = openvino_request(path, threads)
    for name, array in inputs.items():
        request.set_tensor(name, openvino.Tensor(np.ascontiguousarray(array), shared_memory=False))
    request.infer()
    return request.infer


def _inductor(path: Path, inputs: Inputs, threads: int) -> Call:
    """The member of the population that the file is named after, through `torch.compile` with frozen weights.

    Raises:
        LookupError: It is no member, or a form other than `static`.
    """
    import torch
    import torch._inductor.config as settings

    from population import images, others, text

    _ = (images, others, text)  # they enter their members
    torch.set_num_threads(threads)
    settings.freezing = True
    torch.manual_seed(0)
    module = as_if_trained(MEMBERS[path.stem].build()).eval()
    tensors = [torch.from_numpy(array) for array in inputs.values()]
    with torch.no_grad():
        compiled = torch.compile(module)
        compiled(*tensors)

    def call() -> object:
        with torch.no_grad():
            return compiled(*tensors)

    return call


_MAKERS: Mapping[str, Callable[[Path, Inputs, int], Call]] = {"openvino": _openvino, "inductor": _inductor}
"""By the field of a row what makes a call of an engine, which raises whatever the engine does."""


def call_of(peer: str, path: Path, inputs: Inputs, threads: int) -> Call | None:
    """A call of an engine; `None` where it does not take the model."""
    try:
        return _MAKERS[peer](path, inputs, threads)
    except Exception:
        return None  # whatever it raises is none of ours
