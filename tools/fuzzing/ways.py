"""The ways in and the ways of running: what each does with a program, and how its results are checked.

A way is chosen by a seed, so that a finding is a pair: the program's seed and the text of the way.
"""

import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from random import Random

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import InterpretationError, PassFailedException

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops import opaque, selection
from fuse_dialect.frontends.mlir.reader import context, read_mlir
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.loading.verification import verify_module
from fuzzing.comparing import Reference
from fuzzing.compiling import LIMITS, Options, compile_module, random_fusion, targets
from fuzzing.controlled import add_control_flow
from fuzzing.guards import GuardedMemory
from fuzzing.program import RandomProgram

SIZED = frozenset((opaque.ArgwhereOp, selection.UniqueOp, selection.NonMaxSuppressionOp))
"""Ops whose elements say how large results are."""
STRUCTURES, VENDOR, COMPLEX = "structures", "vendor", "complex"
OWN = frozenset((STRUCTURES, VENDOR, COMPLEX))
"""The ways that make programs of their own."""
REFUSALS = (FuseError, InterpretationError, PassFailedException)
"""What a diagnosed error is inside of the package; tools make `FuseError`s of the others."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong."""

    seed: int
    way: str
    kind: str
    """`mismatch`, `refusal`, `error` for an internal error, `fault`, `hang`."""
    text: str

    @property
    def signature(self) -> str:
        """What findings of one cause share, roughly."""
        if self.kind == "error":
            return re.sub(r"\d+|\(fuse.*|'[^']*'", "*", f"{self.kind}: {self.text.splitlines()[0]}")
        return f"{self.kind}: {self.way.split()[0]}"


Check = Callable[[RandomProgram, Reference | None, Random, str], None]


class MismatchError(Exception):
    """A way gave other results than the reference."""


class AcceptedError(Exception):
    """A way ran what the reference rejects."""


def compare(actual: Sequence[Array], reference: Reference | None, *, reassociates: bool = False) -> None:
    """Check results.

    Raises:
        MismatchError: They are not those of the reference.
        AcceptedError: The reference has none, because an op rejects its operands.
    """
    if reference is None:
        raise AcceptedError("the program runs, which the unfused interpreter rejects")
    difference = reference.mismatch(actual, reassociates=reassociates)
    if difference is not None:
        raise MismatchError(f"output {difference.output}: {difference.text}")


def _fused(program: RandomProgram, reference: Reference | None, random: Random, name: str) -> None:
    """Fused, and run by NumPy or as machine code, between guard pages; `loops` with loops and branches around ops."""
    is_numpy = name == "numpy" or (name == "loops" and random.random() < 0.2)
    backend = "numpy" if is_numpy else random.choice(list(targets()))
    options = Options(
        backend,
        generic_only=random.random() < 0.2,
        threads=random.choice((1, 2, 2, 3)),
        prefix=random.choice(("", "keep", "NHWC", "NHWC", "NCHW")),
        fuse=random_fusion(random),
    )
    module = program.module()
    if name == "loops":
        add_control_flow(module, random)
        verify_module(module)
    run_options(program, module, reference, options, at_end=random.random() < 0.5)


def run_options(
    program: RandomProgram, module: ModuleOp, reference: Reference | None, options: Options, *, at_end: bool
) -> None:
    """Compile the module of a program with these options, run, compare."""
    compiled = compile_module(module, options)
    reassociates = bool(options.prefix)
    # Sizes that depend on elements are those of the run: no array can be made for them beforehand.
    is_sized = any(step.op_class.SIZED_BY_ELEMENTS or step.op_class in SIZED for step in program.steps)
    if reference is None or options.backend == "numpy" or is_sized:
        compare(compiled(*program.inputs), reference, reassociates=reassociates)
        return
    with GuardedMemory() as memory:
        inputs = [memory.copy(array, at_end=at_end) for array in program.inputs]
        outputs = [memory.empty(array.shape, array.dtype, at_end=at_end) for array in reference.outputs]
        for output in outputs:
            output.reshape(-1).view(np.uint8)[...] = 0x5A
        compiled.run_into(inputs, outputs)
        results = [np.array(output) for output in outputs]
        del inputs, outputs
    compare(results, reference, reassociates=reassociates)


def _text(program: RandomProgram, reference: Reference | None, random: Random, name: str) -> None:
    """Printed and read back: the same text again, and the same results unfused."""
    module = program.module()
    verify_module(module)
    printed = str(module)
    ctx = context()
    again = read_mlir(printed, "printed.mlir", ctx)[0]
    verify_module(again)
    # A splat of nan is read back as a list of nans: these equal nothing, so that nobody knows them as one number.
    has_nan = any(
        source.is_constant and bool((source.array != source.array).any()) for source in program.sources.values()
    )
    if str(again) != printed and not has_nan:
        raise MismatchError("the text is read back as something else")
    compare(_interpreted(again, program), reference)


def _interpreted(module: ModuleOp, program: RandomProgram) -> list[Array]:
    return run_module(module, program.inputs, limits=LIMITS)


def _onnx(program: RandomProgram, reference: Reference | None, random: Random, name: str) -> None:
    from fuzzing.onnx_way import through_onnx

    through_onnx(program, reference, random, engine=name)


def _stablehlo(program: RandomProgram, reference: Reference | None, random: Random, name: str) -> None:
    from fuzzing.stablehlo_way import through_stablehlo

    through_stablehlo(program, reference, random)


def _structures(program: RandomProgram, reference: Reference | None, random: Random, name: str) -> None:
    """Another program of the same seed, of structural edges."""
    from fuzzing.structure_way import through_structures

    through_structures(program.seed)


def _vendor(program: RandomProgram, reference: Reference | None, random: Random, name: str) -> None:
    """An operator of com.microsoft or ai.onnx.ml beside onnxruntime, where that is installed."""
    if find_spec("onnxruntime") is None:
        return
    from fuzzing.vendor_way import through_vendor

    through_vendor(program.seed)


def _complex(program: RandomProgram, reference: Reference | None, random: Random, name: str) -> None:
    """A program on complex numbers beside NumPy's."""
    from fuzzing.complex_way import through_complex

    through_complex(program.seed)


def _cost(program: RandomProgram, reference: Reference | None, random: Random, name: str) -> None:
    """Planned by cost for each machine: kernels are of the families that the plan has counted on."""
    from fuzzing.promises import MACHINES, broken_promises

    for machine in MACHINES:
        broken, _ = broken_promises(program.module(), machine)
        if broken:
            raise MismatchError(f"on {machine} {broken[0]}")


WAYS: Mapping[str, tuple[Check, float]] = {
    "numpy": (_fused, 0.5),
    "native": (_fused, 0.6),
    "loops": (_fused, 0.3),
    "text": (_text, 0.25),
    "onnx": (_onnx, 0.12),
    "onnxruntime": (_onnx, 0.06),
    "onnx-reference": (_onnx, 0.05),
    "stablehlo": (_stablehlo, 0.5),
    STRUCTURES: (_structures, 0.25),
    VENDOR: (_vendor, 0.1),
    COMPLEX: (_complex, 0.1),
    "cost": (_cost, 0.1),
}
"""By name what a way does, and the share of programs that it runs."""


def chosen_ways(seed: int, names: Sequence[str]) -> list[str]:
    """The ways of a seed: each by its share, and one at least; all when few are asked for."""
    random = Random(seed ^ 0x5EED)
    shares = {name: WAYS[name][1] for name in names}
    scale = 1.0 if len(names) == len(WAYS) else 1 / max(shares.values())
    chosen = [name for name, share in shares.items() if random.random() < share * scale]
    return chosen or [random.choice(list(names))]


def reference_of(program: RandomProgram) -> Reference | None:
    """The unfused results; `None` where an op rejects its operands."""
    try:
        return Reference(program)
    except InterpretationError:
        return None


def check(program: RandomProgram, reference: Reference | None, way: str) -> Finding | None:
    """What is wrong with a program in one way; `None` if nothing is."""
    try:
        WAYS[way][0](program, reference, Random(program.seed * 31 + len(way)), way)
    except MismatchError as error:
        return Finding(program.seed, way, "mismatch", str(error))
    except AcceptedError as error:
        return Finding(program.seed, way, "refusal", str(error))
    except REFUSALS as error:
        # (1) Where the reference rejects a program, so may all others. (2) Writers say what they cannot write.
        # (3) A static type behind `unique` holds for the number of distinct elements that the reference has.
        # No program that a way has made itself is refused.
        if way not in OWN and (reference is None or is_stated(error, way) or reference.sizes_depend_on_rounding()):
            return None
        return Finding(program.seed, way, "refusal", f"{type(error).__name__}: {error}")
    except (Exception, SystemExit) as error:
        return Finding(program.seed, way, "error", described(error))
    return None


_STATED = (
    "cannot be written as ONNX",
    "needs a weight of static shape",
    "expects k of at least 1",
    "needs its result type",
)
"""What the writer and the reader of ONNX document that they refuse."""


def is_stated(error: BaseException, way: str) -> bool:
    """Whether a refusal is a documented one of the writer or reader of ONNX."""
    return way.startswith("onnx") and any(words in str(error) for words in _STATED)


def described(error: BaseException) -> str:
    """Type, message and innermost places of an error."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    places = [f"{frame.filename.rpartition('fuse_dialect/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    message = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__} in {frames[-1].name}: {message[:200]}\n" + "\n".join(reversed(places))
