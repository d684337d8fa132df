"""The package as a library: read, fuse, ask why, run.

Every mistake in the input is a `FuseError`, whose text is what the command-line tools print.
"""

import os
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from io import StringIO
from numbers import Integral
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack, cast

from fuse_dialect.budget import MOST_EXPANDED_BYTES, MOST_OPS, MOST_VALUE_BYTES, Limits
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.process_wide import collector_paused

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Dialect

    from fuse_dialect.backends.backend import Backend
    from fuse_dialect.backends.options import CompileOptions
    from fuse_dialect.backends.progress import Progress
    from fuse_dialect.backends.runtime.program import Program
    from fuse_dialect.backends.stored.store import ProgramStore
    from fuse_dialect.dialect.op import Array
    from fuse_dialect.fusion.core.rules import RuleTable
    from fuse_dialect.fusion.core.strategy import Strategy
    from fuse_dialect.fusion.fuse_ops import FuseOpsPass
    from fuse_dialect.hardware.estimate import HardwareEstimate
    from fuse_dialect.hardware.trips import Trip
    from fuse_dialect.interpreters.numpy import Instead
    from fuse_dialect.loading.given_kinds import GivenKinds
    from fuse_dialect.loading.module_file import ModuleFile
    from fuse_dialect.remarks.module_plan import ModulePlan
    from fuse_dialect.targets.weights import Weights


Paths: TypeAlias = "str | PathLike[str] | Sequence[str | PathLike[str]]"
"""One or more files."""


class FuseOptions(TypedDict, total=False):
    """Options of fusion by name: what they mean is said in `fuse_dialect.fusion.core.options`."""

    opt_level: int
    max_depth: int
    max_function_args: int
    link_params: bool
    dedup: bool
    form: str
    machine: str
    recompute: bool
    horizontal: bool
    multi_output: bool
    open_size: int
    fusion_limit: int
    strategy: "str | Strategy"
    """A name, or a function of yours."""
    rules: "RuleTable"
    """What may fuse into what. Default `fuse_dialect.fusion.core.tvm_rules.TVM_RULES`."""


def parse(
    text: str | bytes,
    name: str = "<string>",
    *,
    dialects: "Sequence[Dialect]" = (),
    allow_unregistered: bool = False,
    kinds: Paths = (),
) -> "ModuleOp":
    """The verified module that MLIR text spells.

    Args:
        text: MLIR text; bytes are UTF-8.
        name: Name of the text in errors.
        dialects: Dialects of your own, besides those that xDSL and its plug-ins provide.
        allow_unregistered: Whether ops of unknown dialects are read, in their generic form.
        kinds: TOML files with the pattern kinds of ops by name, which are written on the ops.

    Raises:
        FuseError: The text is not MLIR, or the module or a file of kinds is invalid, with its place.

    Example:
        >>> import fuse_dialect as fd
        >>> module = fd.parse('''
        ... func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        ...   %y = fuse.exp %x : tensor<4xf32>
        ...   %z = fuse.relu %y : tensor<4xf32>
        ...   return %z : tensor<4xf32>
        ... }''')
        >>> fd.plan_fusion(module)
        @main: 1 group
          exp + relu -> %z
        'fuse.relu' not fused: value-escapes
    """
    from fuse_dialect.loading.module_file import module_of_text

    with _kinds_of(kinds) as given:
        return _stamped(module_of_text(text, name, dialects=dialects, allow_unregistered=allow_unregistered), given)


def read(
    path: str | PathLike[str],
    *,
    dialects: "Sequence[Dialect]" = (),
    allow_unregistered: bool = False,
    allow_unsupported_onnx: bool = False,
    weights: "str | PathLike[str] | None" = None,
    kinds: Paths = (),
    max_ops: int = MOST_OPS,
    max_bytes: int = MOST_EXPANDED_BYTES,
) -> "ModuleOp":
    """The verified module in a file.

    Args:
        path: An ONNX model if it ends in `.onnx`, else MLIR text. Models need the extra `onnx`.
        dialects: Dialects of your own, besides those that xDSL and its plug-ins provide.
        allow_unregistered: Whether ops of unknown dialects are read, in their generic form.
        allow_unsupported_onnx: Whether ONNX operators that are not supported are kept as opaque ops.
        weights: A safetensors file with the elements of the text's `dense_resource` constants. They stay there until
            somebody reads them.
        kinds: TOML files with the pattern kinds of ops by name, which are written on the ops.
        max_ops: Most ops that the functions of an ONNX model may expand to.
        max_bytes: Most bytes of constants that an ONNX model may expand to, besides 6 for each of its own.

    Raises:
        FuseError: The file cannot be read, is malformed, or holds an invalid module, with its place.
    """
    from fuse_dialect.loading.module_file import read_module

    with _kinds_of(kinds) as given:
        file = read_module(
            fspath(path),
            dialects=dialects,
            allow_unregistered=allow_unregistered,
            allow_unsupported_onnx=allow_unsupported_onnx,
            weights=None if weights is None else fspath(weights),
            limits=Limits(ops=max_ops, bytes=max_bytes),
        )
        return _stamped(file, given)


def _stamped(file: "ModuleFile", given: "GivenKinds | None") -> "ModuleOp":
    """The module that was read, with the kinds of files."""
    if given is not None:
        given.stamp(file.module, file.source_map)
    return file.module


@contextmanager
def _kinds_of(paths: Paths) -> "Generator[GivenKinds | None]":
    """What files say of kinds, `None` without files; a row that was for no op is a warning where the API is called.

    Raises:
        FuseError: A file cannot be read or is wrong.
    """
    if not isinstance(paths, str | PathLike) and not paths:
        yield None
        return
    from fuse_dialect.loading.given_kinds import GivenKinds

    given = GivenKinds(paths)
    yield given
    for warning in given.warnings():
        # The caller of the function that has this context: two levels of it are Python's.
        warnings.warn(f"{warning.location}: {warning.message}", RuntimeWarning, stacklevel=4)


def write(module: "ModuleOp", path: str | PathLike[str], weights: "str | PathLike[str] | None" = None) -> None:
    """Write a module as MLIR text, or as an ONNX model.

    Args:
        module: The module.
        path: The file, an ONNX model if it ends in `.onnx`, which needs the extra `onnx`. It is written as a whole or
            not at all.
        weights: Large constants go to this safetensors file, and the text refers to them by name; `read` takes both.
            A model takes them from its own folder alone.

    Raises:
        FuseError: A file cannot be written, the elements of a constant are not known here, or an op has no ONNX
            operators.
    """
    from fuse_dialect.loading.output_file import write_files, writer_of
    from fuse_dialect.loading.source import is_onnx_path
    from fuse_dialect.targets.weights import collect_weights

    with _errors_of(module, " while the module is written"):
        table = None if weights is None else collect_weights(module)
        if is_onnx_path(fspath(path)):
            result = _model_bytes(module, fspath(path), table, weights)
        else:
            result = _text(module, table)
        files = [(fspath(path), writer_of(result))]
        if table is not None and weights is not None:
            files.insert(0, (fspath(weights), table.write))
        write_files(files)


def _model_bytes(
    module: "ModuleOp", path: str, table: "Weights | None", weights: "str | PathLike[str] | None"
) -> bytes:
    from fuse_dialect.loading.verification import verify_module
    from fuse_dialect.targets.onnx.target import OnnxTarget

    if weights is not None and os.path.dirname(os.path.realpath(path)) != os.path.dirname(os.path.realpath(weights)):
        raise FuseError("an ONNX model takes weights only from files in its own folder")
    verify_module(module)  # the rows of ops rely on it
    return OnnxTarget().model_bytes(module, table, "" if weights is None else os.path.basename(fspath(weights)))


def text(module: "ModuleOp", elide: int | None = None) -> str:
    """A module as MLIR text; `str(module)` is xDSL's, with every element of every constant.

    Args:
        module: The module.
        elide: Constants of more elements are printed as `dense_resource<__elided__>`, except those whose elements are
            all equal. Such text is for reading: the elements are lost. By default all are printed.

    Raises:
        FuseError: The elements of a constant are not known here.

    Example:
        >>> import fuse_dialect as fd
        >>> print(fd.text(fd.parse("%c = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi8>"), elide=3))
        builtin.module {
          %c = arith.constant dense_resource<__elided__> : tensor<4xi8>
        }
    """
    with _errors_of(module, " while the module is printed"):
        return _text(module, None, elide).rstrip("\n")


def _text(module: "ModuleOp", table: "Weights | None", elide: int | None = None) -> str:
    from fuse_dialect.frontends.mlir.reader import context
    from fuse_dialect.targets.mlir import FuseMLIRTarget

    text = StringIO()
    FuseMLIRTarget(weights=table, elide_larger_than=elide).emit(context(), module, text)
    return text.getvalue()


class HardwareOptions(TypedDict, total=False):
    """Options of `fuse_ops_hw`; all have defaults."""

    template: str
    """A `fuse.hardware` op of the module, a template of the package, or a path of an MLIR file, or several with commas
    between them; `opu`."""
    objective: str
    """What there shall be little of: `trips`, `bytes` or `cycles`."""
    search_budget: int
    """Steps of the search for the best plan."""
    placement: str
    """Path of a JSON file that says where operators run."""
    constants_inside: bool
    """Whether trips hold the constants that they read."""
    dedup: bool
    """Whether trips of the same structure share one function."""
    tile_trips: bool
    """Whether to cut trips whose feature maps are beyond the limits into tiles of rows."""
    strict_opu: bool
    """Whether to replay the algorithm of the OPU article."""


def fuse_ops(module: "ModuleOp", *, kinds: Paths = (), **options: Unpack[FuseOptions]) -> "ModuleOp":
    """Group operators into primitive functions, exactly as TVM's `FuseOps` does, in place.

    Args:
        module: A valid module; it is changed.
        kinds: TOML files with the pattern kinds of ops by name, which are written on the ops.
        options: See `FuseOptions`.

    Returns:
        The same module.

    Raises:
        FuseError: An option or an attribute of fusion is wrong, or the module is not in SSA order.

    Example:
        >>> import fuse_dialect as fd
        >>> module = fd.fuse_ops(fd.parse('''
        ... func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        ...   %y = fuse.exp %x : tensor<4xf32>
        ...   return %y : tensor<4xf32>
        ... }'''))
        >>> [op.sym_name.data for op in module.ops]
        ['main', 'fused_exp']
    """
    from xdsl.context import Context

    with collector_paused(), _kinds_of(kinds) as given, _errors_of(module, " in pass 'fuse-ops'"):
        _stamp_unread(module, given)
        _fuse_ops_pass(options).apply(Context(), module)
    return module


def fuse_ops_hw(module: "ModuleOp", **options: Unpack[HardwareOptions]) -> "ModuleOp":
    """Group operators into trips of data through an accelerator, in place.

    Args:
        module: A valid module; it is changed.
        options: See `HardwareOptions`.

    Returns:
        The same module.

    Raises:
        FuseError: There is no such template, an option is wrong, or the module is not in SSA order.

    Example:
        >>> import fuse_dialect as fd
        >>> module = fd.fuse_ops_hw(fd.parse('''
        ... func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        ...   %y = fuse.relu %x : tensor<4xf32>
        ...   return %y : tensor<4xf32>
        ... }'''), template="opu")
        >>> [trip.template for trip in fd.trips_of(module)]
        ['opu']
    """
    from fuse_dialect.frontends.mlir.reader import context
    from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass

    with collector_paused(), _errors_of(module, " in pass 'fuse-ops-hw'"):
        FuseOpsHwPass(**options).apply(context(), module)
    return module


def hardware_report(module: "ModuleOp", *, template: str = "", entry: str = "main") -> "HardwareEstimate":
    """What a module costs that `fuse_ops_hw` has fused: operations, bytes, cycles and memory, trip by trip.

    Args:
        module: The module; it is not changed.
        template: Path of the template's file, if it is neither in the module nor one of the package.
        entry: Name of the function; where there is no `main`, the only public function.

    Raises:
        FuseError: The template cannot be read, or there is no such function.
    """
    from fuse_dialect.frontends.mlir.reader import context
    from fuse_dialect.hardware.hardware_report import estimate_of

    with _errors_of(module, " in the report"):
        return estimate_of(module, context(), template, entry)


def _stamp_unread(module: "ModuleOp", given: "GivenKinds | None") -> None:
    """Write the kinds of files on the ops of a module that nobody has just read."""
    if given is not None:
        from fuse_dialect.frontends.mlir.source_map import SourceMap

        given.stamp(module, SourceMap("<module>", ""))


def plan_fusion(module: "ModuleOp", *, kinds: Paths = (), **options: Unpack[FuseOptions]) -> "ModulePlan":
    """What `fuse_ops` would do, and why the rest would not fuse; nothing is fused.

    Kinds by name, of `kinds`, of the module or of installed packages, are on the ops afterwards.

    Args:
        module: A valid module.
        kinds: TOML files with the pattern kinds of ops by name, which are written on the ops.
        options: See `FuseOptions`.

    Returns:
        A plan that prints briefly, with `.groups`, `.decisions` and `.summary()`.

    Raises:
        FuseError: An option or an attribute of fusion is wrong, or the module is not in SSA order.
    """
    from fuse_dialect.remarks.module_plan import plan_module

    with collector_paused(), _kinds_of(kinds) as given, _errors_of(module, " while fusion is planned"):
        _stamp_unread(module, given)
        return plan_module(module, _fuse_ops_pass(options), _drawn)


def _drawn(plan: "ModulePlan", form: "Literal['html', 'svg']") -> str:
    """A picture of a plan."""
    from fuse_dialect.pictures.drawing import picture_of_plan

    return picture_of_plan(plan, form)


def run(
    module: "ModuleOp",
    *inputs: "npt.ArrayLike | Mapping[str, npt.ArrayLike]",
    entry: str = "main",
    max_ops: int = MOST_OPS,
    max_value_bytes: int = MOST_VALUE_BYTES,
    trips: "Callable[[Trip, Sequence[Array]], Sequence[Array]] | None" = None,
) -> "list[Array]":
    """Run a function of a module on NumPy: the definition of what a program means.

    Args:
        module: The module; it is verified. StableHLO is run by what `fuse` ops say the same.
        inputs: Arrays in the order of the function's arguments, or one mapping from argument names to arrays: names in
            the model that the module comes from, or in the IR. Each has exactly the element type and a shape of its
            argument.
        entry: Name of the function; where there is no `main`, the only public function.
        max_ops: Most ops that loops and calls run, over and above one run of everything: each iteration of a loop but
            the first counts the ops in its body.
        max_value_bytes: Most bytes of a value that the run makes.
        trips: What runs in the place of each trip through hardware: takes the trip and the arrays that come in, and
            gives those that go out, as the device would. See `for_each_trip`.

    Returns:
        The results in order; a tuple gives its fields.

    Raises:
        FuseError: The module is invalid, an input is missing or of another type, or an op cannot be run.

    Example:
        >>> import numpy as np
        >>> import fuse_dialect as fd
        >>> module = fd.parse('''
        ... func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
        ...   %y = fuse.relu %x : tensor<3xf32>
        ...   return %y : tensor<3xf32>
        ... }''')
        >>> fd.run(module, np.array([-1, 0, 2], np.float32))
        [array([0., 0., 2.], dtype=float32)]
    """
    from fuse_dialect.interpreters.numpy import run_module
    from fuse_dialect.loading.verification import verify_module
    from fuse_dialect.transforms.runnable import make_runnable, needs_conversion

    limits = Limits(ops=max_ops, value_bytes=max_value_bytes)
    with _errors_of(module, " in the interpreter"):
        verify_module(module)
        if needs_conversion(module):
            module = module.clone()
            make_runnable(module)
        instead = None if trips is None else _instead_of_trips(module, trips)
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            named = {name: _as_array(f"'{name}'", array) for name, array in inputs[0].items()}
            return run_module(module, named, entry, limits=limits, instead=instead)
        arrays = [_as_array(str(place), array) for place, array in enumerate(inputs)]
        return run_module(module, arrays, entry, limits=limits, instead=instead)


def _instead_of_trips(
    module: "ModuleOp", run_trip: "Callable[[Trip, Sequence[Array]], Sequence[Array]]"
) -> "dict[str, Instead]":
    """What runs in the place of each trip of a module, by the name of its function."""
    from functools import partial

    from fuse_dialect.hardware.trips import for_each_trip

    return for_each_trip(module, lambda trip: partial(run_trip, trip))


def _as_array(which: str, value: Any) -> "Array":
    """An input as NumPy has it, in the byte order of the machine.

    Raises:
        FuseError: NumPy makes no array of it, or one that is masked, and whose mask no op would heed.
    """
    import numpy as np

    from fuse_dialect.backends.runtime.tensors import array_of, is_torch_tensor

    if type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray):  # asking imports `numpy.ma`
        raise FuseError(f"input {which} expects an array, got a masked array", hint="fill it: value.filled(0)")
    try:
        array = array_of(value) if is_torch_tensor(value) else np.asarray(value)
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    except (TypeError, ValueError, RuntimeError, OverflowError, ImportError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise FuseError(f"input {which} expects an array, got a {type(value).__name__}", hint=said) from error


def compile(
    source: "str | PathLike[str] | ModuleOp",
    backend: "Literal['llvm', 'numpy'] | Backend" = "llvm",
    threads: int = 1,
    entry: str = "main",
    *,
    cache: bool = True,
    weights: "str | PathLike[str] | None" = None,
    max_ops: int = MOST_OPS,
    max_value_bytes: int = MOST_VALUE_BYTES,
    sizes: Mapping[str, int] | None = None,
    target_cpu: str | None = None,
    fast_math: bool = False,
    progress: "Progress | None" = None,
    **options: Unpack[FuseOptions],
) -> "Program":
    """Compile a function of a module to machine code, with all that it calls.

    Before that the module goes through `compile-pipeline`: `fuse-opt --compile-pipeline` shows what it makes of it, and
    so do `Program.module` and `Program.plan`. What has no machine code runs by its NumPy meaning, and `Program.kernels`
    says why; the logger `fuse_dialect.compile` warns of it, and of programs that compute mostly in f64.

    Args:
        source: A path as `read` takes it, or a module, which is not changed.
        backend: `llvm` for machine code, which needs the extra `native`; `numpy`; or a backend of your own.
        threads: Most threads that one call uses.
        entry: Name of the function; where there is no `main`, the only public function.
        cache: Keep machine code on disk, and use what is there.
        weights: A safetensors file that belongs to a path, see `read`.
        max_ops: Most ops that loops run in one call, over and above one run of everything, as `run` counts.
        max_value_bytes: Most bytes of a value that a call makes.
        sizes: Numbers for open sizes of arguments by name, `{"batch": 4}`: the program is for these sizes alone, and
            has machine code for more ops. Names are those in the model, or of `fuse.sizes`.
        target_cpu: A machine: a processor as LLVM names it, `haswell`, one that comes with this package or that another
            adds, or the path of a file that ends in `.toml`. Nothing that it lacks is used, nor what the processor at
            hand lacks, and the strategy "cost" plans for it, unless the option `machine` names another. By default
            what the environment variable `FUSE_TARGET_CPU` names, or the processor at hand.
        fast_math: Let kernels multiply rows by reciprocals where the program divides, and take nan and infinities for
            what does not happen. Without it quotients have the bits of NumPy's.
        progress: Is called with `(done, total, name)` when each kernel is begun, and with `(total, total, "")` when all
            are done.
        options: See `FuseOptions`. The strategy is `cost` by default, and with `rules` it is `tvm`.

    Returns:
        A program: call it with arrays, get a tuple of arrays.

    Raises:
        FuseError: The file or module is wrong, or the backend or the processor is unknown, or it is not installed.

    Example:
        >>> import numpy as np
        >>> import fuse_dialect as fd
        >>> program = fd.compile(fd.parse('''
        ... func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
        ...   %y = fuse.exp %x : tensor<3xf32>
        ...   %z = fuse.negative %y : tensor<3xf32>
        ...   return %z : tensor<3xf32>
        ... }'''), backend="numpy")
        >>> program(np.zeros(3, np.float32))
        (array([-1., -1., -1.], dtype=float32),)
    """
    from fuse_dialect.backends.options import CompileOptions
    from fuse_dialect.backends.threads import usable_threads, warn_of_threads

    # A large model is not read before it turns out that an option is wrong.
    how = CompileOptions(
        backend=backend,
        threads=usable_threads(threads, warn_of_threads),
        entry=entry,
        cache=cache,
        limits=Limits(ops=max_ops, value_bytes=max_value_bytes),
        sizes=dict(sizes or {}),
        target_cpu=target_cpu,
        fast_math=fast_math,
    )
    check_options(options)
    made = _Compiling(how, None if progress is None else _passed_through(progress), options)
    try:
        with collector_paused():
            if isinstance(source, str | PathLike):
                return made.of_file(fspath(source), None if weights is None else fspath(weights))
            return made.of_module(source)
    except _CallersError as raised:
        error = raised.error
    # Outside of the handler: it is the caller's own error, and says nothing of ours.
    raise error


def load(
    source: "str | PathLike[str] | bytes",
    threads: int | None = None,
    *,
    trust: bool = False,
    progress: "Progress | None" = None,
) -> "Program":
    """The program in a file that `Program.save` wrote, or in the bytes of `Program.to_bytes`.

    A file is safe whoever wrote it. Its machine code runs if it was made by you on this machine with what is installed
    now. Else the program is compiled from the IR of the file, and kept in the cache, so that the next start is as fast.
    Constants are mapped: processes that load one file have them once.

    Args:
        source: The path, or the bytes.
        threads: Most threads that one call uses; by default as many as the program was compiled for. For another number
            it is compiled.
        trust: Run the machine code of the file whoever has made it, if it is of this version of the package and this
            processor has what it was made for. Only for files that nobody else could have written.
        progress: As for `compile`.

    Raises:
        FuseError: The file cannot be read, is damaged, has a version that is not known, or cannot be compiled here.

    Example:
        >>> import numpy as np
        >>> import fuse_dialect as fd
        >>> module = fd.parse('''
        ... func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
        ...   %y = fuse.relu %x : tensor<3xf32>
        ...   return %y : tensor<3xf32>
        ... }''')
        >>> data = fd.compile(module, backend="numpy").to_bytes()
        >>> fd.load(data)(np.array([-1, 0, 2], np.float32))
        (array([0., 0., 2.], dtype=float32),)
    """
    from fuse_dialect.loading.saved_programs import load

    given = fspath(source) if isinstance(source, str | PathLike) else source
    if not isinstance(given, str | bytes):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without types
        hint = "fuse_dialect.load(path) or fuse_dialect.load(program.to_bytes())"
        raise FuseError(f"expected a path or bytes, got {type(source).__name__}", hint=hint)
    return load(given, threads, trust=trust, progress=progress)


class _CallersError(BaseException):
    """An error of a function that the caller has given; what handles errors of ours lets it pass."""

    def __init__(self, error: Exception):
        super().__init__()
        self.error = error


def _passed_through(progress: "Progress") -> "Progress":
    """The function, whose errors reach who has given it."""

    def watch(done: int, total: int, name: str) -> object:
        try:
            return progress(done, total, name)
        except Exception as error:
            raise _CallersError(error) from None

    return watch


@dataclass(frozen=True, slots=True)
class _Compiling:
    """What `compile` does with a file or a module."""

    how: "CompileOptions"
    progress: "Progress | None"
    options: FuseOptions
    """Of fusion, as they were given."""

    def of_file(self, path: str, weights: str | None) -> "Program":
        """The program of a file, from the cache if it is there as a whole."""
        store = self._store(path, weights)
        if store is None:
            return self._compiled(_to_compile(path, weights), is_ours=True)

        def whole() -> "Program":
            # The paths are those of then, wherever the process has gone to since.
            model, *others = store.paths
            again = replace(self, progress=None)
            return again._compiled(_to_compile(model, others[0] if others else None), is_ours=True)

        found = store.load("llvm", whole)
        if found is not None:
            if self.progress is not None:
                self.progress(len(found.kernels), len(found.kernels), "")
            return found
        from fuse_dialect.backends.stored.files import FilesRead
        from fuse_dialect.read_files import noting_files

        files = FilesRead()
        with noting_files(files.note):
            module = _to_compile(path, weights)
        program = self._compiled(module, is_ours=True)
        store.keep(program, files)
        return program

    def of_module(self, module: "ModuleOp") -> "Program":
        """The program of a module, which is not changed."""
        from xdsl.dialects.builtin import ModuleOp

        if not isinstance(module, ModuleOp):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without types
            hint = (
                "fuse_dialect.from_torch(network, *examples) and from_jax(function, *examples) make modules of programs"
            )
            raise FuseError(f"expected a module or a path, got {type(module).__name__}", hint=hint)
        return self._compiled(module, is_ours=False)

    def _compiled(self, module: "ModuleOp", *, is_ours: bool) -> "Program":
        from fuse_dialect.backends.compile import compile_program
        from fuse_dialect.backends.runtime.slow_parts import warn_of_slow_parts
        from fuse_dialect.loading.verification import verify_module

        with _errors_of(module, " in the compiler"):
            if not is_ours:
                verify_module(module)
            program = compile_program(
                module, replace(self.how, fuse=_fuse_ops_pass(self.options)), in_place=is_ours, progress=self.progress
            )
        warn_of_slow_parts(program)
        return program

    def _store(self, path: str, weights: str | None) -> "ProgramStore | None":
        """Where the program of a file is kept, if it is one that is: see `backends.stored`."""
        how = self.how
        if how.backend != "llvm" or not how.cache or path == "-":
            return None
        from fuse_dialect.backends.stored.store import open_store

        asked: dict[str, Any] = {"limits": [how.limits.ops, how.limits.value_bytes], "options": self.options}
        asked |= {name: getattr(how, name) for name in ("threads", "entry", "sizes", "target_cpu", "fast_math")}
        return open_store(path, weights, asked, (how.target_cpu or "", self.options.get("machine", "")))


def _to_compile(path: str, weights: str | None) -> "ModuleOp":
    """The module in a file. What compiles it is imported first: it stays, and the module goes (`keep_what_exists`)."""
    import_module("fuse_dialect.backends.compile")
    return read(path, weights=weights)


def _fuse_ops_pass(options: FuseOptions) -> "FuseOpsPass":
    from fuse_dialect.fusion.fuse_ops import FuseOpsPass

    check_options(options)
    strategy = options.get("strategy")
    values = {name: value for name, value in options.items() if name not in ("rules", "strategy")}
    if isinstance(strategy, str):
        values["strategy"], strategy = strategy, None
    return FuseOpsPass(**cast(dict[str, Any], values)).using(rules=options.get("rules"), strategy=strategy)


_WORDS = {str: "a text", bool: "True or False"}
"""What options of a type are, for errors."""


def check_options(options: FuseOptions) -> None:
    """Check names and types of the options, as the tools check those on the command line.

    Raises:
        FuseError: An option is unknown, or its value has the wrong type.
    """
    for name, value in options.items():
        if name not in FuseOptions.__annotations__:
            from fuse_dialect.loading.pipeline import closest

            known = list(FuseOptions.__annotations__)
            raise FuseError(
                f"there is no option '{name}'", hint=closest(name, known) or f"there are {', '.join(known)}"
            )
        wanted = FuseOptions.__annotations__[name]
        if name == "rules":
            from fuse_dialect.fusion.core.rules import RuleTable

            words, is_right = "a RuleTable", value is None or isinstance(value, RuleTable)
        elif name == "strategy":
            words, is_right = "a name or a function", value is None or isinstance(value, str) or callable(value)
        elif wanted is int:
            words, is_right = "an integer", not isinstance(value, bool) and isinstance(value, Integral)
        else:
            words, is_right = _WORDS[wanted], isinstance(value, wanted)
        if not is_right:
            raise FuseError(f"option '{name}' expects {words}, got {value!r}")


@contextmanager
def _errors_of(module: "ModuleOp", where: str) -> Generator[None]:
    """Turn errors about ops of the module into `FuseError`s; ops with a location say where they stand."""
    from xdsl.dialects.builtin import ModuleOp

    from fuse_dialect.frontends.mlir.source_map import SourceMap
    from fuse_dialect.loading.failure import located_errors

    if not isinstance(module, ModuleOp):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without types
        hint = "fuse_dialect.read, parse, from_torch and from_jax give one"
        raise FuseError(f"expected a module, got {type(module).__name__}", hint=hint)
    with located_errors(SourceMap("<module>", ""), where):
        yield
