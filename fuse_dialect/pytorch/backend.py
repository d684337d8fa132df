"""The backend of `torch.compile`: kernels for the parts of a graph that can be read, PyTorch for the rest.

    torch.compile(model, backend="fuse_dialect")
    torch.compile(model, backend="fuse_dialect", options={"strategy": "cost", "threads": 2})

1. PyTorch traces the graph, makes it functional, splits it into forward and backward where gradients are asked for,
   and writes it in core ATen operators (`torch._dynamo.backends.common.aot_autograd`).
2. Operators that have no equal among `fuse` ops stay PyTorch's. What remains is cut into the largest parts without
   them (`torch.fx.passes.infra.partitioner`), and each part is a program. Each operator that stays is named once, in
   the log.
3. Without gradients, parameters and buffers are constants of the program, which kernels read in the order that they
   like. A parameter that has changed since, in place or by `load_state_dict`, is found before each call. Then they
   become arguments, for good. What is written through `.data` PyTorch does not count: a sample of elements tells.
4. Results that show an argument or another result are views, which PyTorch makes (`views.py`).
5. Sizes that PyTorch traces as symbols are settled at the call: one program for each list of sizes.
"""

# PyTorch is no dependency of the checks.
# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.passes.fake_tensor_prop import FakeTensorProp
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from fuse_dialect.api import compile as compile_module
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.backends.runtime.tensors import array_of
from fuse_dialect.frontends.aten.graph import Ref, TensorMeta
from fuse_dialect.frontends.aten.reader import module_of, why_not
from fuse_dialect.logs import PYTORCH
from fuse_dialect.pytorch.decompositions import decompositions
from fuse_dialect.pytorch.graphs import (
    aten_graph,
    call_of,
    given_array,
    is_call,
    is_number,
    is_read,
    meta_of,
    ref_of,
    tensor_of,
)
from fuse_dialect.pytorch.views import leave_views

LOG = logging.getLogger(f"fuse_dialect.{PYTORCH}")
MOST_SIZES = 16
"""Lists of sizes that have a program at a time, for graphs of open sizes."""
SAMPLES = 16
"""Elements of a parameter that are compared before each call."""
_VIEW = "a view"
"""Why PyTorch runs what it runs everywhere; nobody is told."""
_told = set[str]()
"""Operators that the log has named."""


class Readable(OperatorSupportBase):
    """Says of each node whether a program can have it."""

    def __init__(self, module: fx.GraphModule, views: Collection[str] = ()):
        self._metas = dict[Ref, TensorMeta]()
        self.reasons = dict[str, str]()
        for node in module.graph.nodes:
            value = node.meta.get("val")
            fields = value if isinstance(value, list | tuple) else [value]
            for index, each in enumerate(cast(Sequence[Any], fields)):
                if (meta := meta_of(each)) is not None:
                    self._metas[Ref(node.name, index)] = meta
        for node in module.graph.nodes:
            if node.name in views:
                self.reasons[node.name] = _VIEW
            elif is_call(node) and (reason := self._why_not(node)) is not None:
                self.reasons[node.name] = reason

    def _why_not(self, node: fx.Node) -> str | None:
        if not isinstance(node.target, torch._ops.OpOverload):
            return "no operator of ATen"
        if node.target._schema.is_mutable:
            return "an operand is changed"
        if not node.users:
            return "no result that anybody reads"
        call = call_of(node)
        used = {ref_of(user).index for user in node.users if not is_call(user)}
        if any(call.results[index] is None for index in used if index < len(call.results)):
            return "a result that is no tensor of known shape and type"
        return why_not(call, self._metas)

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: fx.Node) -> bool:
        """Whether the node goes into a program. A field of results goes where they are."""
        source = node if node.op != "call_function" or is_call(node) else cast(fx.Node, node.args[0])
        left = node.name in self.reasons or source.name in self.reasons
        return source.op == "call_function" and not left and not is_number(node)


class _Part:
    """The program of a graph, made at its first call."""

    def __init__(self, module: fx.GraphModule, options: Mapping[str, Any], fixed: Sequence[int] = ()):
        self._graph = aten_graph(module)
        self._options = options
        self._fixed = tuple(fixed)
        """Places of inputs that are constants until one of them changes."""
        self._seen: list[tuple[int, int]] = []
        """Address and version of the constants."""
        self._samples: list[Any] = []
        """Some elements of each, where they lie; and what they were."""
        self._sampled = b""
        self._program: Program | None = None
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self._names = [node.name for node in placeholders]
        self._tensors = [place for place, node in enumerate(placeholders) if meta_of(node.meta.get("val")) is not None]
        results = cast(Any, next(node for node in module.graph.nodes if node.op == "output").args[0])
        self._is_single = not isinstance(results, list | tuple)
        self._results = [
            each.meta["val"] if isinstance(each, fx.Node) else cast(Any, None)
            for each in ([results] if self._is_single else results)
        ]

    def __call__(self, *inputs: Any) -> Any:
        """The results for tensors."""
        if self._program is None or (self._fixed and self._have_changed(inputs)):
            self._make(inputs)
        assert self._program is not None, "it was made"
        arrays = self._program(*(given_array(inputs[place]) for place in self._arguments))
        found = iter(arrays)
        results = [
            tensor_of(next(found), value.dtype, value.stride()) if isinstance(value, torch.Tensor) else value
            for value in self._results
        ]
        return results[0] if self._is_single else tuple(results)

    def _have_changed(self, inputs: Sequence[Any]) -> bool:
        """Whether a constant is no longer what it was. What is written through `.data` has no version: samples tell."""
        return self._versions(inputs) != self._seen or _bytes_of(self._samples) != self._sampled

    def _versions(self, inputs: Sequence[Any]) -> list[tuple[int, int]]:
        return [(inputs[place].data_ptr(), inputs[place]._version) for place in self._fixed]

    def _make(self, inputs: Sequence[Any]) -> None:
        if self._program is not None:
            LOG.info("a parameter has changed: parameters are arguments from here on")
            self._fixed = ()
            self._graph.constants = {
                name: array for name, array in self._graph.constants.items() if name not in self._names
            }
        self._seen = self._versions(inputs)
        constants = {place: array_of(inputs[place]) for place in self._fixed}
        self._samples = [_sample(array) for array in constants.values()]
        self._sampled = _bytes_of(self._samples)
        self._graph.constants |= {self._names[place]: array for place, array in constants.items()}
        self._arguments = [place for place in self._tensors if place not in self._fixed]
        self._program = compile_module(module_of(self._graph), **cast(Any, self._options))


def _sample(array: Any) -> Any:
    """At most `SAMPLES` elements of an array, spread over it, in its memory."""
    flat = array.reshape(-1) if array.flags.c_contiguous else array[..., :1].reshape(-1)[:0]
    return flat[:: max(1, flat.size // SAMPLES)][:SAMPLES]


def _bytes_of(samples: Sequence[Any]) -> bytes:
    return b"".join([each.tobytes() for each in samples])


def _compiled(module: fx.GraphModule, options: Mapping[str, Any], fixed: Sequence[int]) -> Callable[..., Any]:
    """What computes a graph of static sizes."""
    readable = Readable(module, leave_views(module))
    calls = [node for node in module.graph.nodes if is_call(node) and not is_number(node)]
    left = [node for node in calls if node.name in readable.reasons and is_read(node)]
    _tell([node for node in left if readable.reasons[node.name] != _VIEW], readable.reasons)
    if not left and calls:
        LOG.info("a graph of %d operators is one program", len(calls))
        return _Part(module, options, fixed)
    if len(left) == len(calls):
        LOG.info("a graph of %d operators stays PyTorch's", len(calls))
        return module.forward
    partitioner = CapabilityBasedPartitioner(module, readable, allows_single_node_partition=True)
    cut = partitioner.fuse_partitions(partitioner.propose_partitions())
    placeholders = [node for node in cut.graph.nodes if node.op == "placeholder"]
    constants = {placeholders[place] for place in fixed}
    parts = sum(node.op == "call_module" for node in cut.graph.nodes)
    LOG.info("of a graph of %d operators %d stay PyTorch's, the others are %d programs", len(calls), len(left), parts)
    for node in cut.graph.nodes:
        if node.op == "call_module":
            part = getattr(cut, cast(str, node.target))
            own = [place for place, given in enumerate(node.args) if given in constants]
            setattr(cut, cast(str, node.target), _as_module(_Part(part, options, own)))
    cut.recompile()
    return cut.forward


def _as_module(part: _Part) -> torch.nn.Module:
    class Part(torch.nn.Module):
        """A module that runs a program."""

        def forward(self, *inputs: Any) -> Any:
            """The program's results."""
            return part(*inputs)

    return Part()


def _tell(nodes: Sequence[fx.Node], reasons: Mapping[str, str]) -> None:
    for node in nodes:
        text = f"{node.target}: {reasons[node.name]}"
        if text not in _told:
            _told.add(text)
            where = call_of(node).where
            LOG.warning("PyTorch runs %s%s", text, f", at {where}" if where else "")


class _OpenSizes:
    """Programs by sizes, for a graph in which sizes are symbols."""

    def __init__(self, module: fx.GraphModule, options: Mapping[str, Any], fixed: Sequence[int]):
        self._module = module
        self._options = options
        self._fixed = fixed
        self._made = OrderedDict[tuple[Any, ...], Callable[..., Any]]()

    def __call__(self, *inputs: Any) -> Any:
        """The results for tensors and numbers."""
        sizes = tuple(tuple(each.shape) if isinstance(each, torch.Tensor) else each for each in inputs)
        if (made := self._made.get(sizes)) is None:
            made = self._made[sizes] = self._settled(inputs)
            if len(self._made) > MOST_SIZES:
                self._made.popitem(last=False)
        self._made.move_to_end(sizes)
        return made(*inputs)

    def _settled(self, inputs: Sequence[Any]) -> Callable[..., Any]:
        module = deepcopy(self._module)
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        with torch.no_grad():
            FakeTensorProp(module, mode).propagate(
                *(each.detach() if isinstance(each, torch.Tensor) else each for each in inputs)
            )
        return _compiled(module, self._options, self._fixed)


def _compiler(options: Mapping[str, Any], has_constants: bool) -> Callable[..., Any]:
    def compile_graph(module: fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
        inputs = [node.meta.get("val") for node in module.graph.nodes if node.op == "placeholder"]
        if any(isinstance(each, torch.Tensor) and each.device.type != "cpu" for each in inputs):
            _tell_once("tensors on another device than the processor are left to PyTorch")
            return module.forward
        fixed = _constant_inputs(inputs) if has_constants else []
        if any(isinstance(each, torch.SymInt) for each in inputs) or any(
            isinstance(each, torch.Tensor) and any(not isinstance(size, int) for size in each.shape) for each in inputs
        ):
            return _OpenSizes(module, options, fixed)
        return _compiled(module, options, fixed)

    def boxed(module: fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
        from torch._functorch.aot_autograd import make_boxed_func

        return make_boxed_func(compile_graph(module, examples))

    return boxed


def _constant_inputs(inputs: Sequence[Any]) -> list[int]:
    """Places of inputs that are parameters or buffers, of known shape and type."""
    context = TracingContext.try_get()
    metadata = None if context is None else context.fw_metadata
    places = [] if metadata is None else [place for place in metadata.static_input_indices if place < len(inputs)]
    return [place for place in places if meta_of(inputs[place]) is not None]


def _tell_once(text: str) -> None:
    if text not in _told:
        _told.add(text)
        LOG.warning("%s", text)


def fuse_dialect(
    module: fx.GraphModule, inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, **others: Any
) -> Any:
    """Compile what PyTorch has traced: the entry point of `torch.compile(model, backend="fuse_dialect")`.

    Args:
        module: The traced function.
        inputs: Its examples.
        options: Those of `fuse_dialect.compile` by name: `threads`, `strategy`, `target_cpu`, `fast_math`, and so on.
        others: Other arguments of `torch.compile`, such as `mode`, mean nothing here.
    """
    given = dict(options or {})
    return aot_autograd(
        fw_compiler=_compiler(given, has_constants=False),
        bw_compiler=_compiler(given, has_constants=False),
        inference_compiler=_compiler(given, has_constants=True),
        decompositions=decompositions(),
    )(module, inputs)
