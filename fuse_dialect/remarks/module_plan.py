"""What fusion would do to a module, as objects that name ops: for Python code, notebooks and the prompt."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Literal, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from fuse_dialect.analysis.anchor_sources import anchor_source
from fuse_dialect.diagnostics import FuseError, Reason
from fuse_dialect.extensions import at_place
from fuse_dialect.fusion.fuse_ops import BlockFusion, FuseOpsPass
from fuse_dialect.fusion.ir.function_like import place_name
from fuse_dialect.fusion.ir.fusible_blocks import functions_to_fuse
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.remarks.folding import folded
from fuse_dialect.remarks.fusion import is_operator, remark_on
from fuse_dialect.remarks.plan_statistics import statistics_of_plan
from fuse_dialect.remarks.recorded_fusion import MadePlans
from fuse_dialect.remarks.statistics import FusionStatistics
from fuse_dialect.source_names import common_source


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """Ops that would become one kernel."""

    function: Operation
    """The function that holds them."""
    ops: tuple[Operation, ...]
    """In block order, constants and tuple ops that move along included."""
    root: Operation
    """The last of them, where the kernel is called."""
    results: tuple[SSAValue, ...]
    """The values that the kernel stores."""

    def __len__(self) -> int:
        return len(self.ops)

    def __contains__(self, item: object) -> bool:
        """Whether an op is in it, or one of a name: `fuse.conv2d`, or `conv2d`."""
        if isinstance(item, str):
            return any(item in (name, name.split(".", 1)[-1]) for name in map(op_name, self.ops))
        return any(item is op for op in self.ops)

    @property
    def operators(self) -> str:
        """Its ops in words: `conv2d + bias_add + relu`."""
        return " + ".join(op_name(op).split(".", 1)[-1] for op in self.ops)

    @property
    def source(self) -> str:
        """Where its anchor comes from in the program of the user: the path of a module, a line; empty if unknown."""
        return anchor_source(self.ops)

    def __repr__(self) -> str:
        return f"{self.operators} -> {_names(self.results)}"


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether an operator is fused into what follows it; true if it is."""

    op: Operation
    reason: Reason
    """`fused`, or the stable code of what keeps the operator where it is."""
    into: Operation | None
    """Its immediate post-dominator, the first operator that all paths from it lead to, if there is one."""
    rule: str | None
    """Name of the rule that fused it, or of the last one that was tried; `None` if the strategy has no rules."""
    blocker: Operation | None
    """The op in the way, if the rule names one."""
    explanation: str
    """The reason in a sentence; empty for an operator that is fused."""

    def __bool__(self) -> bool:
        return self.reason is Reason.FUSED

    def __reduce_ex__(self, protocol: object) -> tuple[Callable[..., "Decision"], tuple[object, ...]]:
        """Pickle with each op by itself, without operands and what is around it."""
        into, blocker = (None if op is None else _alone(op) for op in (self.into, self.blocker))
        return Decision, (_alone(self.op), self.reason, into, self.rule, blocker, self.explanation)

    def __repr__(self) -> str:
        into = "" if self.into is None else f" into '{op_name(self.into)}'"
        if self:
            by = "" if self.rule is None else f" by {self.rule}"
            return f"'{op_name(self.op)}' fused{into}{by}"
        return f"'{op_name(self.op)}' not fused{into}: {self.reason.value}"


@dataclass(frozen=True, slots=True)
class ModulePlan:
    """What `fuse_ops` would do to a module as it is now."""

    module: ModuleOp = field(repr=False)
    fuse_ops: FuseOpsPass
    groups: tuple[PlannedGroup, ...]
    """Kernels to be, function by function, in block order of their roots."""
    decisions: tuple[Decision, ...]
    """One for each operator, function by function, producers before consumers."""
    _fusions: tuple[tuple[Operation, BlockFusion], ...] = field(repr=False)
    """The plan of each block, with its function."""
    _draw: "Draw | None" = field(default=None, repr=False)
    """Makes pictures of it; they stand above remarks, and are handed in."""
    made: MadePlans | None = field(default=None, repr=False)
    """The plans, where they have run: then pictures and stories tell of them, and not of what the pass would do now."""

    @property
    def fusions(self) -> tuple[tuple[Operation, BlockFusion], ...]:
        """The plan of each block, with its function."""
        return self._fusions

    def __reduce_ex__(self, protocol: object) -> tuple[Callable[..., "ModulePlan"], tuple[object, ...]]:
        """Pickle as text, with what was decided about it: ops in memory refer to each other without end."""
        return _restored, at_place(_REDUCED)(self)

    def summary(self) -> FusionStatistics:
        """The plan in numbers, as `fuse-opt --mlir-pass-statistics` prints them.

        Complexity: O(ops + operands); nothing is fused for it.
        """
        return statistics_of_plan(self.fuse_ops, self._fusions, self.refusals())

    def explain(self, op: "Operation | SSAValue | str") -> str:
        """The story of an operator: its kind, what was tried on it, its kernel, and what would have to change.

        Args:
            op: The op, its value, or a name: `%value`, `@function:%value`, or that of an ONNX node.

        Raises:
            FuseError: There is no such op, or fusion does not look at it.
        """
        from fuse_dialect.remarks.explaining import explain

        return explain(self.module, self.fuse_ops, op, self.made)

    def to_html(self) -> str:
        """A page that shows the plan, in one file that needs no network.

        Raises:
            FuseError: The plan was not made by this package's functions, so that nobody draws it.
        """
        return self._drawn("html")

    def to_svg(self) -> str:
        """One picture of the plan: of the block that has most kernels.

        Raises:
            FuseError: As for `to_html`.
        """
        return self._drawn("svg")

    def _drawn(self, form: 'Literal["html", "svg"]') -> str:
        if self._draw is None:
            raise FuseError("nobody draws this plan", hint="fuse_dialect.plan_fusion(module) gives one that is drawn")
        return self._draw(self, form)

    def show(self, path: "str | PathLike[str] | None" = None) -> str:
        """Write the page, and open it in a browser if there is one.

        Args:
            path: The file; by default a new one among the temporary files.

        Returns:
            The path of the page.

        Raises:
            FuseError: The file cannot be written.
        """
        from fuse_dialect.remarks.shown_page import show_page

        return show_page(self.to_html(), path)

    def framed(self) -> str | None:
        """The page in a frame, for notebooks; `None` if nobody draws the plan."""
        from fuse_dialect.remarks.shown_page import framed

        return None if self._draw is None else framed(self.to_html())

    _repr_html_ = framed

    def _repr_svg_(self) -> str | None:
        """The picture, for notebooks that show no pages; `None` if nobody draws the plan."""
        return None if self._draw is None else self.to_svg()

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[PlannedGroup]:
        return iter(self.groups)

    def __getitem__(self, key: "int | str") -> PlannedGroup:
        """A group by its number, or by the name of a value that one of its ops gives, as the module prints it.

        Raises:
            IndexError: There are fewer groups.
            KeyError: No op of a group gives the value.
        """
        if isinstance(key, int):
            return self.groups[key]
        names, name = self._names, key if key.startswith("%") else f"%{key}"
        for group in self.groups:
            if any(names.get(result) == name for op in group.ops for result in op.results):
                return group
        raise KeyError(f"no group gives '{key}'")

    @property
    def _names(self) -> Mapping[SSAValue, str]:
        """The names of values as the module prints them."""
        from fuse_dialect.remarks.printed_ir import printed_ir

        return printed_ir(self.module).names

    def refusals(self) -> list[str]:
        """The reason codes of the operators that are not fused."""
        return [decision.reason.value for decision in self.decisions if not decision]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        """A line for each function, then its groups, then the refusals; layers that repeat are said once."""
        names = self._names
        functions = dict.fromkeys([*functions_to_fuse(self.module), *(group.function for group in self.groups)])
        for function in functions:
            groups = [group for group in self.groups if group.function is function]
            yield f"{place_name(function)}: {len(groups)} {'group' if len(groups) == 1 else 'groups'}"
            lines = [f"{group.operators} -> {_names(group.results, names)}" for group in groups]
            keys = [(group.operators, *(str(value.type) for value in group.results)) for group in groups]
            sources = [group.source for group in groups]

            def combined(places: range, lines: Sequence[str] = lines, sources: Sequence[str] = sources) -> str:
                source = common_source([sources[place] for place in places if sources[place]])
                return f"{lines[places[0]]}, from {source}" if source else lines[places[0]]

            whole = [combined(range(place, place + 1)) for place in range(len(groups))]
            yield from (f"  {line}" for line in folded(whole, keys, combined))
        told = [repr(decision) for decision in self.decisions if not decision]
        yield from folded(told, told)


_REDUCED = "fuse_dialect.loading.plan_pickles:reduced"
_RESTORED = "fuse_dialect.loading.plan_pickles:restored"
"""Places of what reads and writes text."""


def _restored(*parts: object) -> ModulePlan:
    return at_place(_RESTORED)(*parts)


def _alone(op: Operation) -> Operation:
    """An op of the same name, attributes and types, in no block."""
    results = [result.type for result in op.results]
    alone = type(op).create(result_types=results, properties=dict(op.properties), attributes=dict(op.attributes))
    for one, other in zip(alone.results, op.results, strict=True):
        one.name_hint = other.name_hint
    return alone


Draw: TypeAlias = Callable[[ModulePlan, Literal["html", "svg"]], str]
"""Makes a picture of a plan."""


def plan_module(module: ModuleOp, fuse_ops: FuseOpsPass, draw: Draw | None = None) -> ModulePlan:
    """What the pass would do to the module; nothing is changed.

    Args:
        module: The module.
        fuse_ops: The pass.
        draw: Makes pictures of the plan when somebody wants to look at it.

    Raises:
        OpError: A block is not in SSA order, or an attribute of fusion is wrong on an op.
        PassFailedException: An option has no meaning.
    """
    plans = {
        function: fuse_ops.plan_function(function, merges)
        for function, merges in fuse_ops.merges_before(module).items()
    }
    return _plan_of(module, fuse_ops, plans, draw, None)


def ran_plan(module: ModuleOp, fuse_ops: FuseOpsPass, made: MadePlans, draw: Draw | None = None) -> ModulePlan:
    """What a pass has decided about a module, as objects that name its ops.

    Args:
        module: The module, as it was planned.
        fuse_ops: The pass.
        made: What it has decided.
        draw: Makes pictures of the plan when somebody wants to look at it.
    """
    return _plan_of(module, fuse_ops, made, draw, made)


def _plan_of(
    module: ModuleOp, fuse_ops: FuseOpsPass, plans: MadePlans, draw: Draw | None, made: MadePlans | None
) -> ModulePlan:
    groups: list[PlannedGroup] = []
    decisions: list[Decision] = []
    fusions = tuple((function, fusion) for function, own in plans.items() for fusion in own)
    for function, fusion in fusions:
        for group in fuse_ops.planned_groups(fusion):
            groups.append(PlannedGroup(function, tuple(group.ops), group.root, tuple(group.results)))
        decisions.extend(_decisions(fusion))
    return ModulePlan(module, fuse_ops, tuple(groups), tuple(decisions), fusions, draw, made)


def _decisions(fusion: BlockFusion) -> Iterator[Decision]:
    """What the plan decides about each operator of a block."""
    nodes = fusion.block_graph.nodes
    for number, (node, decision) in enumerate(zip(nodes, fusion.plan.decisions, strict=True)):
        if node.op is None or not is_operator(node):
            continue
        into = None if decision.sink is None else nodes[decision.sink].op
        rule = None if decision.rule is None else decision.rule.name
        explanation = "" if decision else remark_on(fusion, number).explanation
        blocker = None if decision.blocker is None else nodes[decision.blocker].op
        yield Decision(node.op, decision.reason, into, rule, blocker, explanation)


def _names(values: Sequence[SSAValue], printed: Mapping[SSAValue, str] | None = None) -> str:
    """The names of values as they are printed, or as they were read; the type of one that has no name."""

    def name(value: SSAValue) -> str:
        own = f"%{value.name_hint}" if value.name_hint else str(value.type)
        return own if printed is None or not value.name_hint else printed.get(value, own)

    return ", ".join(map(name, values))
