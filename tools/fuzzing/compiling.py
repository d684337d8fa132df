"""Modules to programs, in any way that `compile_program` could: passes, options, processors and families of kernels."""

from dataclasses import dataclass, field
from random import Random

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.backends.assembler.engine import host
from fuse_dialect.backends.assembler.host import AVX2, SSE2, Host
from fuse_dialect.backends.backend import Backend
from fuse_dialect.backends.compile import compile_primitives, with_scratch_tensors
from fuse_dialect.backends.llvm.backend import LLVMBackend
from fuse_dialect.backends.numpy import NumPyBackend
from fuse_dialect.backends.runtime import executable
from fuse_dialect.backends.runtime.entry_reader import read_entry
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.budget import Limits
from fuse_dialect.fusion.core.strategy import STRATEGIES
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.transforms.compile_prefix import compile_prefix

LIMITS = Limits(value_bytes=1 << 26)
"""Of values whose size is known only when the program runs."""


def targets() -> dict[str, Host]:
    """Processors whose code runs here, by name."""
    this = host()
    known = {"host": this}
    if "+avx2" in this.features:
        known["haswell"] = AVX2
    if "+sse2" in this.features:
        known["x86-64"] = SSE2
    return known


@dataclass(frozen=True, slots=True)
class Options:
    """How a module is compiled."""

    backend: str
    """`numpy`, or the name of a processor of `targets`."""
    generic_only: bool = False
    """Whether the family of loops that takes everything is the only one."""
    threads: int = 1
    prefix: str = "keep"
    """Layout of images for `compile-prefix`; empty to leave that out."""
    fuse: FuseOpsPass = field(default_factory=FuseOpsPass)

    def __str__(self) -> str:
        """The options that differ from the defaults, in words."""
        words = [self.backend, f"threads={self.threads}", f"prefix={self.prefix or 'off'}"]
        words += ["generic"] * self.generic_only
        defaults = FuseOpsPass()
        for name in ("opt_level", "max_depth", "max_function_args", "link_params", "dedup", "strategy"):
            if getattr(self.fuse, name) != getattr(defaults, name):
                words.append(f"{name}={getattr(self.fuse, name)}")
        return " ".join(words)


def random_fusion(random: Random) -> FuseOpsPass:
    """Options of `fuse-ops`: the defaults half of the time."""
    if random.random() < 0.5:
        return FuseOpsPass()
    return FuseOpsPass(
        opt_level=random.choice((0, 1, 2, 2)),
        max_depth=random.choice((256, 256, 1, 2, 0)),
        max_function_args=random.choice((0, 0, 3, 6)),
        link_params=random.random() < 0.5,
        dedup=random.random() < 0.7,
        strategy=random.choice((*STRATEGIES, "cost", "cost")),
    )


def compile_module(module: ModuleOp, options: Options) -> Program:
    """A program; the module is changed.

    Raises:
        FuseError: As `compile_program`, and what else it may raise.
    """
    executable.WORTH_A_THREAD = executable.WORTH_A_PART = 0  # small programs use threads as well
    context = Context()
    layout = options.prefix
    if layout:
        assert layout in ("NHWC", "NCHW", "keep"), "the ways choose one of these"
        for each in compile_prefix(layout):
            each.apply(context, module)
    options.fuse.apply(context, module)
    graph = read_entry(module, "main")
    run = [each for primitive in graph.primitives for each in (primitive.function, *primitive.callees.values())]
    for function in dict.fromkeys(run):
        if function.parent is not None:
            function.detach()
    for op in module.walk():
        if isinstance(op, ConstantOp):
            op.properties.clear()
    engine = _backend(options)
    compiled = compile_primitives(graph, engine, LIMITS)
    graph = with_scratch_tensors(graph, compiled)
    return Program(graph, compiled, engine.name, options.threads)


def _backend(options: Options) -> Backend:
    if options.backend == "numpy":
        return NumPyBackend()
    return LLVMBackend(target=targets()[options.backend], families=("generic",) if options.generic_only else ())
