"""A module to a `Program`: prefix, fusion, loops, kernels, plan."""

import gc
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr

from fuse_dialect.backends.backend import Backend, KernelRequest
from fuse_dialect.backends.cutting import cut_primitives
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.backends.progress import Progress, WatchedRequests
from fuse_dialect.backends.runtime.compilation import Compilation, RanPlan, elide_constants, let_go_of_constants
from fuse_dialect.backends.runtime.entry_graph import Branch, Call, EntryGraph, How, Loop, Primitive
from fuse_dialect.backends.runtime.entry_reader import read_entry
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.backends.runtime.settled import has_sizes_to_settle, number_places, settle
from fuse_dialect.backends.runtime.specializing import Sizes
from fuse_dialect.backends.sharing import share_primitives
from fuse_dialect.backends.size_checks import outline_checks
from fuse_dialect.backends.table import BACKENDS, engine_of, layout_of, machine_of
from fuse_dialect.backends.threads import usable_threads, warn_of_threads
from fuse_dialect.backends.types import TensorType
from fuse_dialect.budget import Limits
from fuse_dialect.dialect.dynamic_form import DynamicOp
from fuse_dialect.dialect.size_names import SIZES_ATTRIBUTE, size_names
from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.entry import function_named, functions_of
from fuse_dialect.interpreters.loop_costs import mark_iterations
from fuse_dialect.logs import COMPILE, heard
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.local_places import with_scratch
from fuse_dialect.loops.program import LoopProgram, Refusal
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.lowering.op_loops import keeping_loops
from fuse_dialect.process_wide import collector_paused
from fuse_dialect.transforms.compile_pipeline import prepare_to_fuse
from fuse_dialect.transforms.runnable import make_runnable

_MUCH = 64 << 20
"""Bytes of constants of which no second copy may stay until the collector of cycles comes by itself."""


@keeping_loops()
@collector_paused()
def compile_program(
    module: ModuleOp,
    options: CompileOptions | None = None,
    *,
    in_place: bool = False,
    progress: Progress | None = None,
    is_prepared: bool = False,
) -> Program:
    """Compile one function of a module and what it calls.

    Args:
        module: A verified module; functions that are primitive already stay as they are.
        options: How; by default machine code of the function `main` for the processor at hand.
        in_place: Change the module instead of a copy of it: less memory, and errors know the ops of the source.
        progress: Is told when each kernel is begun.
        is_prepared: Whether all passes before fusion have run on the module, as on that of a saved program.

    Raises:
        FuseError: The backend is unknown or not installed, or an option has no meaning.
        PassFailedException: The module cannot be fused.
        InterpretationError: The entry is missing, or an op has no meaning; then the error knows the op.
    """
    # What compiling makes is young while the collector is paused: `collect(1)` leaves what the process had before.
    start = perf_counter()
    options = options or CompileOptions()
    usable = usable_threads(options.threads, warn_of_threads)
    engine, entry, limits = engine_of(options), options.entry, options.limits
    source = module if in_place else module.clone()
    target = machine_of(engine, options)
    grouping = (options.fuse or FuseOpsPass()).to_compile().using(target=target)
    again: _Maker | None = None
    if not is_prepared and options.specialize and engine.name != "numpy" and has_open_sizes(source, entry):
        again = _Maker(source, replace(options, backend=engine, threads=usable, fuse=grouping, specialize=False))
    if not is_prepared:
        make_runnable(source)
        # As the source says it, or `fuse` ops that say the same: passes change what bodies hold.
        mark_iterations(source, functions_of(source))
        numbers = [f"{name}={size}" for name, size in options.sizes.items()]
        prepare_to_fuse(source, options.layout or layout_of(engine), numbers, target)
        outline_checks(source, entry)
    plans = grouping.plan_functions(source)
    ran = RanPlan.of(source, plans)
    promises = grouping.outline(source, plans)
    del plans  # it knows ops and their constants
    machine = machine_of(engine, options)
    if machine is not None:
        cut_primitives(source, machine)
        share_primitives(source)
    graph = read_entry(source, entry)
    # The graph has the elements, and lets go of them one by one; functions that run need those in their bodies.
    weights = let_go_of_constants(ran.unfused, graph.constants)
    run = {each for primitive in graph.primitives for each in (primitive.function, *primitive.callees.values())}
    elide_constants(source, run)
    if sum(array.nbytes for array in graph.constants.values()) >= _MUCH:
        gc.collect(1)  # what passes replaced refers to itself, and to other forms of the same constants
    is_ours = engine.name in BACKENDS and type(engine).__module__.startswith("fuse_dialect.")
    how = replace(options, backend=engine.name if is_ours else options.backend, threads=usable)
    shown = Compilation(source, grouping, ran, how, weights, None if again is None else again.module)
    kernels = compile_primitives(graph, engine, limits, progress)
    graph = with_scratch_tensors(graph, kernels)
    for each in kernels:
        each.promises = promises.get(each.name, frozenset())
    if machine is not None and has_sizes_to_settle(graph, kernels):
        graph, kernels = settle(graph, kernels)
    program = Program(
        graph, kernels, engine.name, usable, most_bytes=limits.value_bytes, compilation=shown, specialize=again
    )
    if machine is not None and program.prepare():
        gc.collect(1)  # garbage of the passes, which one of the first calls would have to look through
    _say(program, kernels, perf_counter() - start)
    return program


def _say(program: Program, kernels: Sequence[Compiled], seconds: float) -> None:
    """Tell the log what was compiled."""
    if (log := heard(COMPILE)) is None:
        return
    reports = program.kernels
    families = Counter(report.family for report in reports)
    names = ", ".join(f"{count} {family}" for family, count in families.most_common()) or "none"
    native = [each.kernel for each in kernels if each.kernel is not None]
    kept = sum(bool(getattr(kernel, "from_cache", False)) for kernel in native)  # not every backend has a cache
    log.info(
        "'%s' for %s in %.3f s: kernels: %s; %d from the cache, %d compiled; bytes: %d of constants, %s of the rest",
        program.name,
        program.backend,
        seconds,
        names,
        kept,
        len(native) - kept,
        program.constant_bytes,
        "unknown" if program.peak_bytes is None else program.peak_bytes,
    )
    if (log := heard(COMPILE, in_detail=True)) is not None:
        for report in reports:
            why = f", {report.reason}" if report.reason else ""
            log.debug("%s: %s%s%s", report.name, report.family, why, f", from {report.source}" if report.source else "")


class _Maker:
    """What compiles a module as it is now for sizes of its arguments that are open in it."""

    def __init__(self, module: ModuleOp, options: CompileOptions):
        self.module = module.clone()  # attributes are shared: constants take no second memory
        self._options = options

    def __call__(self, shapes: Sizes) -> Program:
        """The program for shapes of the arguments."""
        copy = self.module.clone()
        known = {**name_open_sizes(copy, self._options.entry, shapes), **self._options.sizes}
        return compile_program(copy, replace(self._options, sizes=known), in_place=True)


def has_open_sizes(module: ModuleOp, entry: str) -> bool:
    """Whether the type of an argument of a function leaves a size open."""
    types = function_named(module, entry).function_type.inputs
    return any(is_tensor(type) and DYNAMIC in type.get_shape() for type in types)


def name_open_sizes(module: ModuleOp, entry: str, shapes: Sizes) -> dict[str, int]:
    """Give each open size of the arguments of a function a name, where it has none.

    Args:
        module: The module; it changes.
        entry: Name of the function.
        shapes: Of arguments for one call.

    Returns:
        The size in that call by name.
    """
    function = function_named(module, entry)
    names = size_names(function)
    given = function.arg_attrs.data if function.arg_attrs is not None else [DictionaryAttr({})] * len(shapes)
    found: dict[str, int] = {}
    attributes: list[DictionaryAttr] = []
    for index, (type, own, shape) in enumerate(zip(function.function_type.inputs, names, shapes, strict=True)):
        known = type.get_shape() if is_tensor(type) else ()
        sizes = [
            (own[axis] if own else "") or (f"size {axis} of argument {index}" if size == DYNAMIC else "")
            for axis, size in enumerate(known)
        ]
        found.update((name, shape[axis]) for axis, name in enumerate(sizes) if name and known[axis] == DYNAMIC)
        named = {SIZES_ATTRIBUTE: ArrayAttr([StringAttr(name) for name in sizes])} if sizes else {}
        attributes.append(DictionaryAttr({**given[index].data, **named}))
    function.arg_attrs = ArrayAttr(attributes)
    return found


def compile_primitives(
    graph: EntryGraph, engine: Backend, limits: Limits, progress: Progress | None = None
) -> list[Compiled]:
    """What runs each primitive: a kernel, or NumPy and why; of loops and branches, who runs them.

    Args:
        graph: The function.
        engine: Makes the kernels.
        limits: What calls may take.
        progress: Is told when each kernel is begun.
    """
    loops = [_loops(primitive) for primitive in graph.primitives]
    requests = [
        KernelRequest(program, primitive.constants)
        for primitive, program in zip(graph.primitives, loops, strict=True)
        if isinstance(program, LoopProgram)
    ]
    kernels = iter(engine.compile(requests if progress is None else WatchedRequests(requests, progress)))
    compiled: list[Compiled] = []
    for primitive, program in zip(graph.primitives, loops, strict=True):
        if isinstance(program, Refusal):
            compiled.append(_of_library(engine, primitive, primitive.unread or program.reason, limits))
            continue
        kernel = next(kernels)
        if isinstance(kernel, Refusal):
            made = _with_scratch(engine, primitive, program, kernel, limits)
        else:
            made = Compiled(primitive, program, kernel, limits=limits)
        compiled.append(_with_numbers(made))
    _settle_control(graph, compiled)
    return compiled


def with_scratch_tensors(graph: EntryGraph, compiled: Sequence[Compiled]) -> EntryGraph:
    """The function with a tensor for each buffer of open size that lies between the loops of a kernel.

    Calls of such kernels have them as results that nobody reads.
    """
    if not any(each.scratch for each in compiled):
        return graph
    tensors = list(graph.tensors)

    def changed(call: Call) -> Call:
        match call.control:
            case Loop():
                call = replace(call, control=replace(call.control, calls=tuple(map(changed, call.control.calls))))
            case Branch():
                then, otherwise = (tuple(map(changed, calls)) for calls in call.control.calls)
                call = replace(call, control=replace(call.control, calls=(then, otherwise)))
            case None:
                pass
        first = len(tensors)
        tensors.extend(compiled[call.kernel].scratch)
        return replace(call, results=(*call.results, *range(first, len(tensors)))) if len(tensors) > first else call

    return replace(graph, calls=list(map(changed, graph.calls)), tensors=tensors)


def _settle_control(graph: EntryGraph, compiled: Sequence[Compiled]) -> None:
    """Decide of each loop and branch who runs it: native code throughout, Python around kernels, or NumPy."""
    # Without, the backend has no native code, or needs none.
    has_native = any(each.how is How.NATIVE for each in compiled)
    for call in graph.all_calls[::-1]:  # what is inside comes first
        if call.control is None:
            continue
        inside = [compiled[inner.kernel] for part in call.parts for inner in part]
        slow = next((each for each in inside if each.how in (How.NUMPY, How.MIXED)), None)
        loop = compiled[call.kernel]
        if slow is None:
            loop.control = How.CONTROL if has_native else None
        elif any(each.how in (How.NATIVE, How.CONTROL, How.MIXED) for each in inside):
            loop.control = How.MIXED
        if slow is not None:
            loop.reason = f"'@{slow.name}' inside has no native code: {slow.reason}"


def _of_library(engine: Backend, primitive: Primitive, reason: str, limits: Limits) -> Compiled:
    """What has no loops: a native function around a library, a call of one, or its NumPy meaning."""
    if engine.name == "numpy" or primitive.unread:
        return Compiled(primitive, None, None, reason, limits)
    from fuse_dialect.backends.libraries.fourier import transform_of
    from fuse_dialect.backends.libraries.kernel import library_kernel

    # Machine code is there with this backend alone.
    kernel = library_kernel(primitive.function) if engine.name == "llvm" else None
    if kernel is not None:
        return Compiled(primitive, None, kernel, limits=limits)
    return Compiled(primitive, None, None, reason, limits, direct=transform_of(primitive.function))


def _with_scratch(
    engine: Backend, primitive: Primitive, program: LoopProgram, refusal: Refusal, limits: Limits
) -> Compiled:
    """A kernel that was refused, with buffers of open sizes among its results; or none, as before."""
    found = with_scratch(program)
    if found is not None:
        other, count = found
        (kernel,) = engine.compile([KernelRequest(other, primitive.constants)])
        if not isinstance(kernel, Refusal):
            scratch = [
                TensorType(
                    tuple(DYNAMIC if isinstance(size, str) else size for size in each.shape), dtype_named(each.element)
                )
                for each in other.buffers[len(other.buffers) - count :]
            ]
            return Compiled(primitive, other, kernel, limits=limits, scratch=scratch)
    return Compiled(primitive, program, None, refusal.reason, limits)


def _with_numbers(made: Compiled) -> Compiled:
    """What runs a primitive; of an op whose numbers must be settled before its kernel can run, its NumPy meaning."""
    ops = [op for op in made.primitive.function.body.block.ops if isinstance(op, DynamicOp)]
    if made.kernel is None or not ops:
        return made
    op, told = made.only_op, None
    if isinstance(op, DynamicOp):
        told = replace(made, settled=How.NATIVE, sized_by=tuple(number_places(op)))
    reason = f"'{ops[0].name}' op has numbers that do not follow from sizes"
    return Compiled(made.primitive, None, None, reason, made.limits, told=told)


def _loops(primitive: Primitive) -> LoopProgram | Refusal:
    if primitive.is_view:
        return Refusal("it only reshapes")
    program = lower(primitive.function, knows_results=True)
    return simplify(program) if isinstance(program, LoopProgram) else program
