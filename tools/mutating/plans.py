"""Mutants of plans of kernels: `fusion` and what makes ops of a plan in `fusion/outlining`."""

from mutating.mutant import Mutant

_PLAN, _GRAPH, _COST = "fusion/core/plan.py", "fusion/core/value_graph.py", "fusion/cost.py"
_OUTLINING = "fusion/outlining"

PLAN_MUTANTS: tuple[Mutant, ...] = (
    # what kernels are made of
    Mutant("unread-results", _PLAN, "is operator and first_value[root + 1] == first_value[root] + 1", "is operator"),
    Mutant("operators-at-roots", _PLAN, "elif any(roles[node] is operator for node in members)", "elif False"),
    Mutant("groups-of-constants", _PLAN, "elif any(roles[node] is operator for node in members)", "elif True"),
    Mutant("last-holder", _PLAN, "outputs[holding[0]].append(value)", "outputs[holding[-1]].append(value)"),
    Mutant("dead-first", _PLAN, "graph.gives(max(nodes))", "graph.gives(min(nodes))"),
    Mutant("dead-kernels", _PLAN, "        if nodes and not given:", "        if False:"),
    Mutant(
        "unsorted-nodes",
        _PLAN,
        "FusionKernel(tuple(sorted(nodes)), tuple(given))",
        "FusionKernel(tuple(nodes), tuple(given))",
    ),
    Mutant("unchecked-plans", _PLAN, "    check_plan(graph, made)\n", ""),
    # verdicts
    Mutant("fused-apart", _PLAN, "for user in readers if user in sets[kernel])", "for user in readers)"),
    Mutant("opaque-verdicts", _PLAN, "elif forward.kinds[node] is PatternKind.OPAQUE:", "elif False:"),
    Mutant("verdicts-on-results", _PLAN, "verdict = reason if readers else Reason.VALUE_ESCAPES", "verdict = reason"),
    Mutant(
        "true-verdicts", "fusion/core/decision.py", "self.reason is Reason.FUSED", "self.reason is not Reason.OPAQUE"
    ),
    # conditions on nodes
    Mutant("negative-nodes", _PLAN, "if not 0 <= node < len(graph):", "if not node < len(graph):"),
    Mutant("nodes-twice", _PLAN, "if any(node >= after for", "if any(node > after for"),
    Mutant("moved-in-place", _PLAN, "if not graph.roles[node].may_move:", "if graph.roles[node] is NodeRole.INPUT:"),
    Mutant(
        "kernels-of-constants",
        _PLAN,
        "if not any(graph.roles[node] is NodeRole.OPERATOR for node in nodes):",
        "if not nodes:",
    ),
    Mutant("idle-views", _PLAN, "is_view and inside.isdisjoint(users)", "is_view and not nodes"),
    Mutant(
        "views-of-their-op",
        _PLAN,
        "if is_idle and (node not in graph.viewed or graph.producer(graph.viewed[node]) not in inside):",
        "if is_idle:",
    ),
    Mutant(
        "views-of-other-ops",
        _PLAN,
        "(node not in graph.viewed or graph.producer(graph.viewed[node]) not in inside)",
        "node not in graph.viewed",
    ),
    Mutant("repeated-twice", _PLAN, "if len(holding) > 1 and not may_repeat[node]:", "if len(holding) > 2:"),
    # conditions on values
    Mutant("constants-stored", _PLAN, "if graph.roles[known.producer] is NodeRole.CONSTANT:", "if False:"),
    Mutant("values-seen", _PLAN, "return known.escapes or any(", "return any("),
    Mutant("readers-in-place", _PLAN, "not holders[reader] or any(", "any("),
    Mutant("one-reader", _PLAN, "or any(known.producer not in sets", "or all(known.producer not in sets"),
    Mutant("kernels-of-nothing", _PLAN, "        if not kernel.outputs:", "        if False:"),
    Mutant(
        "values-of-others",
        _PLAN,
        "if not 0 <= value < graph.num_values or graph.producer(value) not in sets[number]:",
        "if not 0 <= value < graph.num_values:",
    ),
    Mutant("stored-twice", _PLAN, "            if value in stored_by:", "            if False:"),
    Mutant("stored-by-none", _PLAN, "if needed and value not in stored_by:", "if needed and not stored_by:"),
    Mutant(
        "dead-values-stored",
        _PLAN,
        "if not needed and value in stored_by and known.readers:",
        "if not needed and value in stored_by:",
    ),
    Mutant("stored-for-nobody", _PLAN, "        if not needed and value in stored_by", "        if False"),
    Mutant("split-stores", _PLAN, "        if len(storing) > 1:", "        if False:"),
    # the order of kernels
    Mutant(
        "waits-for-copies",
        _PLAN,
        "if producer not in inside and (value in stored_by or producer in step_of):",
        "if value in stored_by or producer in step_of:",
    ),
    Mutant(
        "order-of-effects",
        _PLAN,
        "before.update(step_of[other] for other in facts.after[node] if other in step_of)",
        "pass",
    ),
    Mutant(
        "steps-in-place",
        _PLAN,
        "(value in stored_by or producer in step_of)",
        "value in stored_by",
    ),
    Mutant("waiting-kernels", _PLAN, "    if len(ready) < len(steps):", "    if not ready and steps:"),
    # the graph
    Mutant("tuples-of-operands", _GRAPH, "(NodeRole.RESULT, NodeRole.OPERAND_TUPLE)", "(NodeRole.RESULT,)"),
    Mutant("may-move", _GRAPH, "(NodeRole.IN_PLACE, NodeRole.INPUT)", "(NodeRole.INPUT,)"),
    Mutant("facts-found-again", _GRAPH, "return self._facts[0]", "return self.find_facts()"),
    Mutant(
        "nothing-read",
        _GRAPH,
        "for user, _ in self.forward.users[node])) or tuple(gives)",
        "for user, _ in self.forward.users[node]))",
    ),
    Mutant(
        "unknown-ops-as-inputs",
        _GRAPH,
        "if kind is PatternKind.OPAQUE and not read else",
        "if kind is PatternKind.OPAQUE else",
    ),
    Mutant("readers-twice", _GRAPH, "tuple(sorted({user for user, _ in users}))", "tuple(user for user, _ in users)"),
    Mutant("unknown-ops-again", _GRAPH, "[role is not NodeRole.IN_PLACE and role", "[role"),
    Mutant("results-that-escape", "fusion/ir/graph_facts.py", "id(value) in escaping or escapes", "escapes"),
    Mutant(
        "barriers-in-order",
        "fusion/ir/graph_facts.py",
        "if place is not None and kind_of(op, effects) is None:",
        "if place is not None:",
    ),
    Mutant("callers", "fusion/ir/graph_facts.py", "location = location.callee", "location = location.caller"),
    # assignments
    Mutant(
        "verdicts-on-roots", "fusion/core/assignment.py", "Reason.VALUE_ESCAPES if sink is None else reason", "reason"
    ),
    Mutant(
        "last-anchor",
        "fusion/core/assignment.py",
        "if anchor is None and graph.kinds[node] is",
        "if graph.kinds[node] is",
    ),
    Mutant("kind-of-roots", "fusion/core/assignment.py", "kind = merged_kind(graph.kinds[node], kind)", "pass"),
    Mutant("opaque-roots", "fusion/core/assignment.py", "for each in (node, root):", "for each in (node,):"),
    Mutant("tuple-roots", "fusion/core/assignment.py", "if graph.kinds[root] is PatternKind.TUPLE:", "if False:"),
    # cost
    Mutant(
        "unknown-bytes",
        _COST,
        "            if size is None:\n                return None",
        "            if size is None:\n                continue",
    ),
    Mutant("open-values", _COST, "sum(size is None or size.number is None for", "sum(size is None for"),
    Mutant("bytes-inside", _COST, "if facts.values[value].producer not in inside:", "if True:"),
    Mutant("last-touched", _COST, "touched if value not in moved else _greater(moved[value], touched)", "touched"),
    Mutant("least-touched", _COST, "second > first else one", "second < first else one"),
    Mutant(
        "one-unknown",
        _COST,
        "    if one is None or other is None:\n        return None",
        "    if one is None or other is None:\n        return one or other",
    ),
    Mutant("constants-compute", _COST, "if graph.roles[node] is NodeRole.OPERATOR:", "if True:"),
    Mutant(
        "unknown-flops",
        _COST,
        "None if flops is None or known is None else flops + known",
        "flops if flops is None or known is None else flops + known",
    ),
    Mutant("stored-bytes", _COST, "*(facts.values[value].bytes for value in kernel.outputs)", "*()"),
    # strategies of others
    Mutant(
        "strategies-by-import",
        "extensions.py",
        "except (ImportError, AttributeError, ValueError)",
        "except (AttributeError, ValueError)",
    ),
    Mutant("strategies-that-are-none", "extensions.py", "    if not fits(found):", "    if False:"),
    # copies
    Mutant(
        "numbers-left", f"{_OUTLINING}/copies.py", "                del op.attributes[COMPUTED_AGAIN_ATTRIBUTE]\n", ""
    ),
    Mutant("places-from-behind", f"{_OUTLINING}/copies.py", "if 0 <= place < len(ops):", "if place < len(ops):"),
    Mutant(
        "copies-across-blocks",
        f"{_OUTLINING}/copies.py",
        "setdefault((number_of[op], op.parent), op)",
        "setdefault((number_of[op], None), op)",
    ),
    Mutant(
        "copies-that-differ",
        f"{_OUTLINING}/copies.py",
        "if kept is not op and _is_equal(kept, op):",
        "if kept is not op:",
    ),
    Mutant(
        "copies-of-copies",
        f"{_OUTLINING}/copies.py",
        "            replace_operands(op, replacement)\n            kept",
        "            kept",
    ),
    Mutant("reads-of-copies", f"{_OUTLINING}/copies.py", "                op.drop_all_references()\n", ""),
    Mutant(
        "operands-of-copies", f"{_OUTLINING}/copies.py", "        and list(one.operands) == list(other.operands)\n", ""
    ),
    Mutant(
        "types-of-copies",
        f"{_OUTLINING}/copies.py",
        "        and list(one.result_types) == list(other.result_types)\n",
        "",
    ),
    Mutant("properties-of-copies", f"{_OUTLINING}/copies.py", "        and one.properties == other.properties\n", ""),
    Mutant("attributes-of-copies", f"{_OUTLINING}/copies.py", "        and one.attributes == other.attributes\n", ""),
    Mutant("regions-of-copies", f"{_OUTLINING}/copies.py", "first.is_structurally_equivalent(second) for", "True for"),
    # arranging
    Mutant(
        "originals-unmarked", f"{_OUTLINING}/arrange.py", "            mark_original(op, number)", "            pass"
    ),
    Mutant("movers-marked", f"{_OUTLINING}/arrange.py", "        if op not in moved:", "        if True:"),
    Mutant(
        "copied-in-regions",
        f"{_OUTLINING}/arrange.py",
        "                replace_operands(nested, inner)",
        "                pass",
    ),
    Mutant(
        "arranged-order", f"{_OUTLINING}/arrange.py", "    result.sort(key=lambda group: place[id(group.root)])\n", ""
    ),
    Mutant(
        "places-of-embedded",
        f"{_OUTLINING}/arrange.py",
        "enumerate((*group.embedded, *group.ops))",
        "enumerate(group.ops)",
    ),
    Mutant(
        "constants-of-copies", f"{_OUTLINING}/arrange.py", "if times > 1 and constant not in number_of", "if times > 2"
    ),
    Mutant(
        "numbers-in-primitives",
        f"{_OUTLINING}/outline.py",
        "copy.attributes = dict(without_number(copy.attributes))",
        "pass",
    ),
    Mutant("numbers-in-keys", f"{_OUTLINING}/primitives.py", "if place < num_embedded else", "if False else"),
    Mutant("names-of-copies", f"{_OUTLINING}/arrange.py", "                new.name_hint = old.name_hint\n", ""),
    Mutant(
        "numbers-of-copies",
        f"{_OUTLINING}/arrange.py",
        "            copy.attributes.pop(COMPUTED_AGAIN_ATTRIBUTE, None)\n",
        "",
    ),
    # groups
    Mutant("order-of-moved", f"{_OUTLINING}/group.py", "        moved.sort()\n", ""),
    Mutant("order-of-groups", f"{_OUTLINING}/group.py", "    groups.sort(key=itemgetter(0))\n", ""),
    Mutant("first-moves", f"{_OUTLINING}/group.py", "stored.get(place, holding[0])", "holding[0]"),
    Mutant(
        "constants-that-stay",
        f"{_OUTLINING}/group.py",
        "                movers[place] = _NOBODY\n",
        "                pass\n",
    ),
    Mutant(
        "readers-that-stay",
        f"{_OUTLINING}/group.py",
        "any(not reading or not set(reading)",
        "any(reading and not set(reading)",
    ),
    Mutant(
        "readers-elsewhere",
        f"{_OUTLINING}/group.py",
        "not set(reading) <= set(holding) for",
        "not set(reading) & set(holding) for",
    ),
    Mutant("second-results", f"{_OUTLINING}/group.py", "op.results[number - graph.first_value[node]]", "op.results[0]"),
    Mutant("read-inside", f"{_OUTLINING}/group.py", "or held_by[at] != number:", "or held_by[at] < 0:"),
)
