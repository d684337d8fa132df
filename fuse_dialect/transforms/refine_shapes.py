"""`refine-shapes`: sizes that turn out to be known become part of the types, and `dyn_` ops the ops they stand for.

1. An open size of an argument that has a name becomes a number if the option `sizes` gives one, or if another argument
   of the function has a number by that name.
2. Integers that follow from the sizes known, by `shape_of` and arithmetic, become constants.
3. A `dyn_` op whose numbers are constants becomes its static form; `dyn_broadcast_to`, `dyn_reshape` and
   `dyn_strided_slice` do so too where the numbers that are not known are sizes of the operand, by name. A slice of
   known length becomes a `take`; see `counted_slices`.
4. Result types are inferred anew from refined operands; the numbers that a `dyn_` op holds are sizes of its result.
5. Ops of the dialect that nothing reads any more are erased.
6. Loops pass sizes on; see `refine_loops`.

A value that something else reads than an op of the dialect, a loop or a choice, or the return of a function that nobody
calls, keeps its type. Functions with `primitive` or `fuse.compiler` are left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, TupleType
from xdsl.ir import Attribute, Block, Operation, SSAValue, TypeAttribute
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException, VerifyException

from fuse_dialect.analysis.forms_by_name import form_by_name
from fuse_dialect.analysis.integer_ranges import Ranges
from fuse_dialect.analysis.known_sizes import KnownSizes
from fuse_dialect.analysis.loop_sizes import name_loop
from fuse_dialect.analysis.sizes import Size
from fuse_dialect.budget import Budget
from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.fields import PropertyValue
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.dynamic import (
    DynamicOp,
    DynBroadcastToOp,
    DynFullOp,
    DynReshapeOp,
    DynStridedSliceOp,
    ShapeOfOp,
)
from fuse_dialect.dialect.ops.regions import LoopOp, YieldOp
from fuse_dialect.dialect.size_names import size_names
from fuse_dialect.dialect.types import DYNAMIC, Shape, are_compatible, is_tensor, with_shape
from fuse_dialect.fusion.outlining.rewiring import replace_operands, resolve
from fuse_dialect.transforms.counted_slices import counted_slice
from fuse_dialect.transforms.refine_loops import refined_loop
from fuse_dialect.transforms.unfinished import is_left_alone, walk_unfinished


@dataclass(frozen=True)
class RefineShapesPass(ModulePass):
    """Make `?` static where sizes are known, and dynamic forms static where their shapes are."""

    name = "refine-shapes"

    sizes: tuple[str, ...] = ()
    """Numbers for named sizes of arguments: `sizes="batch=4","seq=128"`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Refine all functions of the module.

        Raises:
            PassFailedException: The option is wrong, or names a size that no argument has.
            OpError: The sizes contradict each other.

        Complexity: O(ops + operands).
        """
        numbers = _parse_sizes(self.sizes)
        if not numbers and not any(_is_dynamic(inner) for inner in walk_unfinished(op)):
            return
        called = {inner.callee.string_value() for inner in op.walk() if isinstance(inner, func.CallOp)}
        count = sum(1 for _ in walk_unfinished(op))
        refining = _Refining(called, Budget(_COPIES * count, 0))
        used: set[str] = set()
        for inner in walk_unfinished(op):
            if isinstance(inner, func.FuncOp) and not is_left_alone(inner) and inner.body.blocks:
                used.update(refining.enter(inner, numbers))
            else:
                refining.visit(inner)
        if missing := [name for name in numbers if name not in used]:
            raise PassFailedException(f"option 'sizes': no argument has a size '{missing[0]}'")
        refining.finish(op)


def _parse_sizes(texts: Sequence[str]) -> dict[str, int]:
    """The numbers by name.

    Raises:
        PassFailedException: A text is not `name=number`, or a name is given twice.
    """
    numbers: dict[str, int] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        if not name or not number.isascii() or not number.isdigit() or len(number) > 18 or name in numbers:
            raise PassFailedException(f'option \'sizes\' expects each name once as "name=number", got "{text}"')
        numbers[name] = int(number)
    return numbers


def _is_dynamic(op: Operation) -> bool:
    """Whether there is something to refine at an op: an open size, or numbers that are computed."""
    if isinstance(op, DynamicOp | ShapeOfOp):
        return True
    types = op.function_type.inputs.data if isinstance(op, func.FuncOp) else op.result_types
    return any(is_tensor(type) and DYNAMIC in type.get_shape() for type in types)


_COPIES = 8
"""Copies of the whole module that loops may be tried in."""

Refined = TypeVar("Refined", FuseOp, LoopOp)


@dataclass(eq=False, slots=True)
class _Refining:
    """One run over a module."""

    called: set[str]
    """Functions whose types calls repeat."""
    budget: Budget
    """What copies of loops may take."""
    known: KnownSizes = field(default_factory=KnownSizes)
    ranges: Ranges = field(default_factory=Ranges)
    replacement: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What replaces each value; users are rewired when they are visited."""
    retyped: set[SSAValue] = field(default_factory=set[SSAValue])
    """Values whose types are more precise than they were."""
    gone: set[Operation] = field(default_factory=set[Operation])
    """Ops of loops that were replaced; the walk may still meet them."""

    def enter(self, function: func.FuncOp, numbers: Mapping[str, int]) -> set[str]:
        """Refine the arguments of a function; the names that it has are returned."""
        names = size_names(function)
        given = _sizes_by_name(function, names, numbers)
        block = function.body.blocks[0]
        for index, own in enumerate(names):
            argument = block.args[index]
            if not own or not is_tensor(argument.type):
                continue
            shape = [
                given.get(name, dim) if name and dim == DYNAMIC else dim
                for name, dim in zip(own, argument.type.get_shape(), strict=True)
            ]
            if shape != list(argument.type.get_shape()) and self._may_change(function, argument):
                argument = _retyped(block, index, with_shape(argument.type, shape))
                self.retyped.add(argument)
            self.known.name(argument, own)
        return {name for own in names for name in own}

    def _may_change(self, function: func.FuncOp, value: SSAValue) -> bool:
        return function.sym_name.data not in self.called and self._is_read_here_alone(value)

    def _is_read_here_alone(self, value: SSAValue) -> bool:
        """Whether only ops of the dialect read the value, or the return of a function that nobody calls."""
        for use in value.uses:
            user = use.operation
            if isinstance(user, func.ReturnOp):
                parent = user.parent_op()
                if isinstance(parent, func.FuncOp) and parent.sym_name.data not in self.called:
                    continue
            if not isinstance(user, FuseOp | LoopOp | YieldOp):
                return False
        return True

    def visit(self, op: Operation) -> None:
        """Let the op read what was refined before it, and refine it."""
        if op in self.gone:
            return
        replace_operands(op, self.replacement)
        if isinstance(op, LoopOp):
            self._visit_loop(op)
        if not isinstance(op, FuseOp):
            return
        try:
            refined = self._with_refined_types(self._counted_slice(self._static_form(op)))
        except VerifyException as error:
            raise OpError(op, f"'{op.name}' op {error}", "sizes that are known now contradict each other") from error
        self.known.visit(refined)
        self._fold(refined)
        self._settle(op)

    def _settle(self, op: Operation) -> None:
        """Let the results of an op be replaced by the last of what replaced them."""
        for result in op.results:
            while (last := self.replacement.get(result, result)) in self.replacement:
                self.replacement[result] = self.replacement[last]

    def _visit_loop(self, op: LoopOp) -> None:
        """Put a loop with more precise types in the place of one (6), and visit the ops in it."""
        name_loop(op, self.known)
        if any(not self._is_read_here_alone(result) for result in op.results):
            return
        new = refined_loop(op, self._visit_inside, self.budget, self._begin_copy)
        if new is None:
            return
        self.gone.update((op, *ops_inside(op)))
        self._replace(op, new)
        name_loop(new, self.known)
        self._settle(op)
        op.detach()
        op.drop_all_references()

    def _begin_copy(self, op: LoopOp) -> None:
        name_loop(op, self.known)

    def _visit_inside(self, op: Operation) -> None:
        """Visit an op, and those in its regions, if it is not replaced as a whole."""
        for inner in walk_unfinished(op):
            self.visit(inner)

    def _replace(self, op: Refined, new: Refined) -> Refined:
        """Put a new op in the place of one, whose users have not been visited."""
        assert op.parent is not None, "an op that was found by a walk stands in a block"
        new.location = op.location
        new.attributes.update(op.attributes)
        op.parent.insert_op_before(new, op)
        for old, result in zip(op.results, new.results, strict=True):
            result.name_hint = old.name_hint
            self.replacement[old] = result
            if result.type != old.type:
                self.retyped.add(result)
            self.known.take_over(old, result)
        return new

    def _static_form(self, op: FuseOp) -> FuseOp:
        """The op that stands for a `dyn_` op (3), or the op."""
        if not isinstance(op, DynamicOp):
            return op
        elements = [self.known.elements_of(op.operands[place]) for place in op.NUMBERS]
        numbers = [array for array in elements if array is not None]
        if len(numbers) < len(elements):
            return op
        data = [operand for place, operand in enumerate(op.operands) if place not in op.NUMBERS]
        # On stand-ins, because an op that turns out wrong would remain a user of its operands.
        stand_ins = Block(arg_types=[operand.type for operand in data]).args
        by_name = any(array.dtype == object for array in numbers)
        try:
            sizes = self.known.sizes_of(op.operands[0])
            form = form_by_name(op, stand_ins, sizes, numbers) if by_name else op.static_form(stand_ins, numbers)
            if form is not None:
                form.verify_()
        except VerifyException:
            return op  # whoever runs the program hears of wrong numbers
        if form is None or not self._fits(op, form.result_types):
            return op
        form.operands = data
        return self._replace(op, form)

    def _counted_slice(self, op: FuseOp) -> FuseOp:
        """The op that stands for a slice of known length (3), or the op."""
        if not isinstance(op, DynStridedSliceOp) or op.parent is None:
            return op
        made = counted_slice(op, self.ranges, self.known)
        if made is None:
            return op
        last = made.pop()
        assert isinstance(last, FuseOp), "a slice is an op of the dialect"
        if not self._fits(op, last.result_types):
            last.erase()
            for each in reversed(made):
                each.erase()
            return op
        op.parent.insert_ops_before(made, op)
        for each in made:
            if isinstance(each, FuseOp):
                self.known.visit(each)
        return self._replace(op, last)

    def _fits(self, op: FuseOp, types: Sequence[Attribute]) -> bool:
        """Whether results may have these types: not less precise ones, and other ones only where nobody minds.

        Raises:
            VerifyException: They cannot be.
        """
        for result, type in zip(op.results, types, strict=True):
            if not are_compatible(result.type, type):
                raise VerifyException(f"expects a result of type {type}, got {result.type}")
            if result.type != type and (_merged(result.type, type) != type or not self._is_read_here_alone(result)):
                return False
        return True

    def _with_refined_types(self, op: FuseOp) -> FuseOp:
        """The op with more precise result types (4), or the op.

        Raises:
            VerifyException: Sizes contradict each other.
        """
        if not any(_is_open(result.type) for result in op.results) and self.retyped.isdisjoint(op.operands):
            return op
        refined = op.refine_types()
        types = list(op.result_types)
        for index, result in enumerate(op.results):
            for found in (_of_element(result.type, refined, index), self._held_sizes(op, result.type)):
                if found is not None and not are_compatible(types[index], found):
                    raise VerifyException(f"expects result {index} of type {found}, got {types[index]}")
                types[index] = _merged(types[index], found)
            if types[index] != result.type and not self._is_read_here_alone(result):
                types[index] = result.type
        if types == list(op.result_types):
            return op
        properties: dict[str, PropertyValue] = {**op.properties}
        new = type(op)(*op.operands, result_types=types, attributes=None, **properties)
        new.verify_()
        return self._replace(op, new)

    def _held_sizes(self, op: FuseOp, type: Attribute) -> Attribute | None:
        """The result type as far as the numbers of a `dyn_` op say it, where they say sizes."""
        if not isinstance(op, DynFullOp | DynReshapeOp | DynBroadcastToOp) or not is_tensor(type):
            return None
        elements = self.known.elements_of(op.shape)
        if elements is None:
            return None
        # 0 and -1 may stand for other sizes, and so does a 1 to broadcast to.
        least = 2 if isinstance(op, DynBroadcastToOp) else 1
        sizes = [DYNAMIC if isinstance(size, Size) or size < least else int(size) for size in elements]
        return with_shape(type, [*[DYNAMIC] * (type.get_num_dims() - len(sizes)), *sizes])

    def _fold(self, op: FuseOp) -> None:
        """Put constants in the place of integers that are known (2)."""
        arrays = [self.known.elements_of(result) for result in op.results]
        known = [array for array in arrays if array is not None and array.dtype != object]
        block = op.parent
        if len(known) < len(arrays) or block is None or isinstance(op, DynamicOp):
            return
        for result, array in zip(op.results, known, strict=True):
            if (
                not is_tensor(result.type)
                or tuple(result.type.get_shape()) != array.shape
                or array.dtype.kind not in "iub"
            ):
                return
        for result, array in zip(op.results, known, strict=True):
            new = constant(array)
            new.location = op.location
            new.result.name_hint = result.name_hint
            block.insert_op_before(new, op)
            self.replacement[result] = new.result

    def finish(self, module: ModuleOp) -> None:
        """Rewire users that stand before what they read, erase what is not read, and let functions say their types."""
        ops = list(walk_unfinished(module))
        resolve(self.replacement)
        for op in ops:
            replace_operands(op, self.replacement)
        for op in reversed(ops):  # (5)
            if isinstance(op, FuseOp | arith.ConstantOp) and not any(result.uses for result in op.results):
                op.detach()
                op.erase()
        for op in module.walk():
            if isinstance(op, func.FuncOp) and not is_left_alone(op) and op.body.blocks:
                _set_function_type(op)


def _sizes_by_name(function: func.FuncOp, names: Sequence[Sequence[str]], numbers: Mapping[str, int]) -> dict[str, int]:
    """The sizes that are known of the names that arguments have.

    Raises:
        OpError: One name is two numbers.
    """
    known = dict(numbers)
    for own, type in zip(names, function.function_type.inputs, strict=True):
        shape: Shape = tuple(type.get_shape()) if is_tensor(type) else ()
        for name, dim in zip(own, shape, strict=False):
            if name and dim != DYNAMIC and known.setdefault(name, dim) != dim:
                raise OpError(function, f"'@{function.sym_name.data}': size '{name}' is both {known[name]} and {dim}")
    return known


def _retyped(block: Block, index: int, type: Attribute) -> SSAValue:
    """The argument at a place, with another type."""
    old = block.args[index]
    new = block.insert_arg(type, index)
    new.name_hint = old.name_hint
    old.replace_all_uses_with(new)
    block.erase_arg(old)
    return new


def _set_function_type(function: func.FuncOp) -> None:
    """Let the function's type follow from its arguments and what it returns."""
    outputs = list(function.function_type.outputs)
    for block in function.body.blocks:
        last = block.last_op
        if isinstance(last, func.ReturnOp) and len(function.body.blocks) == 1:
            outputs = list(last.operand_types)
    arguments = [argument.type for argument in function.body.blocks[0].args]
    function.properties["function_type"] = FunctionType.from_lists(arguments, outputs)


def _is_open(type: Attribute) -> bool:
    """Whether a type may leave a size open; that of a tuple may."""
    return not is_tensor(type) or DYNAMIC in type.get_shape()


def _of_element(declared: Attribute, refined: Sequence[Attribute] | None, index: int) -> Attribute | None:
    """An inferred type, with the declared elements: `argsort` infers i32, and may be declared to give i64."""
    if refined is None:
        return None
    found = refined[index]
    return with_shape(declared, found.get_shape()) if is_tensor(declared) and is_tensor(found) else found


def _merged(one: Attribute, other: Attribute | None) -> Attribute:
    """What two types say together, the first where they contradict."""
    if isinstance(one, TupleType) and isinstance(other, TupleType):
        fields = [_merged(*pair) for pair in zip(one.types, other.types, strict=True)]
        return TupleType(ArrayAttr(cast("list[TypeAttribute]", fields)))
    if other is None or not is_tensor(one) or not is_tensor(other):
        return one if other is None else other
    pairs = zip(one.get_shape(), other.get_shape(), strict=True)
    return with_shape(one, [b if a == DYNAMIC else a for a, b in pairs])
