"""The engines that run workloads, each set up as it is fastest.

An engine is a row of `ENGINES`. It prepares a `Job` once, and then computes the output again and again. Libraries are
imported by the worker process that runs the engine, so that whoever has some of them can measure some engines.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from onnx.onnx_ml_pb2 import ModelProto

Array: TypeAlias = NDArray[np.float32]


class NotAvailableError(Exception):
    """The engine is not installed, or cannot run the workload; the text is why."""


@dataclass(frozen=True, slots=True)
class Job:
    """A workload as an engine gets it."""

    model: Path
    """The ONNX file."""
    inputs: dict[str, Array]
    """Arrays that begin at a multiple of 64 bytes."""
    shape: tuple[int, ...]
    """Shape of the only output."""
    threads: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A workload that is ready to run."""

    call: Callable[[], object]
    """Computes the output, and returns when it is there."""
    output: Callable[[], Array]
    """What the last call computed."""
    memory: object = None
    """What the engine points to without owning it."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A way to run models."""

    name: str
    packages: tuple[str, ...]
    """Distributions whose versions identify it; all have to be installed."""
    how: str
    """How it is set up."""
    prepare: Callable[[Job], Prepared]
    peer: bool = True
    """Whether it is somebody else's, so that the best of all peers may be this one."""
    default: bool = True
    """Whether it runs unless others are asked for."""

    def version(self) -> str:
        """Name and version of its packages.

        Raises:
            NotAvailableError: One is not installed.
        """
        try:
            return ", ".join(f"{name} {version(name)}" for name in self.packages)
        except PackageNotFoundError as error:
            raise NotAvailableError(f"'{error.name}' is not installed") from error


def read_model(path: Path) -> ModelProto:
    """The ONNX model in a file."""
    return ModelProto.FromString(path.read_bytes())


def aligned_copy(array: Array) -> Array:
    """A copy that begins at a multiple of 64 bytes: engines use such memory as it is, and copy other memory."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def aligned_empty(shape: tuple[int, ...]) -> Array:
    """An array that begins at a multiple of 64 bytes."""
    return aligned_copy(np.zeros(shape, np.float32))


def _kept(compute: Callable[[], Any], to_numpy: Callable[[Any], Array] = np.asarray) -> Prepared:
    """An engine whose calls return their output. The memory of the last one is there for the next."""
    last: list[Any] = [None]

    def call() -> None:
        last[0] = None
        last[0] = compute()

    return Prepared(call, lambda: to_numpy(last[0]))


# The project's own.


def _ours(job: Job, *, unfused: bool = False, allocate: bool = False) -> Prepared:
    """The native backend. It writes to the same output again and again if it can, as the peers do."""
    import fuse_dialect

    compile = getattr(fuse_dialect, "compile", None)
    if compile is None:
        raise NotAvailableError("fuse_dialect has no native backend yet")
    options = {"opt_level": 0} if unfused else {}
    program = compile(str(job.model), backend="llvm", threads=job.threads, **options)
    inputs = list(job.inputs.values())
    run_into = None if allocate else getattr(program, "run_into", None)
    if run_into is None:
        return _kept(lambda: program(*inputs), lambda outputs: np.asarray(outputs[0]))
    output = aligned_empty(job.shape)
    outputs = [output]
    return Prepared(lambda: run_into(inputs, outputs), lambda: output, job.inputs)


def _interpreter(job: Job) -> Prepared:
    import fuse_dialect

    module, inputs = fuse_dialect.read(str(job.model)), list(job.inputs.values())
    return _kept(lambda: fuse_dialect.run(module, *inputs), lambda outputs: np.asarray(outputs[0]))


# Peers.


def _numpy(job: Job) -> Prepared:
    from .translate import Library, translate

    function = translate(read_model(job.model), Library.NUMPY)
    arguments = [*job.inputs.values(), *function.weights.values()]
    return _kept(lambda: function.call(*arguments))


def _onnxruntime(job: Job, *, bind: bool = True) -> Prepared:
    ort = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = job.threads, 1
    session = ort.InferenceSession(str(job.model), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    if not bind:
        return _kept(lambda: session.run(names, job.inputs)[0])
    binding, output = session.io_binding(), aligned_empty(job.shape)
    for name, array in job.inputs.items():
        binding.bind_input(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
    binding.bind_output(names[0], "cpu", 0, np.float32, job.shape, output.ctypes.data)
    return Prepared(lambda: session.run_with_iobinding(binding), lambda: output, job.inputs)


def openvino_request(model: Path, threads: int) -> Any:
    """A request of OpenVINO that runs a model in f32 with so many threads."""
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
    }
    return import_module("openvino").Core().compile_model(str(model), "CPU", settings).create_infer_request()


def _openvino(job: Job) -> Prepared:
    ov = import_module("openvino")
    request = openvino_request(job.model, job.threads)
    output = aligned_empty(job.shape)
    for name, array in job.inputs.items():
        request.set_tensor(name, ov.Tensor(array, shared_memory=True))
    request.set_output_tensor(ov.Tensor(output, shared_memory=True))
    return Prepared(request.infer, lambda: output, job.inputs)


def _jax(job: Job) -> Prepared:
    """XLA. The output of a call is given up to the next one, which writes over it: XLA has no other way to reuse it."""
    jax = import_module("jax")
    from .translate import Library, translate

    function = translate(read_model(job.model), Library.JAX)
    arguments = [jax.device_put(array) for array in (*job.inputs.values(), *function.weights.values())]

    def program(_old: Any, *arguments: Any) -> Any:
        return function.call(*arguments)

    jitted = jax.jit(program, donate_argnums=0, keep_unused=True)
    last: list[Any] = [jax.device_put(np.zeros(job.shape, np.float32))]

    def call() -> None:
        last[0] = jitted(last[0], *arguments)
        last[0].block_until_ready()

    return Prepared(call, lambda: np.asarray(last[0]))


def _torch_arguments(job: Job) -> tuple[Any, Callable[..., Any], list[Any], list[Any]]:
    """The library, the model as a function, its inputs and its weights."""
    torch: Any = import_module("torch")
    from .translate import Library, translate

    torch.set_num_threads(job.threads)
    function = translate(read_model(job.model), Library.TORCH)
    with torch.inference_mode(False):
        weights = [torch.from_numpy(array.copy()) for array in function.weights.values()]
        inputs = [torch.from_numpy(array) for array in job.inputs.values()]
    return torch, function.call, inputs, weights


@cache
def _enter_inference_mode() -> object:
    """Leave autograd out for as long as the worker lives: the mode ends with the object that is returned."""
    mode = import_module("torch").inference_mode()
    mode.__enter__()
    return mode


def _torch(job: Job) -> Prepared:
    _, function, inputs, weights = _torch_arguments(job)
    arguments = inputs + weights
    _enter_inference_mode()
    return _kept(lambda: function(*arguments))


def _torch_compile(job: Job) -> Prepared:
    """Inductor. Weights are parameters of a module, because only those become constants when a model is frozen."""
    torch, function, inputs, weights = _torch_arguments(job)

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]
            self.weights = torch.nn.ParameterList(torch.nn.Parameter(each, requires_grad=False) for each in weights)

        def forward(self, *inputs: Any) -> Any:
            return function(*inputs, *self.weights)

    torch._dynamo.reset()
    settings: Any = import_module("torch._inductor.config")
    settings.freezing = True
    with torch.inference_mode(False):  # parameters that are made in this mode do not become constants
        net = Net().eval()
    _enter_inference_mode()
    compiled = torch.compile(net)
    return _kept(lambda: compiled(*inputs))


def _iree(job: Job) -> Prepared:
    compiler, tools = import_module("iree.compiler"), import_module("iree.compiler.tools.import_onnx.__main__")
    runtime = import_module("iree.runtime")
    text = job.model.with_suffix(".iree.mlir")
    tools.main(tools.parse_arguments([str(job.model), "-o", str(text)]))
    blob = compiler.compile_file(
        str(text), input_type="onnx", target_backends=["llvm-cpu"], extra_args=list(_IREE_FLAGS)
    )
    text.unlink()
    runtime.flags.parse_flags(f"--task_topology_group_count={job.threads}")
    device = runtime.get_device("local-sync" if job.threads == 1 else "local-task")
    context = runtime.SystemContext(config=runtime.Config(device=device))
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, blob))
    function = context.modules["module"][read_model(job.model).graph.name]
    inputs = [runtime.asdevicearray(device, array) for array in job.inputs.values()]
    return _kept(lambda: function(*inputs))


_IREE_FLAGS = (
    "--iree-llvmcpu-target-cpu=host",
    "--iree-opt-level=O3",
    "--iree-opt-data-tiling",
    "--iree-global-opt-use-im2col-for-convs",
)


def _tvm(job: Job) -> Prepared:
    tvm, relax = import_module("tvm"), import_module("tvm.relax")
    frontend = import_module("tvm.relax.frontend.onnx")
    module = frontend.from_onnx(read_model(job.model), keep_params_in_input=False)
    executable = tvm.compile(module, tvm.target.Target({"kind": "llvm", "mcpu": _tvm_cpu(tvm)}))
    machine = relax.VirtualMachine(executable, tvm.cpu())
    inputs = [tvm.runtime.tensor(array) for array in job.inputs.values()]
    return _kept(lambda: machine["main"](*inputs), lambda output: output.numpy())


def _tvm_cpu(tvm: Any) -> str:
    return str(tvm.target.codegen.llvm_get_system_cpu())


ENGINES: tuple[Engine, ...] = (
    Engine("ours", ("fuse_dialect",), "fuse_dialect.compile, outputs preallocated if it can", _ours, peer=False),
    Engine(
        "ours-unfused",
        ("fuse_dialect",),
        "the same with opt_level=0",
        lambda job: _ours(job, unfused=True),
        peer=False,
    ),
    Engine(
        "ours-call",
        ("fuse_dialect",),
        "the same, outputs allocated by each call",
        lambda job: _ours(job, allocate=True),
        peer=False,
        default=False,
    ),
    Engine(
        "interpreter", ("fuse_dialect",), "fuse_dialect's NumPy interpreter", _interpreter, peer=False, default=False
    ),
    Engine("numpy", ("numpy",), "straight-line NumPy", _numpy),
    Engine("onnxruntime", ("onnxruntime",), "io_binding, preallocated, all optimizations", _onnxruntime),
    Engine(
        "onnxruntime-run",
        ("onnxruntime",),
        "session.run, outputs allocated by each call",
        lambda job: _onnxruntime(job, bind=False),
        default=False,
    ),
    Engine("openvino", ("openvino",), "bound tensors, f32, LATENCY, one stream", _openvino),
    Engine("jax", ("jax", "jaxlib"), "XLA: jax.jit with a donated output buffer, weights as arguments", _jax),
    Engine("torch", ("torch",), "eager, inference_mode", _torch),
    Engine("torch-compile", ("torch",), "Inductor: torch.compile, inference_mode, freezing", _torch_compile),
    Engine(
        "iree",
        ("iree-base-compiler", "iree-base-runtime"),
        f"its ONNX importer, llvm-cpu, {' '.join(_IREE_FLAGS)}; local-sync for one thread, else local-task",
        _iree,
    ),
    Engine("tvm", ("apache-tvm",), "its ONNX importer, relax, default pipeline, not tuned", _tvm, default=False),
)
"""All engines, in the order of the columns."""


def engine_named(name: str) -> Engine:
    """The engine of a name.

    Raises:
        ValueError: There is none.
    """
    for engine in ENGINES:
        if engine.name == name:
            return engine
    raise ValueError(f"no engine '{name}'")
