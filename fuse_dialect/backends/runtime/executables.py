"""How a function runs, for one set of sizes after another: by formulas where they say it, else call by call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from fuse_dialect.backends.assembler.compilations import compilations
from fuse_dialect.backends.runtime.constants import Constants
from fuse_dialect.backends.runtime.entry_graph import EntryGraph
from fuse_dialect.backends.runtime.executable import Executable
from fuse_dialect.backends.runtime.plan import make_plan
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.shapes import Resolved, SizeResolver
from fuse_dialect.backends.runtime.size_formulas import SizeFormulas
from fuse_dialect.backends.runtime.walk import Frame
from fuse_dialect.backends.types import Shape
from fuse_dialect.checked import checks_plans
from fuse_dialect.diagnostics import FuseError

MAX_PLANS = 512
"""Most sets of sizes that a program with dynamic sizes keeps a plan for; most have their table in common."""
MOST_ATOMS = 32
"""Of other formulas, besides twice as many as the first ones have."""
MOST_BYTES = 1 << 28
"""Of what a function that counts may have room for. It is seldom used whole; a larger run is worth small programs."""
MAX_FORMULAS = 8
"""Most kinds of sizes that a program has formulas for: sizes that are 0 or 1 for some, for example."""


@dataclass(slots=True)
class SizeCounts:
    """What was done for sets of sizes that were new."""

    by_formulas: int = 0
    """Sets for which formulas have said everything."""
    call_by_call: int = 0
    """Sets for which the sizes of each call were found: the first of its kind."""
    step_by_step: int = 0
    """Sets with which the function runs step by step, since sizes are known only then."""
    tables: int = 0
    """How often the table of kernels was laid out."""
    formulas: int = 0
    """How often formulas were looked for."""
    compiled: int = 0
    """Modules that were compiled meanwhile, by the thread that called."""


class Executables:
    """Those of one function; any number of threads may ask."""

    def __init__(
        self,
        graph: EntryGraph,
        primitives: Sequence[Compiled],
        constants: Constants,
        threads: int,
        *,
        is_static: bool,
        is_part: bool,
    ):
        """Begin without any.

        Args:
            graph: The function.
            primitives: What runs its primitives.
            constants: Their elements.
            threads: Parts that kernels are split into at most.
            is_static: Whether the types of all inputs say their sizes.
            is_part: Whether others read the constants, too.
        """
        self._graph, self._primitives, self._constants, self._threads = graph, primitives, constants, threads
        self._is_static = is_static
        self.resolver = SizeResolver(graph, primitives)
        self.counting = tuple(self.resolver.counting_inputs)
        """Inputs whose numbers say how often loops run, and so how large results are."""
        self._is_only = is_static and not self.counting and not is_part
        self.formulas: list[SizeFormulas] = []
        """Of sizes that came; each serves those that are like them."""
        self._order: list[int] = []
        """Their numbers, as they are tried: those first that the last run has shown to be right for what it counts."""
        self._without: set[tuple[int, ...]] = set()
        """Counts that have no formulas."""
        self.plans: dict[tuple[Shape, ...], Executable | None] = {}
        """By the shapes of the inputs, which fit and do not contradict each other, and the numbers in `counting`."""
        self.laid_out: Executable | None = None
        """What was laid out last; it may serve other sizes, too."""
        self.counts = SizeCounts()
        self._checks = checks_plans()
        self._lock = Lock()

    def find(self, shapes: tuple[Shape, ...], counts: tuple[int, ...] = ()) -> Executable | None:
        """How the function runs on inputs of these shapes, and of these numbers; `None` for step by step.

        Raises:
            FuseError: As for `SizeResolver.resolve`.
        """
        if self.resolver.needs_data:
            return None
        key = shapes if not counts else (*shapes, counts)
        with self._lock:
            if key in self.plans:
                return self.plans[key]
            before = compilations()
            executable = self._found(shapes, dict(zip(self.counting, counts, strict=False)))
            self.counts.compiled += compilations() - before
            if self._checks and executable is not None:
                from fuse_dialect.backends.runtime.checking.program_memory import check_program_memory

                check_program_memory(executable)
            if len(self.plans) >= MAX_PLANS:
                del self.plans[next(iter(self.plans))]
            self.plans[key] = executable
            return executable

    def prepare(self, shapes: tuple[Shape, ...], unit: int) -> bool:
        """Find formulas and lay out a table for inputs of these shapes; whether that is how they run.

        Args:
            shapes: Of inputs.
            unit: How often loops run that an input says.

        Raises:
            FuseError: As for `find`.
        """
        found = self.find(shapes, (unit,) * len(self.counting))
        self.counts.compiled = 0  # no call has been made yet
        if found is None:
            return False
        with self._lock:
            self.by_formulas(shapes, dict.fromkeys(self.counting, unit))  # makes the table of sizes
        return True

    def _found(self, shapes: tuple[Shape, ...], counts: Mapping[int, int]) -> Executable | None:
        if self.resolver.counts_rows:
            return self._counted(shapes, counts)
        executable = self.by_formulas(shapes, counts)
        if executable is not None:
            self.counts.by_formulas += 1
            return executable
        found = self.resolver.resolve(shapes, counts)
        if found is None:
            self.counts.step_by_step += 1
            return None
        self.counts.call_by_call += 1
        executable = None if self.laid_out is None else self.laid_out.resized(found)
        if executable is None:
            executable = self._lay_out(found)
        if (counts or not self._is_static) and self.counts.formulas < MAX_FORMULAS:
            self._look_for_formulas(shapes, counts)
        return executable

    def _counted(self, shapes: tuple[Shape, ...], counts: Mapping[int, int]) -> Executable | None:
        """How a function runs that counts: by formulas alone, which say what follows from a count."""
        executable, is_new = None, False
        try:
            executable = self.by_formulas(shapes, counts)
            if executable is None and self.counts.formulas < MAX_FORMULAS:
                is_new = True
                self._look_for_formulas(shapes, counts)
                executable = self.by_formulas(shapes, counts)
        except FuseError:
            pass  # too large is what there may be at most; of what there is, a run step by step says it
        if executable is None or executable.most_bytes > MOST_BYTES:
            self.counts.step_by_step += 1
            return None
        if is_new:
            self.counts.call_by_call += 1
        else:
            self.counts.by_formulas += 1
        return executable

    def by_formulas(self, shapes: tuple[Shape, ...], counts: Mapping[int, int]) -> Executable | None:
        """How the function runs on inputs of these shapes and numbers, if formulas say all of it."""
        for number in self._order:
            formulas = self.formulas[number]
            try:
                found = formulas.found(self.resolver, shapes, counts)
            except FuseError:
                # A call was asked for sizes that may not meet the conditions of these formulas: who resolves decides.
                continue
            if found is None:
                continue
            laid_out = self.laid_out or self._lay_out(found.resolved(self._graph), len(found.atoms))
            sizes = laid_out.sizes_by(number, found)
            if sizes is not None and not sizes.fits:
                laid_out = self._lay_out(found.resolved(self._graph), len(found.atoms))
                if not self.resolver.counts_rows:
                    return laid_out
                sizes = laid_out.sizes_by(number, found)
            # What the layout took to be the most and what formulas take it to be are the same, or nothing is run.
            if sizes is not None and sizes.fits:
                return laid_out.resized_by(found, sizes)
        return None

    def learn(self, executable: Executable, frame: Frame, shapes: tuple[Shape, ...], counts: tuple[int, ...]) -> bool:
        """Note what a run has counted that ended because of that: formulas for such counts are tried first from now on.

        Args:
            executable: What has run.
            frame: In which.
            shapes: Of the inputs.
            counts: As for `find`.

        Returns:
            Whether there are such formulas.
        """
        counted, numbers = executable.counted_in(frame), dict(zip(self.counting, counts, strict=False))
        with self._lock:
            try:
                is_known = self._is_known(shapes, numbers, counted)
            except FuseError:
                return False  # the run step by step says it
            if is_known:
                self.plans.clear()  # they are by other formulas
            return is_known

    def _is_known(self, shapes: tuple[Shape, ...], numbers: Mapping[int, int], counted: Sequence[int]) -> bool:
        """Put formulas for these counts in front, those that are known or new ones; whether there are some."""
        for number in self._order:
            found = self.formulas[number].found(self.resolver, shapes, numbers)
            is_alike = found is not None and len(self.formulas[number].late.counts) == len(counted)
            if found is not None and is_alike and self.formulas[number].hold_for(found.atoms, counted):
                self._order.remove(number)
                self._order.insert(0, number)
                return True
        if self.counts.formulas >= MAX_FORMULAS or tuple(counted) in self._without:
            return False
        known = len(self.formulas)
        self._look_for_formulas(shapes, numbers, counted)
        if len(self.formulas) == known:
            self._without.add(tuple(counted))
        return len(self.formulas) > known

    def _look_for_formulas(
        self, shapes: tuple[Shape, ...], counts: Mapping[int, int], counted: Sequence[int] = ()
    ) -> None:
        from fuse_dialect.backends.runtime.loop_tracing import trace_sizes

        self.counts.formulas += 1
        formulas = trace_sizes(self.resolver, shapes, counts, counted)
        if formulas is not None:
            self._order.insert(0 if counted else len(self._order), len(self.formulas))
            self.formulas.append(formulas)

    def _lay_out(self, found: Resolved, atoms: int = 0) -> Executable:
        """A table of its own for these sizes, with room for others, and for more atoms than formulas have."""
        self.counts.tables += 1
        plan = make_plan(self._graph, found, [compiled.how for compiled in self._primitives])
        laid_out = Executable(
            self._graph,
            plan,
            self._primitives,
            self._constants,
            self._threads,
            is_only=self._is_only and not self.resolver.counts_rows,
            most_atoms=2 * atoms + len(self._graph.outputs) + MOST_ATOMS if self.resolver.counts_rows else 0,
        )
        # Room that is not used serves no other sizes.
        if not self.resolver.counts_rows or laid_out.memory_bytes <= MOST_BYTES:
            self.laid_out = laid_out
        return laid_out
