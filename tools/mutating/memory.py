"""Mutants of what decides where values live: the steps and tables of a function, local buffers of kernels."""

from mutating.mutant import Mutant

_RUNTIME = "backends/runtime"
_FLOW, _PLAN = f"{_RUNTIME}/flow.py", f"{_RUNTIME}/plan.py"
_LAYOUT, _CONTROL, _EXECUTABLE = f"{_RUNTIME}/control_layout.py", f"{_RUNTIME}/control.py", f"{_RUNTIME}/executable.py"
_LOCALS = "loops/local_places.py"

MEMORY_MUTANTS: tuple[Mutant, ...] = (
    # flow: what shows whose memory
    Mutant("flow-counter", _FLOW, "if root == loop.counter or root in loop.states:", "if root in loop.states:"),
    Mutant("flow-other-states", _FLOW, "if root == loop.counter or root in loop.states:", "if root == loop.counter:"),
    Mutant("flow-stacked-twice", _FLOW, "direct = root in own and root not in moving", "direct = root in own"),
    Mutant("flow-stacked-outside", _FLOW, "direct = root in own and root not in moving", "direct = root not in moving"),
    Mutant(
        "flow-one-place",
        _FLOW,
        "if root in own and root not in moving:\n                turns[root] = None",
        "if False:\n                turns[root] = None",
    ),
    Mutant(
        "flow-turns-of-rows",
        _FLOW,
        "if root in own and root not in moving:\n                turns[root] = None",
        "if root in own:\n                turns[root] = None",
    ),
    Mutant(
        "flow-results-of-loops",
        _FLOW,
        "self.parents[state], self.parents[result] = first, first",
        "self.parents[state] = first",
    ),
    Mutant(
        "flow-inner-stacks",
        _FLOW,
        "own.update(inner.call.results[len(inner.loop.initial) :])",
        "own.update(inner.call.results[:0])",
    ),
    Mutant(
        "flow-choice", _FLOW, "Choice(branch.condition, jump + 1 - choice)", "Choice(branch.condition, jump - choice)"
    ),
    Mutant("flow-jump", _FLOW, "Jump(len(self.steps) - jump)", "Jump(len(self.steps) - jump - 1)"),
    Mutant("flow-copies-behind", _FLOW, "exit = len(self.steps) - 1", "exit = end"),
    # plan: how long values live
    Mutant("plan-around-loops", _PLAN, "last[tensor] = max(last[tensor], loop.exit)", "pass"),
    Mutant(
        "plan-until-copies",
        _PLAN,
        "Lifetime(sizes[tensor], loop.begin, loop.exit) for",
        "Lifetime(sizes[tensor], loop.begin, loop.end) for",
    ),
    Mutant(
        "plan-from-begin", _PLAN, "if writer.get(tensor, -1) <= loop.begin:", "if writer.get(tensor, -1) < loop.begin:"
    ),
    Mutant(
        "plan-read-at-end",
        _FLOW,
        "numbers = [flat.loop.goes_on, *(following for _, _, following in flat.states)]",
        "numbers = [flat.loop.goes_on]",
    ),
    Mutant(
        "plan-read-at-begin",
        _FLOW,
        "numbers = [loop.limit, loop.condition, *loop.initial, *loop.rows]",
        "numbers = [loop.limit, loop.condition, *loop.rows]",
    ),
    Mutant("plan-rows-at-begin", _FLOW, "*loop.initial, *loop.rows]", "*loop.initial]"),
    Mutant("plan-stacks-at-begin", _FLOW, "numbers = [flat.loop.counter, *stacks]", "numbers = [flat.loop.counter]"),
    Mutant("plan-counter", _FLOW, "numbers = [flat.loop.counter, *stacks]", "numbers = [*stacks]"),
    Mutant(
        "plan-two-places",
        _PLAN,
        "turns = {tensor: (next(pairs), next(pairs)) for tensor, _ in turning}",
        "turns = {tensor: (next(pairs),) * 2 for tensor, _ in turning}",
    ),
    Mutant(
        "plan-moving-outputs",
        _PLAN,
        "for tensor in (*(row for row, _ in loop.moves), *loop.turns, *(state for state, _, _ in loop.states)):",
        "for tensor in (*(row for row, _ in loop.moves), *loop.turns):",
    ),
    # tables
    Mutant("table-strides", _LAYOUT, "slots.add(sizes[tensor], 0)", "slots.add(sizes[base], 0)"),
    Mutant(
        "table-bound",
        _LAYOUT,
        "slots.add(min((slots.plan.shapes",
        "slots.add(max((slots.plan.shapes",
        same_because="a loop over tensors with other numbers of rows is refused",
    ),
    Mutant("table-distance", _LAYOUT, "flat.end - flat.begin - 1)", "flat.end - flat.begin)"),
    Mutant(
        "table-states",
        _LAYOUT,
        "slots.add_address(initial)\n            slots.add_address(following)",
        "slots.add_address(following)\n            slots.add_address(initial)",
    ),
    Mutant("table-copied-bytes", _LAYOUT, "slots.add(slots.plan.sizes[step.source])", "slots.add(8)"),
    Mutant("table-workspaces", _EXECUTABLE, " + part * self.workspace_bytes)", ")"),
    Mutant(
        "table-arena", _EXECUTABLE, "slots.add_offset(rounded_up(self.plan.arena_bytes) + part", "slots.add_offset(part"
    ),
    # the functions of loops
    Mutant("loop-turns", _CONTROL, "back:\n  call void @turn(ptr %d)\n", "back:\n"),
    Mutant("loop-moves", _CONTROL, "  call void @move(ptr %d, i64 %iteration)\n", ""),
    Mutant("loop-first-states", _CONTROL, "call void @follow(ptr %d, i64 0)", "call void @follow(ptr %d, i64 1)"),
    Mutant("loop-enters", _CONTROL, "%enters = and i1 %begins, %some", "%enters = or i1 %begins, %some"),
    Mutant("loop-skips", _CONTROL, "%behind = add i64 %rows, 2", "%behind = add i64 %rows, 1"),
    # local buffers of kernels
    Mutant("locals-one-result", _LOCALS, "if fits and is_same and result.name not in taken:", "if fits and is_same:"),
    Mutant(
        "locals-elsewhere",
        _LOCALS,
        "if any(read.guards or tuple(read.indices) != stage.store for",
        "if any(read.guards for",
    ),
    Mutant(
        "locals-other-phases",
        _LOCALS,
        "if not readers or not (_stays_in_phase(plan, phase, stage, own)):",
        "if not readers:",
    ),
    Mutant("locals-last-read", _LOCALS, "last = nests[readers[-1]]", "last = nests[readers[0]]"),
    Mutant(
        "locals-other-nests",
        _LOCALS,
        "                if reads and id(member) not in inside:\n                    return False",
        "                pass",
    ),
    Mutant(
        "locals-one-row",
        _LOCALS,
        "return is_whole(stage, buffer.shape) and not any(_reads(member, stage.buffer) for member in outside)",
        "return is_whole(stage, buffer.shape)",
    ),
    Mutant("locals-one-value", _LOCALS, "has_one_value = not around and", "has_one_value ="),
    Mutant("locals-sizes", _LOCALS, "if axis not in rows)", "if axis not in rows and axis)"),
    Mutant(
        "locals-guarded-values",
        _LOCALS,
        "if has_one_value and all(not read.guards for read in reads):",
        "if has_one_value:",
    ),
    # orders of kernels in the making
    Mutant(
        "order-of-numbers",
        "cost/steps.py",
        "self.order.begin(",
        "self.order.position.update((step, step) for step in ",
    ),
    Mutant("order-ahead", "fusion/core/step_order.py", "(*behind, *ahead, kept, gone))", "(*behind, kept, gone))"),
    Mutant(
        "order-behind",
        "fusion/core/step_order.py",
        "in_order = [*sorted(ahead, key=self.position.__getitem__), kept,",
        "in_order = [kept, *sorted(ahead, key=self.position.__getitem__),",
    ),
    Mutant("order-cycles", "fusion/core/step_order.py", "elif following == other and step != start:", "elif False:"),
    Mutant(
        "order-of-readers",
        "cost/judgements.py",
        "if change is Change.INTO_READERS or (change is Change.INTO_ONE and not judged.joins[0][1].kept):",
        "if change is not Change.SIBLINGS:",
    ),
    # guards
    Mutant(
        "guards-of-scalars",
        "backends/llvm/memory.py",
        "(value,) = f.either(guard, load, lambda: [self._otherwise(read, 0)])",
        "(value,) = load()",
    ),
    Mutant("guards-of-lanes", "backends/llvm/memory.py", "mask = self._both(different)", "mask = self.mask"),
    Mutant(
        "guards-of-vectors",
        "backends/llvm/memory.py",
        "(loaded,) = load() if same is None else f.either(same, load, lambda: [fill])",
        "(loaded,) = load()",
    ),
    Mutant(
        "guards-of-computed-places",
        "backends/llvm/addresses.py",
        'return f.intrinsic("smax", wide.type, [low, constant(wide.type, 0)])',
        "return low",
    ),
)
