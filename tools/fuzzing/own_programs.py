"""Programs that a way makes itself: run as machine code for two processors, and compared with the interpreter."""

from collections.abc import Sequence
from random import Random

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.loading.verification import verify_module
from fuzzing.comparing import Given, Reference
from fuzzing.compiling import LIMITS, Options, compile_module, random_fusion, targets

PROCESSORS = ("host", "haswell")
"""Of `fuzzing.compiling.targets`: what this machine has, and AVX2."""
_NEAR = 1e-3
"""Of the largest element, where a program has regions, whose rounding nobody has followed."""


def interpreted(module: ModuleOp, inputs: Sequence[Array]) -> list[Array]:
    """The results of the interpreter, of a module that is verified first."""
    verify_module(module)
    return run_module(module, inputs, limits=LIMITS)


def random_options(random: Random) -> Options:
    """Options for one of the processors."""
    return Options(
        random.choice([each for each in PROCESSORS if each in targets()]),
        generic_only=random.random() < 0.1,
        threads=random.choice((1, 1, 2)),
        prefix=random.choice(("", "keep", "NHWC")),
        fuse=random_fusion(random),
    )


def compare_natively(module: ModuleOp, inputs: Sequence[Array], seed: int) -> None:
    """Compile the module with random options for one of the processors, and compare with the interpreter.

    Raises:
        MismatchError: A result differs by more than rounding.
        FuseError: The program is refused.
    """
    from fuzzing.ways import MismatchError, compare

    random = Random(seed)
    has_regions = any(op.regions for function in module.ops for op in function.regions[0].block.ops)
    given = [np.array(each) for each in inputs]
    reference = None if has_regions else Reference(Given(module, given, seed))
    expected = interpreted(module, given) if reference is None else reference.outputs
    options = random_options(random)
    found = compile_module(module.clone(), options)(*given)
    if reference is not None:
        compare(found, reference, reassociates=True)
    elif text := _far(found, expected):
        raise MismatchError(f"{options}: {text}")


def _far(found: Sequence[Array], expected: Sequence[Array]) -> str | None:
    from fuzzing.structure_way import difference

    texts = (difference(own, other, _NEAR) for own, other in zip(found, expected, strict=True))
    return next((text for text in texts if text), None)
