"""`Program`: a compiled function as something to call with arrays."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from fuse_dialect.backends.runtime.arrays import (
    TREES,
    Port,
    address_of,
    as_input,
    check_output,
    is_dense,
    shares_memory,
)
from fuse_dialect.backends.runtime.portable import Portable
from fuse_dialect.backends.runtime.recycling import RecycledMemory
from fuse_dialect.backends.runtime.tensors import are_traced
from fuse_dialect.backends.runtime.walk import CountsDifferError
from fuse_dialect.backends.types import Shape, TensorType
from fuse_dialect.budget import MAX_REPETITIONS, MOST_VALUE_BYTES
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.extensions import at_place
from fuse_dialect.interpreters.input_names import InputNamesError, inputs_by_name

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from fuse_dialect.backends.runtime.compilation import Compilation
    from fuse_dialect.backends.runtime.constants import Constants
    from fuse_dialect.backends.runtime.entry_graph import EntryGraph
    from fuse_dialect.backends.runtime.executable import Executable
    from fuse_dialect.backends.runtime.executables import Executables
    from fuse_dialect.backends.runtime.kernel_timing import KernelReport
    from fuse_dialect.backends.runtime.primitives import Compiled
    from fuse_dialect.backends.runtime.report import Profile
    from fuse_dialect.backends.runtime.sizes_report import SizesReport
    from fuse_dialect.backends.runtime.specializing import Sizes, Specializations
    from fuse_dialect.backends.runtime.stepwise import StepTimes
    from fuse_dialect.backends.runtime.stretches import Stretches
    from fuse_dialect.backends.runtime.trace import Trace
    from fuse_dialect.backends.runtime.walk import Frame, Walk
    from fuse_dialect.dialect.op import Array
    from fuse_dialect.machines.machine import Machine
    from fuse_dialect.remarks.module_plan import ModulePlan

MANY_CALLS = 64
"""After so many calls with one set of sizes a program that is native for all sizes is compiled for it."""
MAX_SPARE_FRAMES = 4
"""Most frames that are kept for later calls; more are made when more threads call at once."""


@dataclass(frozen=True, slots=True)
class InputForm:
    """An argument of a program."""

    name: str
    """In the IR."""
    model_name: str | None
    """In the model that the module comes from, where there is one."""
    type: TensorType
    sizes: tuple[str, ...]
    """Names of its sizes."""


@dataclass(frozen=True, slots=True)
class Interface:
    """A function as its callers see it."""

    name: str
    inputs: Sequence[InputForm]
    output_names: Sequence[str]
    outputs: Sequence[TensorType]


class Program(Portable):
    """A compiled function. Any number of threads may call it at once.

    Calling it with arrays gives a tuple of fresh arrays. `fuse_dialect.compile` makes programs.
    """

    _says_later: "ClassVar[tuple[type[Exception], ...]]" = (CountsDifferError,)
    """Ends of a run after which another way of running says what is wrong."""

    def __init__(
        self,
        graph: "EntryGraph",
        primitives: "Sequence[Compiled]",
        backend: str,
        threads: int = 1,
        *,
        most_bytes: int = MOST_VALUE_BYTES,
        compilation: "Compilation | None" = None,
        specialize: "Callable[[Sizes], Program] | None" = None,
        constants: "Constants | None" = None,
    ):
        """Plan the function; used by `compile_program`.

        Args:
            graph: The function's steps.
            primitives: What runs each of the graph's primitives.
            backend: Name of the backend, for reports.
            threads: Most threads that a call uses.
            most_bytes: Of a constant that repeats few elements, when they are written out.
            compilation: What it was made of, for `module` and `plan`.
            specialize: Compiles the same function for given sizes of its arguments, some of which are open.
            constants: Those of a function that this one is a part of.
        """
        from fuse_dialect.backends.runtime.constants import Constants
        from fuse_dialect.backends.runtime.executables import Executables
        from fuse_dialect.backends.runtime.specializing import Specializations

        interface = Interface(
            graph.name,
            [
                InputForm(*each)
                for each in zip(
                    graph.input_names,
                    graph.model_input_names,
                    [graph.tensors[tensor] for tensor in graph.inputs],
                    graph.size_names,
                    strict=True,
                )
            ],
            graph.output_names,
            [graph.tensors[tensor] for tensor in graph.outputs],
        )
        self._begin(interface, backend, threads)
        self._specializations = None if specialize is None else Specializations(specialize, self._is_gain)
        self._compilation = compilation
        self._graph = graph
        self._primitives = primitives
        self._is_part = constants is not None
        self._constants = Constants(graph.constants, most_bytes) if constants is None else constants
        self._stretches: Stretches[Program] | None = None
        """The function cut where the data decide sizes; `None` before the first call that needs it."""
        self._sizes = Executables(
            graph, primitives, self._constants, threads, is_static=self._is_static, is_part=constants is not None
        )
        self._counting = self._sizes.counting
        if self._is_static:
            self._specializations = None  # nothing is open that a call could say
            # A number that an input says comes with each call.
            self._static = None if self._counting else self._executable(self._shapes)
            if self._static is not None and not self._is_part:
                self._constants.seal()

    def _begin(self, interface: Interface, backend: str, threads: int) -> None:
        """Set what calls need of any program, whoever runs it."""
        self._interface = interface
        self.backend = backend
        self.threads = threads
        self._inputs = [Port(f"input '{form.name}'", form.type) for form in interface.inputs]
        self._outputs = [Port(f"output {place}", type) for place, type in enumerate(interface.outputs)]
        self._memory = RecycledMemory()
        self._dense = [(port.type.dtype, port.type.shape) for port in self._inputs]
        self._same_sizes = _same_sizes(interface)
        self._sizes: Executables | None = None
        """How it runs for one set of sizes after another; `None` for a program without its IR."""
        self._counting: tuple[int, ...] = ()
        """Inputs whose numbers say how often loops run, and so how large results are."""
        self._is_static = all(port.type.is_static for port in self._inputs)
        self._shapes = tuple(port.type.shape for port in self._inputs)
        self._specializations: Specializations[Program] | None = None
        self._static: Walk | None = None

    def __repr__(self) -> str:
        """The function, what runs its kernels, and the bytes of its constants."""
        families = Counter(kernel.family for kernel in self.kernels)
        parts = ", ".join(f"{count} {family}" for family, count in families.most_common())
        kernels = f"{sum(families.values())} kernels" + (f" ({parts})" if parts else "")
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        constants = f"{self.constant_bytes} bytes of constants"
        return f"<Program '{self._interface.name}' for {self.backend}, {threads}: {kernels}, {constants}>"

    def __call__(self, /, *inputs: Any, **named: Any) -> "tuple[Array, ...]":
        """Run the function.

        Args:
            inputs: One for each argument: NumPy arrays, objects with `__dlpack__`, or what `numpy.asarray` takes.
                Arrays that are strided, reversed, misaligned or in another byte order are copied. Of tensors of PyTorch
                those with gradients are taken without them. Or one mapping from names of arguments, those in the
                model or in the IR, to such values. In a function that JAX is tracing, the call becomes an op of that
                function (`jax.pure_callback`), and gives JAX's arrays.
            named: Inputs by the same names, after those by place.

        Returns:
            One fresh array for each result; a result that is a tuple gives its fields, in order.

        Raises:
            FuseError: An input has another dtype or shape, or an operator rejects its values.
        """
        if named:
            inputs = self._with_named(inputs, named)
        by_name = cast("dict[str, Any]", inputs[0]) if len(inputs) == 1 and type(inputs[0]) is dict else {}
        if are_traced(inputs) or are_traced(by_name.values()):
            return at_place("fuse_dialect.jax.operation:call_traced")(self, self._in_order(inputs))
        if self._specializations is not None and (special := self._ready(inputs)) is not None:
            return special._call(inputs)
        return self._call(self._arrays(inputs))

    def _ready(self, inputs: Sequence[Any]) -> "Program | None":
        """The program for the sizes of these inputs, if there is one and they are as kernels read them."""
        assert self._specializations is not None, "only programs of open sizes ask"
        if not self._specializations:
            return None
        for value in inputs:
            if type(value) is not np.ndarray:
                return None
        special = self._specializations.known(tuple([value.shape for value in inputs]))
        if special is None:
            return None
        for value, (dtype, _) in zip(inputs, special._dense, strict=True):
            if value.dtype != dtype or not is_dense(value):
                return None
        return special

    def _call(self, arrays: "Sequence[Array]") -> "tuple[Array, ...]":
        """The results for arrays that kernels may read."""
        executable = self._static
        if executable is None:
            shapes = tuple([array.shape for array in arrays])
            executable = self._executable(shapes, self._counts(arrays))
            if self._specializations is not None and (special := self._special(executable, shapes)) is not None:
                return special._call(arrays)
            if executable is None:
                return tuple(self._stepwise(arrays))
        return tuple(self._run(executable, arrays, self._fresh(executable)))

    def by_addresses(self) -> "Callable[[Sequence[int]], Sequence[Array]] | None":
        """Calls without looking at inputs, for who knows them: dense arrays of the right types, by their addresses.

        The caller keeps them alive until the call has returned. Results of 128 KiB or more begin at multiples of 64.

        Returns:
            `None` for a program that needs more than addresses: open sizes, steps that NumPy runs, long runs.
        """
        walk = self._static
        if walk is None or not walk.may_run_at:
            return None
        makers = [self._memory.maker(*form) for form in walk.forms if form is not None]

        def call(addresses: Sequence[int]) -> "Sequence[Array]":
            try:
                outputs = [make() for make in makers]
            except (MemoryError, ValueError) as error:
                raise FuseError("out of memory for the results") from error
            _run_at(walk, addresses, [address_of(output) for output in outputs])
            return outputs

        return call

    def into_addresses(self) -> "Callable[[Sequence[int], Sequence[int]], bool] | None":
        """As `by_addresses`, with results written to dense arrays of their types, none of which overlaps another array.

        A call tells whether it has run; where it has not, `run_into` says why, or does.
        """
        walk = self._static
        if walk is None or not walk.may_run_at:
            return None

        def call(addresses: Sequence[int], outputs: Sequence[int]) -> bool:
            try:
                _run_at(walk, addresses, outputs)
            except self._says_later:
                return False
            return True

        return call

    def _stepwise(self, arrays: "Sequence[Array]", times: "StepTimes | None" = None) -> "list[Array]":
        from fuse_dialect.backends.runtime.stepwise import run_stepwise

        if times is None and self._has_cuts:
            if self._stretches is None:
                self._stretches = self._in_stretches()
            return self._stretches.run(arrays)
        return run_stepwise(self._graph, self._primitives, self._constants, arrays, times)

    @cached_property
    def _has_cuts(self) -> bool:
        from fuse_dialect.backends.runtime.stretches import is_cut

        return not self._is_part and is_cut(self._graph, self._primitives)

    def _in_stretches(self) -> "Stretches[Program]":
        """The function as programs of its parts, where the data decide sizes between them."""
        from fuse_dialect.backends.runtime.stretches import Stretches

        def make(part: "EntryGraph") -> "tuple[Program, Callable[[Sequence[Array]], Sequence[Array]]]":
            program = Program(part, self._primitives, self.backend, self.threads, constants=self._constants)
            return program, program._call

        return Stretches(self._graph, self._primitives, self._constants, make)

    def specialize(self, *inputs: Any) -> "Program":
        """The program for the sizes of these inputs alone; itself if it is for them alone already.

        Calls with sizes that come back use such programs by themselves, once a thread beside them has compiled it; this
        makes one before the first call.

        Args:
            inputs: As for a call; their elements do not matter.

        Raises:
            FuseError: As for a call.
        """
        arrays = self._arrays(inputs)
        if self._specializations is None:
            return self
        return self._specializations.make(tuple(array.shape for array in arrays))

    def finish_specializing(self, seconds: float | None = None) -> bool:
        """Wait until nothing is compiled beside the calls: for measuring, or before a process forks.

        Args:
            seconds: How long at most; `None` for as long as it takes.

        Returns:
            Whether it is done; always for a program of fixed sizes.
        """
        return self._specializations is None or self._specializations.finish(seconds)

    def _special(self, executable: "Walk | None", shapes: tuple[Shape, ...]) -> "Program | None":
        """A program for the sizes of these inputs, if there is one; sizes that came often enough are compiled for.

        Where the one for all sizes leaves something to Python, that is soon. Native as it is, it is seldom much slower.
        """
        assert self._specializations is not None, "only programs of open sizes ask"
        is_native = executable is not None and executable.is_native
        return self._specializations.find(shapes, often=MANY_CALLS if is_native else 2)

    def _is_gain(self, shapes: tuple[Shape, ...], special: "Program") -> bool:
        """Whether a program for some sizes leaves no more to NumPy than this one does."""
        if self._counting:
            return True  # what this one leaves depends on elements
        found = self._executable(shapes)
        if found is None or not found.is_native:
            return True
        own = special._static if special._is_static else special._executable(shapes)
        return own is not None and own.is_native

    def run_into(self, inputs: Sequence[Any], outputs: "Sequence[Array]") -> None:
        """Run the function, and write its results to given arrays.

        Args:
            inputs: As for a call.
            outputs: Writable arrays of the results' dtypes and shapes; they may overlap inputs, but not each other.

        Raises:
            FuseError: As for a call; or an output does not fit. Then no output has been written.
        """
        arrays = self._arrays(inputs)
        if len(outputs) != len(self._outputs):
            raise FuseError(f"'{self._interface.name}' gives {len(self._outputs)} outputs, got {len(outputs)}")
        shapes = tuple([array.shape for array in arrays])
        executable = self._static or self._executable(shapes, self._counts(arrays))
        if self._specializations is not None and (special := self._special(executable, shapes)) is not None:
            special.run_into(arrays, outputs)
            return
        if executable is None or executable.is_counted:
            results = (
                self._stepwise(arrays) if executable is None else self._run(executable, arrays, self._fresh(executable))
            )
            self._check_outputs(outputs, [result.shape for result in results])
        elif executable.writes_all and _may_be_written(executable, outputs, arrays):
            self._run(executable, arrays, outputs)
            return
        else:
            self._check_outputs(outputs, executable.output_shapes)
            results = self._run(executable, arrays, self._fresh(executable))
        for result, output in zip(results, outputs, strict=True):
            np.copyto(output, result)

    @property
    def interface(self) -> Interface:
        """The function as its callers see it."""
        return self._interface

    def output_types(self, *shapes: Shape) -> "tuple[TensorType, ...]":
        """The types of the results for inputs of these shapes: `.dtype` and `.shape` of each.

        Args:
            shapes: One for each input; none where their sizes are known.

        Raises:
            FuseError: A shape does not fit, or the elements of inputs decide what the results are like.
        """
        given = tuple(tuple(shape) for shape in shapes) or (self._shapes if self._is_static else ())
        if len(given) != len(self._inputs):
            raise FuseError(f"'{self.name}' expects shapes of {len(self._inputs)} inputs, got {len(given)}")
        for port, shape in zip(self._inputs, given, strict=True):
            if not port.fits(shape):
                raise port.mismatch(f"a shape of {shape}")
        self._check_sizes(given)
        types = [port.type for port in self._outputs]
        if not all(type.is_static for type in types):
            executable = None if self._counting else self._static or self._executable(given)
            if executable is None or executable.is_counted:
                raise FuseError(f"the elements of the inputs decide how large the results of '{self.name}' are")
            types = [TensorType(shape, type.dtype) for shape, type in zip(executable.output_shapes, types, strict=True)]
        return tuple(types)

    @property
    def name(self) -> str:
        """Name of the function."""
        return self._interface.name

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the arguments."""
        return tuple(form.name for form in self._interface.inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the results: those in the model, else `result<position>`."""
        return tuple(self._interface.output_names)

    @property
    def module(self) -> "ModuleOp":
        """The IR that runs, after the passes and fusion; large constants are elided.

        Raises:
            FuseError: The program was not made by `fuse_dialect.compile`.
        """
        return self._made_of().module

    @property
    def plan(self) -> "ModulePlan":
        """The plan that ran, as `fuse_dialect.plan_fusion` gives one: groups, decisions, a summary.

        Its ops are those before fusion. Pictures and stories of it tell what the strategy tries on these, and ask it
        for that again.

        Raises:
            FuseError: As for `module`.
        """
        return self._made_of().plan()

    def show(self, path: "str | PathLike[str] | None" = None) -> str:
        """Write a page that shows the plan of the kernels, and open it in a browser if there is one.

        Args:
            path: The file; by default a new one among the temporary files.

        Returns:
            The path of the page.

        Raises:
            FuseError: As for `module`, or the file cannot be written.
        """
        return self.plan.show(path)

    def _repr_html_(self) -> str | None:
        """The plan in a frame, for notebooks."""
        return None if self._compilation is None else self.plan.framed()

    def _repr_svg_(self) -> str | None:
        """The plan as one picture, for notebooks that show no pages."""
        return None if self._compilation is None else self.plan.to_svg()

    def _made_of(self) -> "Compilation":
        if self._compilation is None:
            raise FuseError("the program was not made from a module")
        return self._compilation

    @property
    def kernels(self) -> "tuple[KernelReport, ...]":
        """What runs each primitive, in order of the first call."""
        from fuse_dialect.backends.runtime.profiling import kernel_reports

        executable = self._executable(self._shapes) if self._is_static and not self._counting else None
        shapes: Sequence[Shape] = [type.shape for type in self._graph.tensors]
        if executable is not None and not executable.is_counted:
            shapes = executable.plan.shapes
        return tuple(kernel_reports(self._graph, self._primitives, shapes).values())

    @property
    def peak_bytes(self) -> int | None:
        """Bytes of memory for intermediate values and workspaces while a call runs, inputs and outputs left out.

        `None` if they depend on sizes that are not known before the first call.
        """
        return None if self._static is None else self._static.peak_bytes

    @property
    def constant_bytes(self) -> int:
        """Bytes of the constants that the program keeps."""
        return self._constants.bytes

    @property
    def report(self) -> "SizesReport":
        """What was done for the sizes that calls came with: how they were found, and what was compiled for them."""
        from fuse_dialect.backends.runtime.executables import SizeCounts
        from fuse_dialect.backends.runtime.sizes_report import SizesReport

        counts = SizeCounts() if self._sizes is None else self._sizes.counts
        special = self._specializations
        return SizesReport(
            by_formulas=counts.by_formulas,
            call_by_call=counts.call_by_call,
            step_by_step=counts.step_by_step,
            tables=counts.tables,
            compiled_in_calls=counts.compiled,
            specialized=0 if special is None else len(special),
            specializing_seconds=0.0 if special is None else special.seconds,
            specialized_bytes=0 if special is None else special.constant_bytes,
            stretches=() if self._stretches is None else tuple(part.report for part in self._stretches.programs),
        )

    @property
    def machine(self) -> "Machine | None":
        """What its code is made for; `None` if its backend makes none, or does not say."""
        return None if self._compilation is None else self._compilation.fuse_ops.target

    def profile(self, *inputs: Any, repeat: int = 20) -> "Profile":
        """Run the function several times, and measure every kernel.

        Args:
            inputs: As for a call.
            repeat: How many runs are measured, from 1 to `MAX_REPETITIONS`, after one that is not.

        Raises:
            FuseError: As for a call; or the number of runs is none.
        """
        from fuse_dialect.backends.runtime.profiling import profile_of, profile_stepwise

        _check_repeat(repeat)
        arrays = self._arrays(inputs)
        shapes = tuple([array.shape for array in arrays])
        executable = self._executable(shapes, self._counts(arrays))
        if self._specializations is not None and (special := self._special(executable, shapes)) is not None:
            return special.profile(*arrays, repeat=int(repeat))
        if executable is not None:
            with suppress(CountsDifferError):
                frame, outputs = _taken(executable), self._fresh(executable)
                return profile_of(executable, frame, arrays, outputs, int(repeat), self.machine)

        def run(times: "StepTimes") -> object:
            return self._stepwise(arrays, times)

        return profile_stepwise(self._graph, self._primitives, run, int(repeat), self.machine)

    def trace(self, *inputs: Any, repeat: int = 3) -> "Trace":
        """Run the function a few times, and note when each kernel ran, and on which thread.

        Args:
            inputs: As for a call.
            repeat: How many runs are noted, from 1 to `MAX_REPETITIONS`, after one that is not.

        Returns:
            Its `as_json` is what Perfetto and Chrome's tracing open.

        Raises:
            FuseError: As for `profile`.
        """
        from fuse_dialect.backends.runtime.tracing import trace_of, trace_stepwise

        _check_repeat(repeat)
        arrays = self._arrays(inputs)
        shapes = tuple([array.shape for array in arrays])
        executable = self._executable(shapes, self._counts(arrays))
        if self._specializations is not None and (special := self._special(executable, shapes)) is not None:
            return special.trace(*arrays, repeat=int(repeat))
        if executable is not None:
            with suppress(CountsDifferError):
                return trace_of(executable, arrays, self._fresh(executable), int(repeat))

        def run(times: "StepTimes") -> object:
            return self._stepwise(arrays, times)

        return trace_stepwise(self._graph, self._primitives, run, int(repeat))

    def _arrays(self, inputs: Sequence[Any]) -> "Sequence[Array]":
        """The inputs as kernels may read them."""
        inputs = self._in_order(inputs)
        for (dtype, shape), value in zip(self._dense, inputs, strict=True):
            if type(value) is not np.ndarray or value.dtype != dtype or not is_dense(value):
                break
            if self._is_static and value.shape != shape:
                break
        else:
            if self._is_static or self._fit(tuple([value.shape for value in inputs])):
                return inputs
        arrays = [as_input(port, value) for port, value in zip(self._inputs, inputs, strict=True)]
        self._check_sizes([array.shape for array in arrays])
        return arrays

    def _in_order(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """The inputs by place; there are as many as the function takes."""
        if len(inputs) == 1 and type(inputs[0]) is not np.ndarray and isinstance(inputs[0], Mapping):
            inputs = self._by_name(cast("Mapping[str, Any]", inputs[0]))
        if len(inputs) != len(self._inputs):
            names = ", ".join(form.model_name or form.name for form in self._interface.inputs) or "none"
            raise FuseError(
                f"'{self._interface.name}' expects {len(self._inputs)} inputs ({names}), got {len(inputs)}",
                hint=TREES if any(isinstance(value, Mapping | list | tuple) for value in inputs) else None,
            )
        return inputs

    def _fit(self, shapes: tuple[Shape, ...]) -> bool:
        """Whether sizes are such as the inputs have. Those that a plan was made for are; others are looked at."""
        if self._sizes is not None and shapes in self._sizes.plans:
            return True
        for port, shape in zip(self._inputs, shapes, strict=True):
            if not port.fits(shape):
                return False
        self._check_sizes(shapes)
        return True

    def _by_name(self, inputs: Mapping[str, Any]) -> Sequence[Any]:
        try:
            return inputs_by_name(self.input_names, [form.model_name for form in self._interface.inputs], inputs)
        except InputNamesError as error:
            raise FuseError(f"'{self._interface.name}': {error}", hint=TREES if self._is_of_tree else None) from error

    @property
    def _is_of_tree(self) -> bool:
        """Whether arguments are leaves of trees, as JAX names them: `params['w']`."""
        return any("[" in (form.model_name or "") for form in self._interface.inputs)

    def _with_named(self, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Inputs by place and by name, all in order."""
        if len(inputs) == 1 and type(inputs[0]) is not np.ndarray and isinstance(inputs[0], Mapping):
            raise FuseError(
                f"'{self._interface.name}' expects inputs in one mapping or by name, got both",
                hint=TREES if self._is_of_tree else "program({**inputs, **others})",
            )
        forms = self._interface.inputs
        models = [form.model_name for form in forms]
        by_model = all(name in models for name in named)
        given = dict(named)
        for form, value in zip(forms, inputs, strict=False):
            name = form.model_name if by_model and form.model_name is not None else form.name
            if name in named:
                raise FuseError(f"'{self._interface.name}' got input '{name}' by place and by name")
            given[name] = value
        if len(inputs) > len(forms):
            raise FuseError(f"'{self._interface.name}' expects {len(forms)} inputs, got {len(inputs) + len(named)}")
        return tuple(self._by_name(given))

    def _check_sizes(self, shapes: Sequence[Shape]) -> None:
        """Reject inputs of which two sizes differ that have one name; static sizes are right by then."""
        if not [0 for one, axis, other, across in self._same_sizes if shapes[one][axis] != shapes[other][across]]:
            return
        from fuse_dialect.dialect.size_names import contradiction

        labels = [port.label for port in self._inputs]
        names = [form.sizes for form in self._interface.inputs]
        problem = contradiction(names, labels, shapes)
        if problem is not None:
            raise FuseError(problem)

    def _counts(self, arrays: "Sequence[Array]") -> tuple[int, ...]:
        """The numbers of inputs that say how often loops run."""
        return tuple([int(arrays[place].reshape(())) for place in self._counting]) if self._counting else ()

    def _executable(self, shapes: tuple[Shape, ...], counts: tuple[int, ...] = ()) -> "Executable | None":
        """How the function runs on inputs of these shapes, and of these numbers; `None` for step by step."""
        assert self._sizes is not None, "a program that has its IR"
        return self._sizes.find(shapes, counts)

    def prepare(self) -> bool:
        """Do before the first call what calls need, for sizes that may come: put constants in order, find formulas.

        Which sizes they are matters little, since formulas are for all that are like them. Most functions take those
        that are small and have many divisors; of a function that does not, the first call finds all of it.

        Returns:
            Whether inputs say sizes at all: by their own, or by a number that says how often a loop runs.
        """
        if self._is_static and not self._counting:
            return False
        for unit in (8, 64):
            try:
                if self._sizes is not None and self._sizes.prepare(tuple(self._likely_shapes(unit)), unit):
                    break
            except FuseError:
                continue
        return True

    def _likely_shapes(self, unit: int) -> list[Shape]:
        """Sizes of inputs: different ones, few of those that come first, multiples of `unit` of others."""
        from fuse_dialect.dialect.types import DYNAMIC

        known: dict[object, int] = {}
        shapes: list[Shape] = []
        for place, form in enumerate(self._interface.inputs):
            names = form.sizes or ("",) * len(form.type.shape)
            shape: list[int] = []
            for axis, (size, name) in enumerate(zip(form.type.shape, names, strict=True)):
                likely = 2 + len(known) if axis == 0 and len(form.type.shape) > 1 else unit * (1 + len(known))
                shape.append(known.setdefault(name or (place, axis), likely) if size == DYNAMIC else size)
            shapes.append(tuple(shape))
        return shapes

    def _fresh(self, executable: "Walk") -> list[Any]:
        """An array for each output that a kernel writes, `None` for the others."""
        try:
            return [None if form is None else self._memory.empty(*form) for form in executable.forms]
        except (MemoryError, ValueError) as error:
            raise FuseError("out of memory for the results") from error

    def _run(self, executable: "Walk", arrays: "Sequence[Array]", targets: Sequence[Any]) -> "Sequence[Array]":
        """The outputs: the targets where kernels write them, own arrays elsewhere."""
        for tries in (2, 1, 0):
            frame = _taken(executable)
            try:
                held = executable.run(frame, arrays, targets)
                if executable.writes_all:
                    return targets
                return executable.delivered(frame, arrays, targets, held)
            except CountsDifferError:
                again = self._learn(executable, frame, arrays) if tries else None
            finally:
                if len(executable.spare) < MAX_SPARE_FRAMES and not frame.is_abandoned:
                    executable.spare.append(frame)
            # Behind the handler, so that errors have no cause there.
            if again is None:
                break
            executable, targets = again, self._fresh(again)
        return self._stepwise(arrays)

    def _learn(self, executable: "Walk", frame: "Frame", arrays: "Sequence[Array]") -> "Executable | None":
        """Let the next runs have formulas for what this one has counted; how these run, if there are some."""
        if self._sizes is None:
            return None  # only what has its IR finds formulas
        shapes, counts = tuple([array.shape for array in arrays]), self._counts(arrays)
        if not self._sizes.learn(cast("Executable", executable), frame, shapes, counts):
            return None
        again = self._executable(shapes, counts)
        if self._static is not None and again is not None:
            self._static = again
        return again

    def _check_outputs(self, outputs: "Sequence[Array]", shapes: Sequence[Shape]) -> None:
        checked: list[Array] = []
        for port, output, shape in zip(self._outputs, outputs, shapes, strict=True):
            array = check_output(port, output, shape)
            if checked and shares_memory(array, checked):
                raise FuseError(f"{port.label} overlaps another output")
            checked.append(array)


def _same_sizes(interface: Interface) -> Sequence[tuple[int, int, int, int]]:
    """Pairs of axes of inputs whose sizes have one name: number of an input and axis, of both."""
    first: dict[str, tuple[int, int]] = {}
    pairs: list[tuple[int, int, int, int]] = []
    for place, form in enumerate(interface.inputs):
        for axis, name in enumerate(form.sizes):
            if name and first.setdefault(name, (place, axis)) != (place, axis):
                pairs.append((*first[name], place, axis))
    return pairs


def _may_be_written(executable: "Walk", outputs: Sequence[Any], inputs: "Sequence[Array]") -> bool:
    """Whether kernels may write to the outputs where they are."""
    for place, (form, output) in enumerate(zip(executable.forms, outputs, strict=True)):
        if form is None or type(output) is not np.ndarray or not is_dense(output) or not output.flags.writeable:
            return False
        if output.shape != form[0] or output.dtype != form[1]:
            return False
        if shares_memory(output, inputs) or (place and shares_memory(output, outputs[:place])):
            return False
    return True


def _check_repeat(repeat: object) -> None:
    """Check a number of runs.

    Raises:
        FuseError: It is no integer from 1 to `MAX_REPETITIONS`.
    """
    if isinstance(repeat, bool) or not isinstance(repeat, Integral) or not 1 <= int(repeat) <= MAX_REPETITIONS:
        raise FuseError(f"expected 1 to {MAX_REPETITIONS} runs to measure, got {repeat!r}")


def _run_at(walk: "Walk", addresses: Sequence[int], outputs: Sequence[int]) -> None:
    frame = _taken(walk)
    try:
        walk.run_at(frame, addresses, outputs)
    finally:
        if len(walk.spare) < MAX_SPARE_FRAMES and not frame.is_abandoned:
            walk.spare.append(frame)


def _taken(executable: "Walk") -> "Frame":
    """A frame that nobody else uses."""
    try:
        frame = executable.spare.pop()
    except IndexError:
        return executable.new_frame()
    executable.suit(frame)
    return frame
