"""Chains of reductions along one axis as one pass with running totals: what splits, and how states merge. Pure data.

A *cascade* is reductions of a row over one *column* axis, where later bodies read totals of earlier ones. As it stands
each needs a pass over the row: the maximum must be there before exponentials are added up. One pass does if partial
results can be corrected when an earlier total changes.

1. Maps over the same columns stand in the bodies that read them; what is computed of totals alone, by `finish` or by
   stages without the axis, are *totals*, too. What a product has of totals alone moves behind its sum.
2. A sum splits if its body has a *factor* (`splits`): `sum F(x, new) = C * sum F(x, old)`, since products distribute
   over sums. A maximum, or a minimum, splits if its body has a *shift*: sums distribute over maxima.
3. A sum of `e * w` with a shift D of `e`, and a factor C of `w`, splits with a companion: `C * (sum e w + D * sum w)`.
   One of `e * e * w` has two: `C * (sum e e w + 2 D * sum e w + D * D * sum w)`. So means and deviations merge.
4. A *state* is totals, and companions, of some columns. Two states *merge*: the totals that bodies read are those of
   both together, in order; every other is corrected from its own to these, and combined. One pass merges the state of
   what it has seen with that of each block of columns, and any tree of merges gives the same: threads may share a long
   axis.
5. A mean, the sum over the number of columns, counts what its state has seen: so that deviations are from the mean of
   these, and stay small.
6. Any number will do for what a state is relative to. So bodies and corrections take 0 for a total that is nan or
   infinite, as the maximum of nothing but -inf is, and in the end all are corrected to what it is. `exp(-inf - 0)` is
   0, as it is when a larger maximum comes; where none comes 0 * exp(0 - -inf) is nan, as it is in the program.
7. Results of exact arithmetic are equal. Rounded ones differ as sums in another order do, where factors are no larger
   than 1: those of a maximum are `exp(old - new)`, and it never falls. Other factors may overflow where the program as
   it stands does not.

Source: RedFuser (arXiv:2603.10026) for `F(x, t) = G(x) o H(t)`; T. F. Chan, G. H. Golub, R. J. LeVeque, Updating
formulae and a pairwise algorithm for computing sample variances, 1979, for (3); M. Milakov, N. Gimelshein, Online
normalizer calculation for softmax (arXiv:1805.02867).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from fuse_dialect.counts import Size
from fuse_dialect.loops.bodies import BodyBuilder, needed_of, with_maps
from fuse_dialect.loops.contraction import slice_of
from fuse_dialect.loops.program import Apply, Body, Combiner, Extent, Literal, Refusal, Stage
from fuse_dialect.loops.splits import (
    ONE,
    ZERO,
    Applied,
    Change,
    Expression,
    Number,
    Side,
    Total,
    changes_of,
    expression_text,
    over,
    times,
)


class Rule(Enum):
    """Why a reduction splits."""

    SAME = "same"
    """It reads no total that may change."""
    SCALED = "scaled"
    """Products distribute over sums (2)."""
    MOVED = "moved"
    """Sums distribute over maxima and minima (2)."""
    SHIFTED = "shifted"
    """With one companion (3)."""
    SQUARED = "squared"
    """With two (3)."""


@dataclass(frozen=True, slots=True)
class Split:
    """A reduction that splits."""

    stage: Stage
    """With what it reads at a column in its body (1)."""
    rule: Rule
    factor: Expression = ONE
    """What a state's total is multiplied by, after shifts."""
    shift: Expression = ZERO
    """What is added, to the total or to what stands in it."""
    companions: tuple[Body, ...] = ()
    """Bodies of the sums beside it: of `w`, or of `e w` and of `w` (3)."""
    is_mean: bool = False
    """Whether its end divides by the number of columns (5)."""

    @property
    def combiner(self) -> Combiner:
        """How values are combined."""
        assert self.stage.reduction is not None, "a split is one of a reduction"
        return self.stage.reduction.combiner


@dataclass(frozen=True, slots=True)
class Cascade:
    """A chain that is one pass."""

    rows: int
    """How many leading axes are shared; all stages have them."""
    columns: Size
    """Points of the column axis."""
    steps: tuple[Split | Stage, ...]
    """In order: reductions, and stages without columns between them."""

    @property
    def reads_totals(self) -> bool:
        """Whether some body reads a total, so that there is more than one pass as it stands."""
        return any(split.rule is not Rule.SAME for split in self.splits)

    @property
    def splits(self) -> list[Split]:
        """The reductions."""
        return [step for step in self.steps if isinstance(step, Split)]


def cascade_of(stages: Sequence[Stage], rows: int) -> Cascade | Refusal:
    """The reductions of a row as one pass, or why they are none.

    Args:
        stages: All of them, without axes of one element; results that are maps over columns may follow the reductions.
        rows: How many leading axes they share.

    Complexity: linear in the number of instructions of bodies in which maps stand.
    """
    maps: dict[str, Stage] = {}
    totals: set[str] = set()
    steps: list[Split | Stage] = []
    columns: Size | None = None
    for stage in stages:
        if stage.is_ordered:
            return Refusal(f"'{stage.name}' has an order")
        reduced = [axis.size for axis in stage.axes if axis.is_reduced]
        body = with_maps(stage, maps)
        if body is None:
            return Refusal(f"'{stage.name}' reads what another stage has at another column")
        stage = replace(stage, body=body)
        if not reduced:
            if len(stage.axes) > rows:
                maps[stage.buffer] = stage
            else:
                steps.append(stage)
                totals.add(stage.buffer)
            continue
        if len(reduced) > 1 or columns not in (None, reduced[0]):
            return Refusal(f"'{stage.name}' combines along other axes")
        columns = reduced[0]
        split = _split(stage, frozenset(totals), columns)
        if isinstance(split, Refusal):
            return split
        steps.append(split)
        # What has an axis of its own beside the rows, as a product with values has, is no total of the row.
        if len(stage.axes) == rows + 1:
            totals.add(stage.buffer)
    if columns is None:
        return Refusal("no stage combines columns")
    return Cascade(rows, columns, tuple(steps))


def cascade_behind_products(stages: Sequence[Stage], rows: int) -> Cascade | Refusal:
    """The same, where some stages combine along another axis at each column before: scores of attention.

    Args:
        stages: All of them, without axes of one element.
        rows: How many leading axes they share.
    """
    reduced = [axis.size for stage in stages for axis in stage.axes if axis.is_reduced]
    others = [stage for stage in stages if reduced and _combines_along_others(stage, reduced[-1])]
    found = cascade_of([stage for stage in stages if stage not in others], rows)
    # A matrix product before a softmax has sums along as many points as the softmax by chance.
    return found if isinstance(found, Cascade) or not others else cascade_of(stages, rows)


def _combines_along_others(stage: Stage, columns: Size) -> bool:
    return stage.reduction is not None and all(axis.size != columns for axis in stage.axes if axis.is_reduced)


def _with_factors_behind(stage: Stage, totals: frozenset[str]) -> Stage:
    """The stage with what its product has of totals alone behind the sum (1)."""
    changes = changes_of(stage.body, totals)
    leaves = _leaves(stage.body, lambda place: changes[place].of_row is not None)
    behind = [(place, is_below) for place, is_below in leaves if _is_of_totals(changes[place])]
    if not behind or stage.reduction is None or stage.reduction.combiner is not Combiner.ADD:
        return stage
    element = stage.reduction.start.element
    builder = BodyBuilder([axis.size for axis in stage.axes if not axis.is_reduced], first=1)
    total = 0
    for place, is_below in behind:
        value = builder.copy(slice_of(stage.body, place), [])
        total = builder.add(Apply("arith.divf" if is_below else "arith.mulf", (total, value), element))
    if stage.finish:
        total = builder.copy(stage.finish, [total])
    body = _product_of(stage.body, [leaf for leaf in leaves if leaf not in behind], ())
    return replace(stage, body=body, finish=builder.finished(total))


def _is_of_totals(change: Change) -> bool:
    return change.of_row is not None and not isinstance(change.of_row, Number)


def _leaves(body: Body, ends: Callable[[int], bool]) -> list[tuple[int, bool]]:
    """What a body's product is made of, and whether it stands below a line; where `ends` says so it goes no deeper."""
    found: list[tuple[int, bool]] = []
    pending = [(len(body) - 1, False)]
    while pending:
        place, is_below = pending.pop()
        each = body[place]
        if isinstance(each, Apply) and each.function == "arith.mulf" and not ends(place):
            pending += [(operand, is_below) for operand in reversed(each.operands)]
        elif isinstance(each, Apply) and each.function == "arith.divf" and not ends(place):
            pending += [(each.operands[1], not is_below), (each.operands[0], is_below)]
        else:
            found.append((place, is_below))
    return found


def _split(stage: Stage, totals: frozenset[str], columns: Size) -> Split | Refusal:
    """How a reduction splits (2, 3)."""
    stage = _with_factors_behind(stage, totals)
    assert stage.reduction is not None, "it combines"
    changes = changes_of(stage.body, totals)
    last, is_mean = changes[-1], _is_mean(stage, columns)
    combiner = stage.reduction.combiner
    if last.factor == ONE and last.shift == ZERO:
        return Split(stage, Rule.SAME, is_mean=is_mean)
    if combiner in (Combiner.MAXIMUM, Combiner.MINIMUM) and last.shift is not None:
        return Split(stage, Rule.MOVED, shift=last.shift)
    if combiner is not Combiner.ADD:
        return Refusal(
            f"'{stage.name}': {combiner.value} does not distribute over what '{_culprit(stage, changes)}' does"
        )
    if last.factor is not None:
        return Split(stage, Rule.SCALED, last.factor, is_mean=is_mean)
    return _with_companions(stage, changes, is_mean) or Refusal(
        f"'{stage.name}': the sum does not distribute over what '{_culprit(stage, changes)}' does with a total"
    )


def _culprit(stage: Stage, changes: Sequence[Change]) -> str:
    """The first function of a total and a column that has neither a factor nor a shift, else the last one."""
    for each, change in zip(stage.body, changes, strict=True):
        if isinstance(each, Apply) and change.factor is None and change.shift is None:
            return each.function
    last = stage.body[-1]
    return last.function if isinstance(last, Apply) else "a read"


def _with_companions(stage: Stage, changes: Sequence[Change], is_mean: bool) -> Split | None:
    """The split of a product in which one factor, or one and the same twice, has a shift and no factor (3)."""
    moving, factor = list[int](), ONE
    others: list[tuple[int, bool]] = []
    for place, is_below in _leaves(stage.body, lambda place: changes[place].factor is not None):
        change = changes[place]
        if change.factor is not None:
            factor = over(factor, change.factor) if is_below else times(factor, change.factor)
            others.append((place, is_below))
        elif change.shift is not None and not is_below:
            moving.append(place)
        else:
            return None
    if not moving or len(moving) > 2 or len(set(moving)) > 1:
        return None
    shift = changes[moving[0]].shift
    assert shift is not None, "what moves has a shift"
    weight = _product_of(stage.body, others, ())
    if len(moving) == 1:
        return Split(stage, Rule.SHIFTED, factor, shift, (weight,), is_mean)
    return Split(stage, Rule.SQUARED, factor, shift, (_product_of(stage.body, others, moving[:1]), weight), is_mean)


def _product_of(body: Body, others: Sequence[tuple[int, bool]], moving: Sequence[int]) -> Body:
    """A body of the product of values of another, some of them below a line; 1 if there are none."""
    element = next(each.element for each in reversed(body) if isinstance(each, Apply))
    built, factors = list(body), [*((each, False) for each in moving), *others]
    if factors and not factors[0][1]:
        place = factors.pop(0)[0]
    else:
        built.append(Literal(1.0, element))
        place = len(built) - 1
    for other, is_below in factors:
        built.append(Apply("arith.divf" if is_below else "arith.mulf", (place, other), element))
        place = len(built) - 1
    return needed_of(built[: place + 1], 0)


def _is_mean(stage: Stage, columns: Size) -> bool:
    """Whether what is stored is the total over the number of columns (5)."""
    match stage.finish:
        case (Literal(float() as value), Apply("arith.divf", (0, 1))):
            return value == columns
        case (Literal(float() as value), Apply("arith.mulf", (0, 1) | (1, 0))):
            return isinstance(columns, int) and abs(value * columns - 1) < 2**-20
        case (Literal(1), Extent(size), Apply("arith.muli", (1, 2)), Apply("arith.sitofp", (3,)), last):
            return size == columns and isinstance(last, Apply) and (last.function, last.operands) == _OVER
        case _:
            return False


_OVER = "arith.divf", (0, 4)
"""The total over what stands behind four instructions."""


def cascade_text(cascade: Cascade) -> list[str]:
    """The one-pass form in lines, for people."""
    lines = [f"in one pass over {cascade.columns} columns:"]
    for split in cascade.splits:
        name = split.stage.buffer
        factor = "" if split.factor == ONE else f" * {_nested(split.factor)}"
        shift = _nested(split.shift)
        match split.rule:
            case Rule.SAME:
                lines.append(f"  {name} is combined")
            case Rule.SCALED:
                lines.append(f"  {name} becomes {name}{factor}, and combined")
            case Rule.MOVED:
                lines.append(f"  {name} becomes {name} + {shift}, and combined")
            case Rule.SHIFTED:
                lines.append(f"  {name} becomes ({name} + {shift} * w){factor}, and combined; w adds up beside it")
            case Rule.SQUARED:
                moved = f"({name} + 2 * {shift} * e + {shift} * {shift} * w){factor}"
                lines.append(f"  {name} becomes {moved}, and combined; e and w add up beside it")
    return lines


def split_text(split: Split, cascade: Cascade) -> str:
    """Why a reduction splits, as an identity, for people; empty if it reads no total.

    `x` is what a column has, and totals are called by what they are: `exp(x - max) = exp(x) / exp(max)`.
    """
    names = {each.stage.buffer: _KINDS[each.combiner] if not each.is_mean else "mean" for each in cascade.splits}
    kind, moved = _KINDS[split.combiner], _total_of(split.shift, names)
    match split.rule:
        case Rule.SAME:
            return ""
        case Rule.SCALED:
            found = _exponential_of(split.factor, names)
            if found is None:
                factor = _renamed(split.factor, names)
                return f"the {kind} splits: a new total makes of what was added up {factor} times as much"
            function, total = found
            return f"the {kind} splits: {function}(x - {total}) = {function}(x) / {function}({total})"
        case Rule.MOVED if moved:
            return f"the {kind} splits: {kind}(x - {moved}) = {kind}(x) - {moved}"
        case Rule.MOVED:
            return f"the {kind} splits: a new total moves it by {_renamed(split.shift, names)}"
        case Rule.SHIFTED:
            return f"the sum splits, with one beside it: sum (x - {moved or 't'}) w = sum x w - {moved or 't'} sum w"
        case Rule.SQUARED:
            total = moved or "t"
            return f"the sum splits, with two beside it: sum (x - {total})^2 = sum x^2 - 2 {total} sum x + {total}^2 n"


_KINDS = {
    Combiner.ADD: "sum",
    Combiner.MAXIMUM: "max",
    Combiner.MINIMUM: "min",
    Combiner.MULTIPLY: "product",
    Combiner.AND: "and",
    Combiner.OR: "or",
}
"""What totals are called."""


def _exponential_of(factor: Expression, names: Mapping[str, str]) -> tuple[str, str] | None:
    """The function and the total of a correction `exp(old - new)`."""
    match factor:
        case Applied("math.exp" | "math.exp2" as function, (shift,)):
            total = _total_of(shift, names)
            return (function.partition(".")[2], total) if total else None
        case _:
            return None


def _total_of(shift: Expression, names: Mapping[str, str]) -> str:
    """The total of a shift `old - new`; empty if it is another one."""
    match shift:
        case Applied("arith.subf", (Total(one, Side.OLD), Total(other, Side.NEW))) if one == other:
            return names.get(one, one)
        case _:
            return ""


def _renamed(expression: Expression, names: Mapping[str, str]) -> str:
    """The text of an expression, with totals called by what they are."""

    def renamed(each: Expression) -> Expression:
        match each:
            case Total(buffer, side):
                return Total(names.get(buffer, buffer), side)
            case Applied(function, operands):
                return Applied(function, tuple(map(renamed, operands)))
            case _:
                return each

    return expression_text(renamed(expression))


def _nested(expression: Expression) -> str:
    text = expression_text(expression)
    return f"({text})" if " " in text and not text.endswith(")") else text


def reads_totals(cascade: Cascade) -> bool:
    """Whether some reduction needs what another one gives: else there is one pass already."""
    return any(split.rule is not Rule.SAME for split in cascade.splits)
