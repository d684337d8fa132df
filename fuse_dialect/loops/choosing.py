"""Which kernel a program becomes on a machine.

1. The choice is a function of the program, the machine, and which arguments are constant, and of nothing else. No code
   is written, and no processor is asked.
2. Families are tried in the order of `families.FAMILIES`; the first that has a schedule for the program has its kernel.
3. Who writes code writes what was chosen: there is nothing left to decline.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeGuard

from fuse_dialect.counts import product
from fuse_dialect.loops.bounds import may_be_gated
from fuse_dialect.loops.contraction import Contraction, contraction_of, is_gate
from fuse_dialect.loops.contraction_schedule import contraction_schedule, is_served
from fuse_dialect.loops.convolution_schedule import ConvolutionPlan
from fuse_dialect.loops.elements import element_bytes, is_known
from fuse_dialect.loops.families import FAMILIES
from fuse_dialect.loops.for_machine import for_machine
from fuse_dialect.loops.functions import PAIR_DOT, SCALAR_FUNCTIONS
from fuse_dialect.loops.grouping import reads_of
from fuse_dialect.loops.kernel_schedule import Gate, KernelSchedule, StageKernel, StagePlan, Sums
from fuse_dialect.loops.local_places import ALIGNMENT, place_locals
from fuse_dialect.loops.loop_nests import LoopNests
from fuse_dialect.loops.matrix_schedule import Matrices
from fuse_dialect.loops.nest_forms import nest_forms
from fuse_dialect.loops.orders import unsorted
from fuse_dialect.loops.packed_dots import in_float_pairs, in_pairs, in_quads, rounds_to_bytes
from fuse_dialect.loops.packing import Packing
from fuse_dialect.loops.pass_schedule import strips_in_blocks
from fuse_dialect.loops.program import Apply, LoopProgram, Refusal, Role, Stage
from fuse_dialect.loops.schedule import Schedule
from fuse_dialect.loops.scheduling import plain_schedule, schedule
from fuse_dialect.loops.strip_schedule import Strips, strips_of
from fuse_dialect.loops.tiling import needs_tiles, unit_of_tiles
from fuse_dialect.loops.window_schedule import WindowPlan, window_plan
from fuse_dialect.loops.windowing import windowing_of, with_packed_constants
from fuse_dialect.loops.winograd_schedule import WinogradPlan
from fuse_dialect.machines.machine import TILES, Machine, Unit

_Constants: TypeAlias = frozenset[int]


def choose(
    program: LoopProgram,
    machine: Machine,
    constants: frozenset[int] = frozenset(),
    families: Sequence[str] = FAMILIES,
    *,
    fast_math: bool = False,
) -> KernelSchedule | Refusal:
    """The kernel of a program, or why there is none: then its NumPy meaning is run.

    Args:
        program: What is computed, simplified.
        machine: Where.
        constants: Positions of arguments whose values are known before the first call, so that they may be packed.
        families: Names of the families that may be chosen.
        fast_math: Whether quotients may be products with reciprocals; see `for_machine`.

    Complexity: linear in the size of the program, for each family.
    """
    for buffer in program.buffers:
        if not is_known(buffer.element):
            return Refusal(f"no native code for elements of type {buffer.element}")
    unknown = _unknown_functions(program)
    if unknown:
        return Refusal(f"'{unknown[0]}' has no native code")
    changed = for_machine(program, machine, fast_math=fast_math)
    for name in FAMILIES:
        if name not in families:
            continue
        form = _FORMS[name](changed, machine, constants)
        if isinstance(form, Refusal):
            return form
        if form is not None:
            # Numbers that are rounded to few bits are computed as NumPy does it: no product joins a sum.
            return KernelSchedule(changed, name, form, contracts=not rounds_to_bytes(program))
    return Refusal("no family of kernels accepts it")


def has_sums(program: LoopProgram, machine: Machine, constants: frozenset[int] = frozenset()) -> bool:
    """Whether a program becomes a kernel of sums of products, or of windows; see `choose`."""
    if any(not is_known(buffer.element) for buffer in program.buffers) or _unknown_functions(program):
        return False
    return _sums(for_machine(program, machine), machine, constants) is not None


def _unknown_functions(program: LoopProgram) -> list[str]:
    """The functions of a program that have no row: an op of another package may compute any of `math`."""
    return [
        inner.function
        for stage in program.stages
        for inner in (*stage.body, *stage.finish)
        if isinstance(inner, Apply) and inner.function not in SCALAR_FUNCTIONS
    ]


def _map(program: LoopProgram, machine: Machine, constants: _Constants) -> LoopNests | Refusal | None:
    """One nest for stages over the same space: intermediate values stay in registers."""
    if any(stage.reduction is not None for stage in program.stages):
        return None
    return _scheduled(program, machine)


def _strips(program: LoopProgram, machine: Machine, constants: _Constants) -> Strips | None:
    """Some rows pass all stages before the next ones: what lies between products stays in the caches."""
    arguments = _arguments(program)
    readers = Counter(read.buffer for stage in program.stages for read in reads_of(stage))
    # Of several readers of an argument each would want an order of its own.
    names = frozenset(arguments[place] for place in constants if readers[arguments[place]] == 1)
    return strips_of(program, machine, names) or strips_in_blocks(program, machine)


def _rows(program: LoopProgram, machine: Machine, constants: _Constants) -> LoopNests | Refusal | None:
    """A row stays in the first cache while all stages run over it."""
    if all(stage.reduction is None for stage in program.stages):
        return None
    return _scheduled(program, machine)


def _generic(program: LoopProgram, machine: Machine, constants: _Constants) -> LoopNests | Refusal:
    return _loops(plain_schedule(program), machine)


def _scheduled(program: LoopProgram, machine: Machine) -> LoopNests | Refusal:
    """The nests of a program; where nobody knows how many rows there are, a workspace has one row of what it holds."""
    form = _loops(schedule(program, machine), machine)
    return _loops(schedule(program, machine, keeps_rows=True), machine) if isinstance(form, Refusal) else form


def _loops(plan: Schedule, machine: Machine) -> LoopNests | Refusal:
    places = place_locals(plan)
    if isinstance(places, Refusal):
        return places
    return unsorted(plan) or LoopNests(plan, places, nest_forms(plan, places, machine))


def tile_unit(program: LoopProgram, machine: Machine, constants: frozenset[int] = frozenset()) -> Unit:
    """The unit that multiplies tiles in the kernel of a program; none where it is of another family."""
    if not machine.units & TILES or any(not is_known(buffer.element) for buffer in program.buffers):
        return Unit.NONE
    if _unknown_functions(program):
        return Unit.NONE
    sums = _tiles(for_machine(program, machine), machine, constants)
    plans = [] if sums is None else [stage.plan for stage in sums.stages if _has_tiles(stage.plan)]
    return unit_of_tiles(plans[0].contraction.product) if plans else Unit.NONE


def _has_tiles(plan: StagePlan) -> TypeGuard[Matrices | ConvolutionPlan]:
    return isinstance(plan, Matrices | ConvolutionPlan) and plan.has_tiles


def _tiles(program: LoopProgram, machine: Machine, constants: _Constants) -> Sums | None:
    """Sums of which some are products of tiles."""
    if not machine.units & TILES:
        return None
    sums = _sums(program, machine, constants)
    return sums if sums is not None and any(_has_tiles(stage.plan) for stage in sums.stages) else None


def _contraction(program: LoopProgram, machine: Machine, constants: _Constants) -> Sums | None:
    """Sums without tiles, whatever the machine has."""
    if machine.units & TILES:
        machine = replace(machine, units=machine.units & ~TILES, emulated=Unit.NONE)
    return _sums(program, machine, constants)


def _sums(program: LoopProgram, machine: Machine, constants: _Constants) -> Sums | None:
    """Stages that add up products, or combine windows.

    They do not read each other, or one product ends with what another one gives at the same point: a gate.
    """
    stages = program.stages
    if not all(map(is_served, stages)):
        return None
    written = {stage.buffer for stage in stages}
    is_chain = any(read.buffer in written for stage in stages for read in reads_of(stage))
    if is_chain and not (is_gate(program) and may_be_gated(_passed_bytes(program))):
        return None
    if len(written) < len(stages):
        return None
    kernels: list[StageKernel] = []
    for stage in stages:
        kernel = _stage_kernel(replace(program, stages=(stage,)), machine, _own_constants(program, stage, constants))
        if kernel is None:
            return None
        kernels.append(kernel)
    return Sums(tuple(kernels), _gate(program, kernels) if is_chain else None)


def _own_constants(program: LoopProgram, stage: Stage, constants: _Constants) -> _Constants:
    """The constants that a stage may want packed: each of several readers would want an order of its own."""
    others = {read.buffer for other in program.stages if other is not stage for read in reads_of(other)}
    arguments = _arguments(program)
    return frozenset(place for place in constants if arguments[place] not in others)


def _passed_bytes(program: LoopProgram) -> int | None:
    """Bytes that the first stage gives; `None` if their number is open."""
    passed = program.stages[0].buffer
    buffer = next(buffer for buffer in program.buffers if buffer.name == passed)
    elements = product(buffer.shape).number
    return None if elements is None else elements * element_bytes(buffer.element)


def _gate(program: LoopProgram, kernels: Sequence[StageKernel]) -> Gate:
    bytes = _passed_bytes(program)
    assert bytes is not None, "a gate is of known size"
    room = -(-bytes // ALIGNMENT) * ALIGNMENT
    return Gate(program.stages[0].buffer, room, _are_cut_alike([kernel.plan for kernel in kernels]))


def _are_cut_alike(plans: Sequence[StagePlan]) -> bool:
    """Whether parts of several products get the same elements of the results."""
    cuts: list[object] = []
    for plan in plans:
        if not isinstance(plan, Matrices):
            return False
        contraction = plan.contraction
        sizes = [axis.size for axis in contraction.stage.axes if not axis.is_reduced]
        axes = (contraction.outer, contraction.row_axes, contraction.column_axes)
        cuts.append((sizes, axes, plan.tile, plan.lanes, plan.splits_columns, plan.most_panels, plan.most_tiles))
    return all(cut == cuts[0] for cut in cuts)


def _stage_kernel(program: LoopProgram, machine: Machine, constants: _Constants) -> StageKernel | None:
    """The kernel of a program of one stage; of products of bytes, on quads if their factors lie so."""
    arguments = _arguments(program)
    names = frozenset(arguments[position] for position in constants)
    plan = _product_plan(program, machine, names)
    if plan is not None:
        plain = plan.plain if isinstance(plan, WinogradPlan) else plan
        return StageKernel(plan, {arguments.index(name): packing for name, packing in plain.packings.items()})
    if contraction_of(program, program.stages[0]) is not None:
        return None
    return _windows(program, machine, names)


def _product_plan(
    program: LoopProgram, machine: Machine, constants: frozenset[str]
) -> Matrices | ConvolutionPlan | WinogradPlan | None:
    """The schedule of the fastest form of a program of one stage that has one."""
    for each in _packed_forms(program, machine, constants):
        contraction = contraction_of(each, each.stages[0])
        if contraction is None:
            continue
        plan = contraction_schedule(each, contraction, machine, constants)
        if plan is not None and _can_multiply(plan, contraction):
            return plan
    return None


def _can_multiply(plan: Matrices | ConvolutionPlan | WinogradPlan, contraction: Contraction) -> bool:
    """Whether a schedule has what its product needs: tiles, and panels of constants that are no pairs in memory."""
    if needs_tiles(contraction.product) and (isinstance(plan, WinogradPlan) or not plan.has_tiles):
        return False
    if contraction.apart != 1 and not contraction.has_rows_first:
        return False  # it is the second factor that has to be packed
    return _packing(plan) is not None if contraction.product == PAIR_DOT or contraction.apart != 1 else True


def _packing(plan: Matrices | ConvolutionPlan | WinogradPlan) -> Packing | None:
    return plan.plain.packing if isinstance(plan, WinogradPlan) else plan.packing


def _packed_forms(program: LoopProgram, machine: Machine, constants: frozenset[str]) -> Iterator[LoopProgram]:
    """The forms of a program that there may be kernels for, the fastest first."""
    if Unit.PAIR_TILES in machine.units:
        pairs = in_float_pairs(program, constants)
        if pairs is not None:
            yield pairs
    if Unit.PAIR_DOTS in machine.units and Unit.BYTE_DOTS not in machine.units:
        pairs = in_pairs(program, constants)
        if pairs is not None:
            yield pairs
    quads = in_quads(program, of_equal_signs=Unit.BYTE_TILES in machine.units)
    if quads is not None:
        yield quads
    yield program


def _windows(program: LoopProgram, machine: Machine, constants: frozenset[str]) -> StageKernel | None:
    windowing = windowing_of(program, program.stages[0])
    if windowing is None:
        return None
    arguments = _arguments(program)
    program, windowing, packed = with_packed_constants(program, windowing, constants)
    plan: WindowPlan = window_plan(program, windowing, machine)
    return StageKernel(plan, {arguments.index(name): packing for name, packing in packed.items()})


def _arguments(program: LoopProgram) -> list[str]:
    """Names of the arguments, in order."""
    return [buffer.name for buffer in program.buffers if buffer.role is Role.ARGUMENT]


_Form: TypeAlias = Callable[[LoopProgram, Machine, _Constants], LoopNests | Sums | Strips | Refusal | None]
_FORMS: Mapping[str, _Form] = {
    "tiles": _tiles,
    "contraction": _contraction,
    "map": _map,
    "strips": _strips,
    "rows": _rows,
    "generic": _generic,
}
