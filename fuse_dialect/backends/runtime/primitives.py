"""A primitive that is ready to run: its kernel or the reason why it has none, and its NumPy meaning in any case."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult
from xdsl.utils.exceptions import InterpretationError

from fuse_dialect.analysis.op_costs import PrimitiveCost
from fuse_dialect.backends.backend import Kernel
from fuse_dialect.backends.runtime.bound_sizes import ProgramSizes
from fuse_dialect.backends.runtime.count_words import COUNT_WORDS
from fuse_dialect.backends.runtime.counting import CountingOp
from fuse_dialect.backends.runtime.entry_graph import How, Primitive
from fuse_dialect.backends.runtime.size_arithmetic import SizeArithmetic, result_shapes, size_arithmetic
from fuse_dialect.backends.types import Shape, TensorType
from fuse_dialect.budget import SIZE_HINT, STEPS_HINT, Limits, is_without_end, spelled
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.dynamic import DynTopkOp
from fuse_dialect.dialect.ops.opaque import ArgwhereOp, ScatterNdOp
from fuse_dialect.dialect.ops.selection import NonMaxSuppressionOp, UniqueOp
from fuse_dialect.dialect.types import element_dtype, is_tensor, shape_text
from fuse_dialect.interpreters.loop_costs import marked_iteration
from fuse_dialect.interpreters.numpy import TOO_LONG, TOO_LONG_HINT, Runner
from fuse_dialect.interpreters.values import EvaluationError, Value, flatten
from fuse_dialect.loops.families import FAMILIES, NONE, keeps_promise
from fuse_dialect.loops.program import LoopProgram

_LIMITS = Limits()


_MOST_CALLS = 1 << 10
"""Shapes of arguments that are remembered of one kernel, for programs that run step by step."""


class KernelCall(NamedTuple):
    """A call of a kernel with arguments of known shapes."""

    results: tuple[Shape, ...]
    named: tuple[int, ...]
    """The sizes that the kernel reads, in its order."""


@dataclass(eq=False)
class Compiled:
    """A primitive and what runs it."""

    primitive: Primitive
    program: LoopProgram | None
    """Its loops; `None` if it has no loop form."""
    kernel: Kernel | None
    """Native code; `None` if NumPy runs it."""
    reason: str = ""
    """Why there is no native code."""
    limits: Limits = _LIMITS
    """What its NumPy meaning may take."""
    control: How | None = None
    """Of a loop or a branch with kernels inside: `CONTROL` if it is native throughout, else `MIXED`."""
    settled: How | None = None
    """How it is run where the sizes of the inputs settle that; see `settled`."""
    sized_by: tuple[int, ...] = ()
    """Places of arguments whose elements say sizes, where it is no loop or branch: all of them, where it is settled."""
    scratch: Sequence[TensorType] = ()
    """Its last results, which only its own loops read: buffers between them of open sizes."""
    direct: Callable[[Sequence[Array]], list[Array]] | None = None
    """What computes its results by a call of a library, without its IR; `None` for most."""
    told: "Compiled | None" = None
    """What runs it where its numbers are settled: a kernel that is told the sizes of its results."""
    promises: Collection[str] = frozenset()
    """Families of native code that its calls were planned as; see `FusionPlan.promises`."""
    _is_view: bool = field(init=False)
    _runner: Runner = field(init=False)
    _cost: PrimitiveCost | None = field(init=False, default=None)
    _calls: dict[tuple[Shape, ...], KernelCall | None] = field(
        init=False, default_factory=dict[tuple[Shape, ...], "KernelCall | None"]
    )

    def __post_init__(self) -> None:
        self._is_view = self.primitive.is_view
        self._runner = Runner(self.primitive.callees, self.limits, marked_iteration)

    @property
    def name(self) -> str:
        """The function's name."""
        return self.primitive.function.sym_name.data

    @property
    def how(self) -> How:
        """How it is run."""
        if self.settled is not None:
            return self.settled
        if self._is_view:
            return How.VIEW
        if self.control is not None:
            return self.control
        return How.NUMPY if self.kernel is None else How.NATIVE

    @property
    def broken_promise(self) -> str:
        """The family that the plan has counted on, if what runs it is slower; empty otherwise.

        A plan promises something where sizes are known, of what has loops. That NumPy runs the others has a reason.
        """
        if not self.promises or self.program is None or not self.primitive.is_static:
            return ""
        family = NONE if self.kernel is None else self.kernel.family
        broken = [each for each in FAMILIES if each in self.promises and not keeps_promise(each, family)]
        return broken[0] if broken and self.how in (How.NATIVE, How.NUMPY) else ""

    @property
    def ops(self) -> tuple[str, ...]:
        """The operators in it, without constants, `fuse.` left out."""
        ops = (op.name for op in self.primitive.function.body.block.ops if op.name.startswith("fuse."))
        return tuple(name.removeprefix("fuse.") for name in ops)

    def cost_at(self, arguments: Sequence[Shape], results: Sequence[Shape]) -> tuple[int | None, int | None]:
        """Bytes that one call with arrays of these shapes moves, and its arithmetic operations; `None` if unknown."""
        if self._cost is None:
            self._cost = PrimitiveCost(self.primitive.function)
        return self._cost.at(arguments, results[: len(results) - len(self.scratch)])

    def check_sizes(self, shapes: Sequence[Shape], dtypes: Sequence[np.dtype[Any]]) -> None:
        """Reject results that are too large, before they are made.

        Raises:
            FuseError: One takes more bytes than a value may; its cause knows the op.
        """
        for place, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)):
            count = math.prod(shape) * dtype.itemsize
            if count > self.limits.value_bytes:
                end = self.primitive.function.body.block.last_op
                returned = () if end is None else end.operands  # scratch is behind what is returned
                is_whole = len(returned) + len(self.scratch) == len(shapes)
                value = returned[place] if is_whole and place < len(returned) else None
                op = value.op if isinstance(value, OpResult) else self.primitive.function
                reason = (
                    f"cannot be run: expects a result of at most {self.limits.value_bytes} bytes, "
                    f"got {shape_text(shape)} of {spelled(count)} bytes"
                )
                error = EvaluationError(op, reason, SIZE_HINT)
                raise FuseError(str(error), hint=SIZE_HINT) from error

    def check_workspace(self) -> None:
        """Reject a kernel that needs too much memory for what it puts down between its loops.

        Raises:
            FuseError: It takes more bytes than a value may; its cause knows the function.
        """
        count = 0 if self.kernel is None else self.kernel.workspace_bytes
        if count > self.limits.value_bytes:
            reason = f"cannot be run: needs {spelled(count)} bytes for intermediate values, more than the limit of "
            error = EvaluationError(self.primitive.function, f"{reason}{self.limits.value_bytes}", SIZE_HINT)
            raise FuseError(str(error), hint=SIZE_HINT) from error

    def check_steps(self, arguments: Sequence[Shape], sizes: Mapping[str, int]) -> None:
        """Reject loops that would run for hours over few elements: a number in the program is wrong.

        Args:
            arguments: Shapes of what it reads.
            sizes: The symbolic sizes of its loops.

        Raises:
            FuseError: They would; its cause knows the op.
        """
        steps = self.sizes.steps(sizes)
        elements = sum(map(math.prod, (*arguments, *self.sizes.result_shapes(sizes))))
        if is_without_end(steps, elements):
            reason = f"cannot be run: takes about 2**{steps.bit_length() - 1} steps for {elements} elements"
            first = next(op for op in self.primitive.function.body.block.ops if isinstance(op, FuseOp))
            error = EvaluationError(first, reason, STEPS_HINT)
            raise FuseError(str(error), hint=STEPS_HINT) from error

    def call_of(self, arguments: Sequence[Shape], dtypes: Sequence[np.dtype[Any]]) -> KernelCall | None:
        """What its kernel makes of arguments of these shapes, found once for each; `None` if it is not for them.

        Args:
            arguments: Their shapes.
            dtypes: Of the results.

        Raises:
            FuseError: A result or the workspace takes too many bytes, or its loops would run for hours.
        """
        key = tuple(arguments)
        if key in self._calls:
            return self._calls[key]
        sizes = self.bind(arguments)
        # Equal names of sizes are an assumption (ADR 10), which only now can be checked.
        found: KernelCall | None = None
        if sizes is not None:
            shapes = self.sizes.result_shapes(sizes)
            # Before memory is asked for: sizes that values decide may be of any magnitude.
            self.check_sizes(shapes, dtypes)
            self.check_steps(arguments, sizes)
            self.check_workspace()
            found = KernelCall(tuple(shapes), tuple([sizes[symbol] for symbol in self.sizes.symbols]))
        if len(self._calls) >= _MOST_CALLS:
            self._calls.clear()
        self._calls[key] = found
        return found

    @cached_property
    def counts_elements(self) -> bool:
        """Whether it is an op whose results are as many as the elements of its operands say; no more than these."""
        return isinstance(self._single, ArgwhereOp | UniqueOp | NonMaxSuppressionOp)

    @cached_property
    def counting_op(self) -> CountingOp | None:
        """What it is if native code counts its rows."""
        return CountingOp.of(self.primitive.function)

    @cached_property
    def _single(self) -> FuseOp | None:
        """The one op in it that computes something."""
        ops = [op for op in self.primitive.function.body.block.ops if not isinstance(op, func.ReturnOp | ConstantOp)]
        return ops[0] if len(ops) == 1 and isinstance(ops[0], FuseOp) else None

    @cached_property
    def _is_quick(self) -> bool:
        """Whether it is a run by NumPy with results no larger than its operands, whose types need not be made."""
        return self.counts_elements or isinstance(self._single, ScatterNdOp | DynTopkOp)

    @cached_property
    def size_arithmetic(self) -> SizeArithmetic | None:
        """Its meaning on small arrays, and on shapes of any; `None` if there is only that on arrays."""
        return size_arithmetic(self.primitive.function)

    @cached_property
    def only_op(self) -> FuseOp | None:
        """The one op that it is, whose operands are the arguments and whose results are returned in order."""
        block = self.primitive.function.body.block
        ops = [op for op in block.ops if not isinstance(op, func.ReturnOp)]
        end = block.last_op
        if len(ops) != 1 or not isinstance(ops[0], FuseOp) or end is None:
            return None
        if tuple(end.operands) != tuple(ops[0].results):
            return None
        return ops[0] if all(isinstance(operand, BlockArgument) for operand in ops[0].operands) else None

    @cached_property
    def sizes(self) -> ProgramSizes:
        """What its loops say of sizes."""
        if self.program is None:
            types = self.primitive.function.function_type
            return ProgramSizes.of_shapes(*(list(map(_shape, each)) for each in (types.inputs, types.outputs)))
        return ProgramSizes.of(self.program)

    def bind(self, arguments: Sequence[Shape]) -> Mapping[str, int] | None:
        """The values of the sizes that its loops have by name; `None` if it is not for arrays of these shapes."""
        if not self.needs_results:
            return self.sizes.bind(arguments)
        results = result_shapes(self.primitive.function, arguments)
        return None if results is None else self.sizes.bind(arguments, results)

    @cached_property
    def needs_results(self) -> bool:
        """Whether sizes of its results have names of their own."""
        return self.sizes.needs_results

    @property
    def leading_words(self) -> int:
        """Words of a call before the addresses: moves, and what counts, say where their record begins."""
        return {How.MOVE: 1, How.COUNT: COUNT_WORDS}.get(self.how, 0)

    def view_shape(self, source: Shape) -> Shape:
        """The shape in which a view shows its only argument.

        Raises:
            FuseError: An op in it rejects the shape: it would have another number of elements.
        """
        (result,) = self.primitive.function.function_type.outputs.data
        assert is_tensor(result), "a view shows a tensor"
        # The verifier has compared static shapes, but not with sizes that are operands: those of `dyn_reshape`.
        if self.primitive.is_static and math.prod(result.get_shape()) == math.prod(source):
            return tuple(result.get_shape())
        (argument,) = self.primitive.function.function_type.inputs.data
        assert is_tensor(argument), "a view shows a tensor"
        # One element that stands for all: NumPy reshapes it without a copy.
        return self.evaluate([np.broadcast_to(np.zeros((), element_dtype(argument.element_type)), source)])[0].shape

    def evaluate(self, arguments: Sequence[Array]) -> list[Array]:
        """The results, by NumPy; they may show memory of the arguments.

        Raises:
            FuseError: NumPy rejects the values, an index out of range for example.
        """
        if self.direct is not None:
            return self.direct(arguments)
        if self._is_quick and self.size_arithmetic is not None:
            # Its meaning checks what types would say, and these take longer to make than a small run.
            results = self.size_arithmetic(arguments)
            if results is not None:
                return results
        function = self.primitive.function
        values = _nested(function.function_type.inputs.data, arguments)
        try:
            return flatten(self._runner.call(function, values))
        except InterpretationError as error:
            raise as_fuse_error(error) from error

    @property
    def op(self) -> Operation:
        """The first op in it: the loop or the branch that it was made of."""
        op = self.primitive.function.body.block.first_op
        assert op is not None, "a function has a return at least"
        return op

    def too_long(self) -> FuseError:
        """What to say of a loop that has run too often; its cause knows the op."""
        error = EvaluationError(self.op, TOO_LONG, TOO_LONG_HINT)
        said = as_fuse_error(error)
        said.__cause__ = error
        return said


def _shape(type: Attribute) -> Shape:
    assert is_tensor(type), "native code takes and gives tensors"
    return tuple(type.get_shape())


def as_fuse_error(error: InterpretationError) -> FuseError:
    """The error for people; raise it from the other one, which knows the op."""
    hint = getattr(error, "hint", None)
    return FuseError(str(error), hint=hint if isinstance(hint, str) else None)


def _nested(types: Sequence[Attribute], arrays: Sequence[Array]) -> list[Value]:
    """The arrays as values of the types: those of a tuple become a tuple."""
    remaining = iter(arrays)

    def value(type: Attribute) -> Value:
        if isinstance(type, TupleType):
            return tuple(value(field) for field in type.types)
        return next(remaining)

    return [value(type) for type in types]
